// What every backend promises, on each of them; what only one does is in its own test file.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catalog/testing/backends.h"

namespace strata::catalog {
namespace {

class CatalogContract : public BackendTest {};

TEST_P(CatalogContract, RowsArePutByKeyAndReadInItsOrderByEveryHolder) {
  const ManifestRow deferred{"raw_extracted.stream_b", "stream:b", std::nullopt, "deferred"};
  const ManifestRow ready{"raw_extracted.stream_b", "stream:b", 12, "ready"};
  const ManifestRow other{"raw_extracted.stream_a", "upload:it's; DROP", 0, "error"};
  const auto one = backend_->holder();
  const auto two = backend_->holder();
  ASSERT_TRUE(one->put_manifest(deferred));
  EXPECT_EQ(two->manifest().value(), (std::vector<ManifestRow>{deferred}));
  ASSERT_TRUE(two->put_manifest(ready));
  ASSERT_TRUE(two->put_manifest(other));
  EXPECT_EQ(one->manifest().value(), (std::vector<ManifestRow>{other, ready}));

  ASSERT_TRUE(one->put_receiver({"b", R"({"partition":"none"})"}));
  ASSERT_TRUE(one->put_receiver({"a", ""}));
  ASSERT_TRUE(two->put_receiver({"b", "\"\xc3\xa9\" \\'"}));
  EXPECT_EQ(one->receivers().value(),
            (std::vector<ReceiverRow>{{"a", ""}, {"b", "\"\xc3\xa9\" \\'"}}));
  EXPECT_EQ(backend_->holder()->manifest().value(), (std::vector<ManifestRow>{other, ready}));
}

TEST_P(CatalogContract, OrderIsThatOfTheBytesWhateverTheLocale) {
  const auto catalog = backend_->holder();
  const auto root = backend_->root_holder();
  const std::vector<std::string> ordered{"B", "a", "a-b", "a1", "a_b", "ab", "\xc3\xa9"};
  for (const char* name : {"a_b", "ab", "\xc3\xa9", "a", "B", "a1", "a-b"}) {
    ASSERT_TRUE(catalog->put_manifest({name, "stream:x", 1, "ready"}));
    ASSERT_TRUE(catalog->put_receiver({name, "{}"}));
    ASSERT_TRUE(root->put_knowledgebase({name, "u", "file", ""}));
    ASSERT_TRUE(root->put_node({"n", name, ""}));
  }
  const auto names = [](const auto& rows, auto member) {
    std::vector<std::string> list;
    for (const auto& row : rows.value()) list.push_back(row.*member);
    return list;
  };
  EXPECT_EQ(names(catalog->manifest(), &ManifestRow::table), ordered);
  EXPECT_EQ(names(catalog->receivers(), &ReceiverRow::stream), ordered);
  EXPECT_EQ(names(root->knowledgebases(), &KnowledgebaseRow::id), ordered);
  std::vector<std::string> processes;
  const auto seen_nodes = root->nodes().value();
  for (const NodeSeen& seen : seen_nodes) processes.push_back(seen.node.process);
  EXPECT_EQ(processes, ordered);
}

TEST_P(CatalogContract, RootRowsArePutByKey) {
  const auto root = backend_->root_holder();
  ASSERT_TRUE(root->put_knowledgebase({"demo", "u-1", "file", "2026-01-01T00:00:00.000000Z"}));
  ASSERT_TRUE(root->put_knowledgebase({"acme", "u-2", "postgres", "2026-01-02T00:00:00.000000Z"}));
  ASSERT_TRUE(root->put_knowledgebase({"demo", "u-3", "file", "2026-01-03T00:00:00.000000Z"}));
  EXPECT_EQ(
      backend_->root_holder()->knowledgebases().value(),
      (std::vector<KnowledgebaseRow>{{"acme", "u-2", "postgres", "2026-01-02T00:00:00.000000Z"},
                                     {"demo", "u-3", "file", "2026-01-03T00:00:00.000000Z"}}));
  ASSERT_TRUE(root->remove_knowledgebase("demo"));
  ASSERT_TRUE(root->remove_knowledgebase("demo"));
  EXPECT_EQ(
      root->knowledgebases().value(),
      (std::vector<KnowledgebaseRow>{{"acme", "u-2", "postgres", "2026-01-02T00:00:00.000000Z"}}));
}

TEST_P(CatalogContract, ANodeIsSeenWhenItsRowIsPutAndGoneThirtyDaysLater) {
  const auto root = backend_->root_holder();
  const NodeRow first{"a", "a-1", "2026-01-01T00:00:00.000000Z", "1.0"};
  const NodeRow second{"b", "b-1", "2026-01-02T00:00:00.000000Z", "1.1"};
  const NodeRow first_again{"a2", "a-1", "2026-01-03T00:00:00.000000Z", "2.0"};
  const auto put = [&](const NodeRow& row) { ASSERT_TRUE(root->put_node(row)); };
  const auto seen_within = [&](std::chrono::seconds least, const NodeSeen& seen) {
    EXPECT_GE(seen.ago, least);
    EXPECT_LT(seen.ago, least + std::chrono::hours(1));
    return seen.node;
  };
  constexpr std::chrono::hours kTwoDays(48);
  put(first);
  put(second);
  backend_->age_nodes(kTwoDays);
  put(first_again);
  auto seen = backend_->root_holder()->nodes().value();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen_within(std::chrono::seconds(0), seen[0]), first_again);
  EXPECT_EQ(seen_within(kTwoDays, seen[1]), second);

