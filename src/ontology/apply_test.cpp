#include "ontology/apply.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kb/testing/real_kb.h"
#include "ontology/applied.h"
#include "ontology/settle.h"

namespace strata::ontology {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPay = "employee_id,employee_name,bonus,_batch_id\n";
constexpr const char* kSites = "site_id,site_name,celsius,_batch_id\n";

class ApplyTest : public testing::Test {
 protected:
  void write(const std::string& stream, const std::string& batch, const std::string& text) {
    const fs::path data = fs::path(kb().folder()) / "strata/streams" / stream / "data";
    fs::create_directories(data);
    std::ofstream(data / (batch + ".csv")) << text;
  }
  /// 30 rows of 10 employees, and 30 of 10 sites.
  void write_both() {
    std::string pay = kPay;
    std::string sites = kSites;
    for (int row = 0; row < 30; ++row) {
      const std::string number = std::to_string(row % 10);
      const std::string amount = std::to_string(row + 1) + ".50";
      pay += "E" + number + ",Name " + number + "," + amount + ",b1\n";
      sites += "S" + number + ",Site " + number + "," + amount + ",b1\n";
    }
    write("pay", "b1", pay);
    write("sites", "b1", sites);
  }

  Result<Outcome> run(const std::string& stream, const ApplyProgress& progress = {},
                      const std::string& made_at = "2026-06-30") {
    duck::Sql relation("read_csv(");
    relation.glob(kb().folder() + "/strata/streams/" + stream + "/data", "/*.csv")
        .raw(", all_varchar=true, filename=true)");
    const SourceTable table{TableId::parse("demo/stream:" + stream).value(), relation,
                            stream == "pay"
                                ? std::vector<std::string>{"employee_id", "employee_name", "bonus"}
                                : std::vector<std::string>{"site_id", "site_name", "celsius"},
                            made_at};
    return apply({.knowledgebase = kb(),
                  .workers = real_.workers(),
                  .clock = clock_,
                  .table = table,
                  .stream = stream,
                  .job = "job" + std::to_string(++jobs_),
                  .progress = progress});
  }
  /// Does `act` where a process may be suspended.
  static ApplyProgress with(const std::string& point, const std::function<void()>& act) {
    return {.kill_point = [point, act](const char* passed) {
      if (passed == point) act();
    }};
  }

  kb::Knowledgebase& kb() { return real_.kb(); }
  catalog::OntologyVersions& versions() { return kb().catalog().ontology(); }
  /// Below `ontology.`, each with the version that its tables are of.
  std::map<std::string, std::string> views() {
    std::map<std::string, std::string> all;
    const auto there = kb().generations().views(kb().generations().newest().value());
    EXPECT_TRUE(there);
    for (const duck::View& view : there.value_or(std::vector<duck::View>())) {
      constexpr std::string_view kFolder = "/strata/ontology/";
      const auto at = view.sql.find(kFolder);
      if (view.schema == "ontology") all[view.name] = view.sql.substr(at + kFolder.size(), 6);
    }
    return all;
  }

 private:
  kb::RealKb real_{STRATA_WORKER_STUB};
  const SystemClock clock_;
  int jobs_ = 0;
};

using Views = std::map<std::string, std::string>;
const Views kBoth = {
    {"employee", "000001"}, {"pay_fact", "000001"}, {"reading_fact", "000002"}, {"site", "000002"}};

TEST_F(ApplyTest, TheSameRowsWriteNothing) {
  write_both();
  const auto first = run("pay");
  ASSERT_TRUE(first) << first.error().message << first.error().detail;
  EXPECT_FALSE(first->unchanged);
  EXPECT_EQ(first->rows, 30U);
  EXPECT_EQ(first->views, (std::vector<std::string>{"pay_fact", "employee"}));
  const std::uint64_t generation = kb().generations().newest()->number;
  const auto again = run("pay");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->unchanged);
  EXPECT_EQ(again->views, first->views);
  EXPECT_EQ(kb().generations().newest()->number, generation);
}

/// Whoever else wants the kb's lock has it at once while rows are counted and tables written.
TEST_F(ApplyTest, TheLockIsHeldForTheViewsAlone) {
  write_both();
  using Passed = std::vector<std::pair<std::string, bool>>;
  Passed passed;
  const auto is_free = [this] {
    return kb()
        .lock()
        .acquire({.kb = kb().id().str(),
                  .stream = "other",
                  .purpose = kb::Purpose::kView,
                  .wait = std::chrono::milliseconds(0)})
        .has_value();
  };
  const auto made =
      run("pay", {.kill_point = [&](const char* point) { passed.emplace_back(point, is_free()); }});
  ASSERT_TRUE(made) << made.error().message << made.error().detail;
  passed.emplace_back("its end", is_free());
  EXPECT_EQ(passed, (Passed{{"ontology:after_freeze", true},
                            {"ontology:after_snapshot", true},
                            {"ontology:after_profile", true},
                            {"ontology:after_synthesis", true},
                            {"ontology:after_tables", true},
                            {"ontology:after_pending", false},
                            {"ontology:after_publish", false},
                            {"ontology:after_activate", false},
                            {"its end", true}}));
}

