#include "kb/backend_history.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "catalog/sqlite_catalog.h"
#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/mem_file_system.h"
#include "io/testing/temp_dir.h"
#include "kb/placed_catalog.h"

namespace strata::kb {
namespace {

constexpr BackendState kOnFile{.backend = Backend::kFile};
constexpr BackendState kMoving{.backend = Backend::kFile, .migrating = true};
constexpr BackendState kOnPostgres{.backend = Backend::kPostgres};

class BackendHistoryTest : public testing::Test {
 protected:
  io::Entry file(std::string_view name) { return {**history_.folder(), name}; }

  FakeClock clock_{WallTime{}};
  io::MemFileSystem mem_{&clock_};
  io::FaultyFileSystem fs_{mem_};
  const std::unique_ptr<io::Directory> root_ = mem_.open_directory("/").value();
  std::unique_ptr<io::Directory> kb_ = [this] {
    EXPECT_OK(mem_.make_directory({*root_, "demo"}));
    return mem_.open_directory_at({*root_, "demo"}).value();
  }();
  BackendHistory history_{fs_, *kb_, Backend::kFile};
};

TEST_F(BackendHistoryTest, KbJsonHoldsUntilTheFirstNumberAndThenTheHighest) {
  EXPECT_EQ(history_.newest().value(), (BackendHistory::Entry{kOnFile, 0}));
  EXPECT_CODE(Code::kNotFound, mem_.stat({*kb_, "backend"}));
  EXPECT_EQ(BackendHistory(fs_, *kb_, Backend::kPostgres).newest().value().state, kOnPostgres);

  BackendHistory other(fs_, *kb_, Backend::kFile);
  ASSERT_OK(history_.append({kOnFile, 0}, kMoving));
  EXPECT_EQ(mem_.read(file("000001.json"), 1000).value(),
            "{\"backend\":\"file\",\"state\":\"migrating\"}\n");
  for (BackendHistory* history : {&history_, &other}) {
    EXPECT_EQ(history->newest().value(), (BackendHistory::Entry{kMoving, 1}));
  }
  EXPECT_CODE(Code::kExists, other.append({kOnFile, 0}, kMoving));
  ASSERT_OK(other.append({kMoving, 1}, kOnPostgres));
  for (BackendHistory* history : {&history_, &other}) {
    EXPECT_EQ(history->newest().value(), (BackendHistory::Entry{kOnPostgres, 2}));
  }
}

TEST_F(BackendHistoryTest, NothingNewIsOneLook) {
  ASSERT_OK(history_.append({kOnFile, 0}, kMoving));
  ASSERT_OK(history_.newest());
  fs_.reset_counts();
  ASSERT_OK(history_.newest());
  EXPECT_EQ(fs_.calls(), 1U);
}

TEST_F(BackendHistoryTest, AFileThatIsNoneOfOursIsAnErrorAndNoGuess) {
  for (const char* bytes : {"", "{}", R"({"backend":"mysql","state":"settled"})",
                            R"({"backend":"postgres","state":"migrating"})",
                            R"({"backend":"file","state":"moving"})"}) {
    ASSERT_OK(mem_.write_new(file("000007.json"), bytes));
    BackendHistory history(fs_, *kb_, Backend::kFile);
    EXPECT_CODE(Code::kIo, history.newest()) << bytes;
    ASSERT_OK(mem_.unlink(file("000007.json")));
  }
}

TEST_F(BackendHistoryTest, TheNewestSettledOneIsWhatABackupTakes) {
  EXPECT_EQ(newest_settled(mem_, **history_.folder()).value(), std::nullopt);
  ASSERT_OK(history_.append({kOnFile, 0}, kMoving));
  EXPECT_EQ(newest_settled(mem_, **history_.folder()).value(), std::nullopt);
  ASSERT_OK(history_.append({kMoving, 1}, kOnFile));
  ASSERT_OK(history_.append({kOnFile, 2}, kMoving));
  EXPECT_EQ(newest_settled(mem_, **history_.folder()).value(), 2U);
}

TEST_F(BackendHistoryTest, TheCatalogIsLookedForAtEachCall) {
  const io::TempDir temp;
  const auto in = [&](const char* name) {
    return catalog::make_sqlite_catalog(temp.path() + "/" + name);
  };
  PlacedCatalog placed(history_, in("file"), in("postgres"));
  PlacedCatalog without(history_, in("file"), nullptr);
  const catalog::ManifestRow before{"t", "stream:s", 1, "ready"};
  const catalog::ManifestRow after{"t", "stream:s", 2, "ready"};
  ASSERT_OK(placed.put_manifest(before));
  ASSERT_OK(history_.append({kOnFile, 0}, kOnPostgres));
  ASSERT_OK(placed.put_manifest(after));
  ASSERT_OK(placed.put_receiver({"s", "{}"}));
  EXPECT_EQ(placed.manifest().value(), std::vector{after});
  EXPECT_EQ(placed.receivers().value(), (std::vector<catalog::ReceiverRow>{{"s", "{}"}}));
  EXPECT_EQ(in("file")->manifest().value(), std::vector{before});
  EXPECT_EQ(in("postgres")->manifest().value(), std::vector{after});
  const auto refused = without.manifest();
  EXPECT_CODE(Code::kIo, refused);
  EXPECT_EQ(refused.error().message,
            "This knowledgebase's catalog is in PostgreSQL, and this node was started without "
            "--postgres: name it there.");
  catalog::OntologyVersions& ontology = placed.ontology();
  const auto active_content = [](catalog::Catalog& catalog) {
    return catalog.ontology().active().value().value().content;
  };
  ASSERT_TRUE(ontology.put_pending({1, "", "m1", "{}", "j1", {}}).value());
  ASSERT_OK(ontology.activate(1));
  ASSERT_OK(ontology.refresh(1, "[1]"));
  EXPECT_EQ(active_content(*in("postgres")), "[1]");
  EXPECT_EQ(active_content(placed), "[1]");
  ASSERT_TRUE(ontology.put_pending({2, "", "m2", "{}", "j2", {}}).value());
  EXPECT_EQ(ontology.pending().value().value().version, 2U);
  EXPECT_EQ(ontology.list().value().size(), 2U);
  ASSERT_OK(ontology.drop_pending(2));
  EXPECT_EQ(in("postgres")->ontology().list().value().size(), 1U);
  EXPECT_TRUE(in("file")->ontology().list().value().empty());
  ASSERT_OK(placed.remove_stream("s"));
  EXPECT_TRUE(in("postgres")->manifest()->empty());
  EXPECT_EQ(in("file")->manifest().value(), std::vector{before});
}

}  // namespace
}  // namespace strata::kb