  backend_->age_nodes(kNodeRowKept - kTwoDays);
  put(first_again);
  seen = root->nodes().value();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].node, first_again);

  backend_->age_nodes(-kTwoDays);
  EXPECT_LT(root->nodes().value().at(0).ago, std::chrono::seconds(0));
}

TEST_P(CatalogContract, TheClockIsOneThatGoesOn) {
  const auto root = backend_->root_holder();
  const WallTime first = root->now().value();
  EXPECT_GT(first, WallTime(std::chrono::sys_days(std::chrono::year(2024) / 1 / 1)));
  EXPECT_GE(backend_->root_holder()->now().value(), first);
}

TEST_P(CatalogContract, AStreamGoesWithBothItsRowsAndNoOthers) {
  const auto catalog = backend_->holder();
  const ManifestRow other{"raw_extracted.stream_ab", "stream:ab", 1, "ready"};
  const ManifestRow upload{"tables.a", "upload:a", 1, "ready"};
  ASSERT_TRUE(catalog->put_manifest({"raw_extracted.stream_a", "stream:a", 1, "ready"}));
  ASSERT_TRUE(catalog->put_manifest(other));
  ASSERT_TRUE(catalog->put_manifest(upload));
  ASSERT_TRUE(catalog->put_receiver({"a", "{}"}));
  ASSERT_TRUE(catalog->put_receiver({"ab", "{}"}));
  for (const char* stream : {"a", "a", "never_there"}) {
    ASSERT_TRUE(catalog->remove_stream(stream));
    EXPECT_EQ(catalog->manifest().value(), (std::vector<ManifestRow>{other, upload}));
    EXPECT_EQ(catalog->receivers().value(), (std::vector<ReceiverRow>{{"ab", "{}"}}));
  }
}

TEST_P(CatalogContract, WritersOfTwoHoldersThatOpenAFreshOneAtOnceLoseNothing) {
  const auto write = [](Catalog& catalog, char name) {
    for (int i = 0; i < 20; ++i) {
      const auto put = catalog.put_receiver({std::string(1, name) + std::to_string(i), "{}"});
      EXPECT_TRUE(put) << put.error().detail;
    }
  };
  const auto first = backend_->holder();
  const auto second = backend_->holder();
  {
    const std::jthread one(write, std::ref(*first), 'a');
    const std::jthread two(write, std::ref(*second), 'b');
  }
  EXPECT_EQ(backend_->holder()->receivers().value().size(), 40U);
}

TEST_P(CatalogContract, ANewerSchemaIsRefusedByEveryCall) {
  ASSERT_TRUE(backend_->holder()->manifest());
  backend_->write_newer_schema();
  const auto catalog = backend_->holder();
  const auto refused = catalog->manifest();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(refused.error().message,
            "The catalog has schema version 4, and this program knows only 3: a newer Strata wrote "
            "it. Start that one.");
  const auto refused_write = catalog->put_receiver({"a", "{}"});
  ASSERT_FALSE(refused_write);
  EXPECT_EQ(refused_write.error().message, refused.error().message);
}

