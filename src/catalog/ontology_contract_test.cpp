// What the versions of an ontology promise on every backend.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "catalog/testing/backends.h"

namespace strata::catalog {
namespace {

class OntologyContract : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) return;
    first_ = backend_->holder();
    second_ = backend_->holder();
  }

  OntologyVersions& one() { return first_->ontology(); }
  OntologyVersions& two() { return second_->ontology(); }

  /// As its maker gives it: the state and the time are not his to say.
  static VersionRow made(std::uint64_t version, const std::string& job = "j") {
    return {.version = version,
            .state = "retired",
            .model_sha256 = "m" + std::to_string(version),
            .content = "{\"version\":" + std::to_string(version) + "}",
            .job = job,
            .created = {}};
  }
  void put(std::uint64_t version) {
    const auto put = one().put_pending(made(version));
    ASSERT_TRUE(put) << put.error().message << put.error().detail;
    ASSERT_TRUE(*put);
  }
  void make_active(std::uint64_t version) {
    put(version);
    const auto activated = one().activate(version);
    ASSERT_TRUE(activated) << activated.error().message << activated.error().detail;
  }
  std::vector<VersionRow> rows() { return two().list().value(); }
  /// `3 pending, 2 active`, as the other holder lists them, and as its two look-ups agree.
  std::string states() {
    std::string text;
    std::optional<VersionRow> active;
    std::optional<VersionRow> pending;
    const auto listed = rows();
    for (const VersionRow& row : listed) {
      text += (text.empty() ? "" : ", ") + std::to_string(row.version) + " " + row.state;
      if (row.state == "active") active = row;
      if (row.state == "pending") pending = row;
    }
    EXPECT_EQ(two().active().value(), active);
    EXPECT_EQ(two().pending().value(), pending);
    return text;
  }
  template <typename T>
  void expect_conflict(const Result<T>& result, const std::string& message) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kConflict);
    EXPECT_EQ(result.error().message, message);
  }

  std::unique_ptr<Catalog> first_;
  std::unique_ptr<Catalog> second_;
};

TEST_P(OntologyContract, AVersionGoesFromPendingToActiveToRetired) {
  EXPECT_EQ(states(), "");
  put(1);
  EXPECT_EQ(states(), "1 pending");
  const WallTime created = rows().at(0).created;
  EXPECT_GT(created, WallTime(std::chrono::sys_days(std::chrono::year(2024) / 1 / 1)));
  VersionRow expected = made(1);
  expected.state = "pending";
  expected.created = created;
  EXPECT_EQ(rows(), std::vector{expected});

  ASSERT_TRUE(two().activate(1));
  expected.state = "active";
  EXPECT_EQ(rows(), std::vector{expected}) << "nothing else of it changed";
  make_active(2);
  make_active(10);  // newest first is by number, not by its digits
  EXPECT_EQ(states(), "10 active, 2 retired, 1 retired");
  expected.state = "retired";
  EXPECT_EQ(rows().at(2), expected);
}

TEST_P(OntologyContract, ANumberIsTakenOnceInWhateverState) {
  make_active(1);
  make_active(2);
  put(3);
  const auto before = rows();
  for (const std::uint64_t version : {1, 2, 3}) {
    EXPECT_FALSE(two().put_pending(made(version, "other")).value()) << version;
  }
  EXPECT_EQ(rows(), before);
  expect_conflict(two().put_pending(made(4)),
                  "Version 4 of the ontology cannot be made while version 3 is pending.");
  EXPECT_EQ(rows(), before);
  ASSERT_TRUE(two().drop_pending(3));
  EXPECT_TRUE(two().put_pending(made(3, "other")).value());
  EXPECT_EQ(rows().at(0).job, "other");
}

TEST_P(OntologyContract, OnlyAPendingVersionIsActivatedAndTwiceIsOnce) {
  make_active(1);
  make_active(2);
  put(3);
  for (const std::uint64_t version : {1, 4}) {
    expect_conflict(two().activate(version),
                    "Version " + std::to_string(version) +
                        " of the ontology is not pending, so it cannot become the active one.");
    EXPECT_EQ(states(), "3 pending, 2 active, 1 retired");
  }
  ASSERT_TRUE(two().activate(2));
  EXPECT_EQ(states(), "3 pending, 2 active, 1 retired");
  ASSERT_TRUE(two().activate(3));
  ASSERT_TRUE(two().activate(3));
  EXPECT_EQ(states(), "3 active, 2 retired, 1 retired");
}

