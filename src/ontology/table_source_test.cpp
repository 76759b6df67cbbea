#include "ontology/table_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kb/testing/real_kb.h"
#include "ontology/profiler.h"
#include "ontology/snapshot.h"

namespace strata::ontology {
namespace {

namespace fs = std::filesystem;

TEST(TableIdTest, HasTwoPartsOrThree) {
  const TableId stream = TableId::parse("demo/stream:pay_2").value();
  EXPECT_EQ(stream.kb(), "demo");
  EXPECT_EQ(stream.document(), "stream:pay_2");
  EXPECT_EQ(stream.table(), std::nullopt);
  EXPECT_EQ(stream.sidecar_folder(), "stream:pay_2");
  EXPECT_EQ(stream.snapshot_folder(), "pay_2");
  const TableId page = TableId::parse("demo/Größen 1.pdf/..").value();
  EXPECT_EQ(page.str(), "demo/Größen 1.pdf/..");
  EXPECT_EQ(page.table(), "..");
  EXPECT_EQ(page.sidecar_folder(), "Gr%C3%B6%C3%9Fen%201.pdf%2F..");
  EXPECT_EQ(page.snapshot_folder(), page.sidecar_folder());
  for (const char* bad :
       {"", "demo", "demo/", "demo/pay", "demo/stream:", "demo/stream:Pay", "demo//t", "demo/a/",
        "/a/b", "Demo/a/b", "demo/a/b/c", "demo/a/b\n", "../a/b"}) {
    const auto id = TableId::parse(bad);
    ASSERT_FALSE(id) << bad;
    EXPECT_EQ(id.error().code, Code::kBadId) << bad;
  }
}

TEST(TableIdTest, DifferentTablesHaveDifferentFolders) {
  std::set<std::string> folders;
  const std::string most(255, 'x');
  const std::vector<std::string> ids = {"demo/a/b",
                                        "demo/a%2Fb/c",
                                        "demo/a/%2Fc",
                                        "demo/./b",
                                        "demo/%2E/b",
                                        "demo/../b",
                                        "demo/" + most + "/a",
                                        "demo/" + most + "/b",
                                        "demo/" + std::string(250, 'x') + "/a"};
  for (const std::string& id : ids) {
    const std::string folder = TableId::parse(id).value().sidecar_folder();
    EXPECT_LE(folder.size(), 255U) << id;
    EXPECT_EQ(folder.find('/'), std::string::npos) << id;
    EXPECT_NE(folder.front(), '.') << id;
    folders.insert(folder);
  }
  EXPECT_EQ(folders.size(), ids.size());
}

/// The table of each page of a document `report.pdf`, and streams; each a file of its own.
class PagesAndStreams final : public TableSource {
 public:
  explicit PagesAndStreams(std::string kb_folder) : kb_folder_(std::move(kb_folder)) {}

  Result<std::optional<SourceTable>> resolve(const TableId& id) override {
    if (id.document() == "report.pdf" && id.table() == "page 2") {
      return SourceTable{id, file("report", "2"), {"Item", "Cost"}};
    }
    if (id.document() == "report.pdf" && id.table() == "page 9") {
      return make_error(Code::kIo, "page 9 is damaged");
    }
    if (id.document() == "stream:pay") return SourceTable{id, file("pay", "b1"), {"Item", "Cost"}};
    return std::nullopt;
  }

  duck::Sql file(const std::string& stream, const std::string& name) const {
    return duck::Sql("read_csv(")
        .glob(kb_folder_ + "/strata/streams/" + stream + "/data/" + name + ".csv", "")
        .raw(", all_varchar=true, filename=true)");
  }

 private:
  const std::string kb_folder_;
};

class TableSourceTest : public testing::Test {
 protected:
  std::string folder() { return real_.kb().folder(); }
  void write(const std::string& stream, const std::string& name, const std::string& text) {
    const fs::path data = fs::path(folder()) / "strata/streams" / stream / "data";
    fs::create_directories(data);
    std::ofstream(data / (name + ".csv")) << text;
  }
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  kb::RealKb real_{STRATA_WORKER_STUB};
};

TEST_F(TableSourceTest, AnIdThatNoSourceUnderstandsIsNamed) {
  PagesAndStreams pages(folder());
  for (const char* id : {"demo/report.pdf/page 3", "demo/stream:other"}) {
    const auto found = resolve({&pages}, id);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::kUnknownTable);
    EXPECT_EQ(found.error().message, "no table '" + std::string(id) +
                                         "' is known: none of the sources of tables reads it");
  }
  EXPECT_EQ(resolve({}, "demo/report.pdf/page 2").error().code, Code::kUnknownTable);
  EXPECT_EQ(resolve({&pages}, "demo/report.pdf").error().code, Code::kBadId);
  EXPECT_EQ(resolve({&pages}, "demo/report.pdf/page 9").error().code, Code::kIo);
}

// From an id to what is kept of the table, for ids of both kinds.
TEST_F(TableSourceTest, AStreamAndAPageAreFrozenProfiledAndKept) {
  const std::string rows = "Item,Cost,_batch_id\nbolt,1.50,b1\nnut,0.25,b1\n";
  write("report", "2", rows);
  write("pay", "b1", rows);
  PagesAndStreams source(folder());
  kb::TableFiles& files = real_.kb().table_files();
  for (const auto& [id, snapshots, sidecars] :
       {std::tuple("demo/stream:pay", "pay", "stream:pay"),
        std::tuple("demo/report.pdf/page 2", "report.pdf%2Fpage%202", "report.pdf%2Fpage%202")}) {
    const auto job = files.make_job_folder(0).value();
    const auto bench = real_.workers()
                           .open_workbench({.kb_folder = folder(), .write_folder = job->path()})
                           .value();
    const SourceTable table = resolve({&source}, id).value();
    auto frozen = freeze(*bench, table, job->path());
    ASSERT_TRUE(frozen) << frozen.error().detail;
    EXPECT_EQ(publish_snapshot(files, *job, *frozen).value(), 1U);
    EXPECT_EQ(frozen->file, folder() + "/strata/snapshots/" + snapshots + "/000001.parquet");
    const auto profile = profile_table(*bench, *frozen);
    ASSERT_TRUE(profile) << profile.error().detail;
    EXPECT_EQ(profile->table, id);
    EXPECT_EQ(profile->columns.at(1).type, (ColumnType{Type::kDecimal, 3, 2}));
    ASSERT_TRUE(store_profile(files, table.id, *profile));
    EXPECT_EQ(read(folder() + "/strata/tables/" + sidecars + "/.profile.json"),
              to_json(*profile) + '\n');
  }
  EXPECT_TRUE(fs::is_empty(folder() + "/staging"));
}

}  // namespace
}  // namespace strata::ontology