TEST_P(CatalogContract, TheTablesOfTheStrataBeforeAreBroughtUpToDateWithTheirRows) {
  const ReceiverRow receiver{"a", "{}"};
  const NodeRow node{"n", "n-1", "2026-01-01T00:00:00.000000Z", "1.0"};
  ASSERT_TRUE(backend_->holder()->put_receiver(receiver));
  ASSERT_TRUE(backend_->root_holder()->put_node(node));
  backend_->write_older_schema();
  const auto catalog = backend_->holder();
  EXPECT_EQ(catalog->receivers().value(), (std::vector<ReceiverRow>{receiver}));
  EXPECT_EQ(catalog->jobs().list({.limit = 1}).value(), std::vector<JobRow>{});
  EXPECT_EQ(catalog->ontology().list().value(), std::vector<VersionRow>{});
  const auto root = backend_->root_holder();
  EXPECT_EQ(root->nodes().value().at(0).node, (NodeRow{"n", "n-1", node.started_at, ""}));
  ASSERT_TRUE(root->put_node(node));
  EXPECT_EQ(root->nodes().value().at(0).node, node);
}

TEST_P(CatalogContract, AllRowsOfAKbGoFromOneCatalogIntoAnother) {
  const auto source = backend_->holder();
  CatalogContent content;
  content.manifest = {{"raw_extracted.stream_a", "stream:a", std::nullopt, "deferred"},
                      {"raw_extracted.stream_b", "stream:b", 7, "ready"}};
  content.receivers = {{"a", "{}"}, {"b", R"({"x":"Ã©"})"}};
  for (const ManifestRow& row : content.manifest) ASSERT_TRUE(source->put_manifest(row));
  for (const ReceiverRow& row : content.receivers) ASSERT_TRUE(source->put_receiver(row));
  const JobEnd end{"j1", "n-1", "copy", 400, "failed", R"({"rows":1})", "no luck"};
  ASSERT_EQ(source->jobs().start({"j1", "compact", "a", "n-1"}).value(), std::nullopt);
  ASSERT_TRUE(source->jobs().end(end).value());
  ASSERT_EQ(source->jobs().start({"j2", "migrate", "", "n-1"}).value(), std::nullopt);
  ASSERT_TRUE(source->jobs().beat({"j2", "n-1", "copy", 1}));
  ASSERT_TRUE(source->jobs().request_cancel("j2").value());
  content.jobs = source->jobs().list({.limit = 9}).value();
  ASSERT_EQ(content.jobs.size(), 2U);
  ASSERT_TRUE(source->ontology().put_pending({1, "", "m1", R"({"x":"Ã©"})", "j1", {}}).value());
  ASSERT_TRUE(source->ontology().activate(1));
  ASSERT_TRUE(source->ontology().put_pending({2, "", "m2", "{}", "j2", {}}).value());
  content.versions = source->ontology().list().value();
  ASSERT_EQ(content.versions.size(), 2U);
  EXPECT_EQ(source->content().value(), content);
  // Whoever adds a table adds its rows to CatalogContent, to content, to replace_content and here.
  EXPECT_EQ(backend_->kb_tables(), "_strata_manifest jobs ontology_versions receivers");

  for (const Kind kind : {Kind::kSqlite, GetParam()}) {
    const auto other = make_backend(kind);
    const auto target = other->holder();
    ASSERT_TRUE(target->put_manifest({"t", "upload:t", 1, "ready"}));
    ASSERT_TRUE(target->put_receiver({"gone", "{}"}));
    ASSERT_EQ(target->jobs().start({"gone", "compact", "", "n-9"}).value(), std::nullopt);
    ASSERT_TRUE(target->ontology().put_pending({9, "", "m9", "{}", "gone", {}}).value());
    ASSERT_TRUE(target->replace_content(content));
    EXPECT_EQ(other->holder()->content().value(), content);
    // It is its owner's still, and the run-lock is taken.
    EXPECT_EQ(target->jobs().beat({"j2", "n-1", "copy", 2}).value(), JobHold::kCancelAsked);
    EXPECT_EQ(target->jobs().start({"j3", "compact", "", "n-2"}).value().value().id, "j2");

    CatalogContent unfit = content;
    unfit.versions[1].state = "sleepy";
    ASSERT_FALSE(target->replace_content(unfit));
    EXPECT_EQ(target->content().value().manifest, content.manifest);
    EXPECT_EQ(target->content().value().jobs.size(), 2U);
    EXPECT_EQ(target->content().value().versions, content.versions);
  }
}

TEST_P(CatalogContract, AStateThatNobodyKnowsIsOurBug) {
  const auto catalog = backend_->holder();
  const auto refused = catalog->put_manifest({"t", "stream:t", 1, "sleepy"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInternal);
  EXPECT_EQ(catalog->manifest().value(), std::vector<ManifestRow>{});
}

INSTANTIATE_TEST_SUITE_P(Each, CatalogContract, kEachBackend, testing::PrintToStringParamName());

}  // namespace
}  // namespace strata::catalog