TEST_P(OntologyContract, OnlyTheActiveVersionIsRefreshed) {
  make_active(1);
  make_active(2);
  put(3);
  std::vector<VersionRow> expected = rows();
  for (const std::uint64_t version : {1, 3, 4}) {
    expect_conflict(two().refresh(version, "[]"),
                    "Version " + std::to_string(version) +
                        " of the ontology is not the active one, so it is not refreshed.");
  }
  EXPECT_EQ(rows(), expected);
  const std::string content = R"({"it's":"new"})";
  ASSERT_TRUE(one().refresh(2, content));
  expected.at(1).content = content;
  EXPECT_EQ(rows(), expected);
}

TEST_P(OntologyContract, OnlyAPendingVersionIsDropped) {
  make_active(1);
  make_active(2);
  put(3);
  for (const std::uint64_t version : {1, 2, 4}) ASSERT_TRUE(two().drop_pending(version));
  EXPECT_EQ(states(), "3 pending, 2 active, 1 retired");
  ASSERT_TRUE(two().drop_pending(3));
  ASSERT_TRUE(two().drop_pending(3));
  EXPECT_EQ(states(), "2 active, 1 retired");
}

TEST_P(OntologyContract, AContentOfMegabytesIsKeptWhole) {
  VersionRow row = made(1);
  row.content = std::string(4U << 20U, 'x') + "\xc3\xa9\"'\\";
  ASSERT_TRUE(one().put_pending(row).value());
  EXPECT_TRUE(rows().at(0).content == row.content);
  ASSERT_TRUE(one().activate(1));
  row.content.append(1U << 20U, 'y');
  ASSERT_TRUE(one().refresh(1, row.content));
  EXPECT_TRUE(two().active().value().value().content == row.content);
}

TEST_P(OntologyContract, OfTwoHoldersThatPutAtOnceOneDoes) {
  for (std::uint64_t round = 1; round <= 20; ++round) {
    // Every other round they want different numbers: then the one that is late is in conflict.
    const bool same = round % 2 == 0;
    const std::uint64_t numbers[] = {10 * round, same ? 10 * round : 10 * round + 1};
    const char* const jobs[] = {"a", "b"};
    bool put[2] = {false, false};
    const auto race = [&](OntologyVersions& ontology, int place) {
      const auto answer = ontology.put_pending(made(numbers[place], jobs[place]));
      put[place] = answer.value_or(false);
      EXPECT_TRUE(answer || (!same && answer.error().code == Code::kConflict));
    };
    {
      const std::jthread first([&] { race(one(), 0); });
      const std::jthread second([&] { race(two(), 1); });
    }
    ASSERT_NE(put[0], put[1]);
    const int winner = put[0] ? 0 : 1;
    const VersionRow pending = one().pending().value().value();
    EXPECT_EQ(pending.version, numbers[winner]);
    EXPECT_EQ(pending.job, jobs[winner]);
    ASSERT_TRUE(one().activate(pending.version));
  }
  EXPECT_EQ(rows().size(), 20U);
}

TEST_P(OntologyContract, WhoActivatesAndWhoActivatesOrDropsAtOnceAgreeOnWhatIsLeft) {
  make_active(1);
  for (std::uint64_t version = 2; version <= 11; ++version) {
    put(version);
    const bool drops = version % 2 == 0;
    std::atomic<int> activated = 0;
    const auto activate = [&](OntologyVersions& ontology) {
      const auto done = ontology.activate(version);
      if (done) ++activated;
      EXPECT_TRUE(done || (drops && done.error().code == Code::kConflict));
    };
    {
      const std::jthread first([&] { activate(one()); });
      const std::jthread second([&] {
        if (drops) {
          EXPECT_TRUE(two().drop_pending(version));
        } else {
          activate(two());
        }
      });
    }
    const VersionRow active = one().active().value().value();
    EXPECT_EQ(one().pending().value(), std::nullopt);
    EXPECT_EQ(active.version == version, activated > 0);
    if (!drops) {
      EXPECT_EQ(activated, 2);
    }
  }
}

/// Whoever writes them, and however.
TEST_P(OntologyContract, TheDatabaseItselfKeepsOnePendingAndOneActive) {
  make_active(1);
  const CatalogContent before = first_->content().value();
  const struct {
    const char* state;
    bool is_kept;
  } cases[] = {{"pending", false}, {"active", false}, {"retired", true}};
  for (const auto& c : cases) {
    CatalogContent content;
    content.versions = {made(3), made(2)};
    for (VersionRow& row : content.versions) row.state = c.state;
    EXPECT_EQ(first_->replace_content(content).has_value(), c.is_kept) << c.state;
    EXPECT_EQ(second_->content().value(), c.is_kept ? content : before) << c.state;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, OntologyContract, kEachBackend, testing::PrintToStringParamName());

}  // namespace
}  // namespace strata::catalog