TEST_F(ApplyTest, AStreamMadeAnewIsNotTheOneThatHadItsName) {
  write_both();
  ASSERT_TRUE(run("pay"));
  // As many rows, in a batch of the same name.
  std::string pay = kPay;
  for (int row = 0; row < 30; ++row) {
    pay += "X" + std::to_string(row % 10) + ",Other " + std::to_string(row % 10) + ",7.25,b1\n";
  }
  write("pay", "b1", pay);
  const auto anew = run("pay", {}, "2026-07-01");
  ASSERT_TRUE(anew) << anew.error().message << anew.error().detail;
  EXPECT_FALSE(anew->unchanged);
}

TEST_F(ApplyTest, ARefreshThatAnotherJobOvertookTakesNoViewAway) {
  write_both();
  ASSERT_TRUE(run("pay"));
  write("pay", "b2", std::string(kPay) + "E1,Name 1,9.50,b2\n");
  const auto late = run("pay", with("ontology:after_tables", [this] {
                          const auto other = run("sites");
                          ASSERT_TRUE(other) << other.error().message;
                        }));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kBusy);
  EXPECT_EQ(views(), kBoth);
  EXPECT_EQ(versions().active().value()->version, 2U);
  const auto again = run("pay");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->rows, 31U);
}

TEST_F(ApplyTest, AVersionThatAnotherJobOvertookIsNotPublished) {
  write_both();
  ASSERT_TRUE(run("pay"));
  std::string made;
  const auto late = run("sites", with("ontology:after_tables", [&] {
                          const auto other = run("sites");
                          ASSERT_TRUE(other) << other.error().message;
                          made = versions().active().value()->content;
                        }));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kBusy);
  // No two make one version's tables.
  EXPECT_EQ(views(), (Views{{"employee", "000001"},
                            {"pay_fact", "000001"},
                            {"reading_fact", "000003"},
                            {"site", "000003"}}));
  EXPECT_EQ(versions().active().value()->content, made);
  EXPECT_FALSE(versions().pending().value());
  const auto again = run("sites");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->unchanged);
}

/// As one that did not notice that its lock ran out meets it.
TEST_F(ApplyTest, AVersionThatWasDroppedUnderItsJobLeavesTheActiveOnesViews) {
  write_both();
  ASSERT_TRUE(run("pay"));
  const auto late = run(
      "sites", with("ontology:after_pending", [this] { ASSERT_TRUE(versions().drop_pending(2)); }));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kConflict);
  ASSERT_TRUE(settle(kb(), {}));
  EXPECT_EQ(views(), (Views{{"employee", "000001"}, {"pay_fact", "000001"}}));
  EXPECT_EQ(versions().active().value()->version, 1U);
}

TEST_F(ApplyTest, ARefreshWithoutItsViewsGetsThemByTheNextLook) {
  write_both();
  ASSERT_TRUE(run("pay"));
  write("pay", "b2", std::string(kPay) + "E1,Name 1,9.50,b2\n");
  struct Killed {};
  EXPECT_THROW(ignore(run("pay", with("ontology:after_refresh", [] { throw Killed(); })), "killed"),
               Killed);
  const auto row = versions().active().value();
  const Applied applied = parse_applied(row->content).value();
  EXPECT_EQ(applied.front().rows, 31U);
  EXPECT_FALSE(has_views_of(kb(), applied).value());
  const std::uint64_t generation = kb().generations().newest()->number;
  ASSERT_TRUE(settle(kb(), {}));
  EXPECT_TRUE(has_views_of(kb(), applied).value());
  ASSERT_TRUE(settle(kb(), {}));
  EXPECT_EQ(kb().generations().newest()->number, generation + 1);
  EXPECT_EQ(versions().active().value(), row);
}

TEST_F(ApplyTest, AVersionsNumberIsAboveAllThatTheFolderHas) {
  write_both();
  const fs::path older = fs::path(kb().folder()) / "strata/ontology/000007";
  fs::create_directories(older);
  const auto first = run("pay");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->version, 8U);
  EXPECT_TRUE(fs::is_empty(older));
  EXPECT_EQ(views(), (Views{{"employee", "000008"}, {"pay_fact", "000008"}}));
}

TEST_F(ApplyTest, AVersionWhoseViewsAreThereIsActiveNext) {
  write_both();
  ASSERT_TRUE(run("pay"));
  catalog::VersionRow row = *versions().active().value();
  row.version = 2;
  row.job = "dead";
  ASSERT_TRUE(versions().put_pending(row).value());
  ASSERT_TRUE(run("pay"));
  EXPECT_EQ(versions().active().value()->version, 2U);
  // And one whose views are not there goes.
  row.version = 3;
  row.content = R"({"streams":[{"stream":"x","snapshot":1,"rows":1,"taken_at":"","fingerprint":"",)"
                R"("model":"{}","tables":[{"type_view":"x","view":"x","kind":"fact","key":"",)"
                R"("columns":[],"file":"strata/ontology/000003/x.parquet","rows":1}]}]})";
  ASSERT_TRUE(versions().put_pending(row).value());
  ASSERT_TRUE(run("pay"));
  EXPECT_EQ(versions().active().value()->version, 2U);
  EXPECT_FALSE(versions().pending().value());
}

}  // namespace
}  // namespace strata::ontology
