#include "duck/copy_batch_writer.h"

#include <duckdb.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/sanitized.h"
#include "duck/handles.h"
#include "duck/sql.h"
#include "duck/testing/parquet_reader.h"
#include "duck/write_error.h"
#include "duck/writer_instances.h"
#include "parquet/footer.h"

namespace strata::duck {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CellTable make_cells(std::vector<std::string> columns, const std::vector<Row>& rows) {
  CellTable cells;
  cells.columns = std::move(columns);
  for (const Row& row : rows) {
    for (std::uint32_t column = 0; column < row.size(); ++column) {
      if (!row[column]) continue;
      cells.fields.push_back({column, cells.arena.emplace_back(*row[column])});
    }
    cells.row_ends.push_back(cells.fields.size());
  }
  return cells;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

parquet::Footer footer_of(const std::string& path) {
  const std::string file = read_file(path);
  const Result<parquet::Footer> footer = parquet::parse_footer(file, file.size());
  EXPECT_TRUE(footer.has_value()) << footer.error().detail;
  return footer.value_or(parquet::Footer{});
}

class CopyBatchWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "strata-duck-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    Result<std::unique_ptr<CopyBatchWriter>> writer = make_copy_batch_writer({});
    ASSERT_TRUE(writer.has_value()) << writer.error().detail;
    writer_ = std::move(*writer);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name) const { return folder_ / name; }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  Result<void> write(const CellTable& cells, const std::string& to,
                     const parquet::KeyValues& key_values = {}, std::string_view batch_id = "b-1") {
    return writer_->write({cells, cells.columns, batch_id, key_values}, to);
  }

  std::filesystem::path folder_;
  std::unique_ptr<CopyBatchWriter> writer_;
  ParquetReader reader_;
};

TEST_F(CopyBatchWriterTest, CellsComeBackAsTextUnderTheirNames) {
  const std::vector<std::string> names = {"a",
                                          "say \"x\"",
                                          "it's",
                                          "a.b.c",
                                          "\xf0\x9f\x8c\xa1 temp",
                                          " blank ",
                                          "nb\xc2\xa0sp",
                                          ";-- drop",
                                          "select",
                                          "rowid",
                                          "\xc3\x89",
                                          "\xc3\xa9",
                                          "tab\tline\nend",
                                          std::string(255, 'n')};
  Row texts;
  for (std::size_t column = 0; column < names.size(); ++column) {
    texts.push_back("value " + std::to_string(column) + " of the row");
  }
  const std::vector<Row> rows = {
      texts, Row(names.size()), {"", "21.40", "-0", "1e400", "true", "null", "{\"a\":[1, 2]}"}};
  ASSERT_TRUE(write(make_cells(names, rows), path("x.parquet")).has_value());

  const Table table = reader_.read(path("x.parquet"));
  std::vector<std::string> columns = names;
  columns.emplace_back("_batch_id");
  EXPECT_EQ(table.columns, columns);
  EXPECT_THAT(table.types, testing::Each(DUCKDB_TYPE_VARCHAR));
  std::vector<Row> expected = rows;
  for (Row& row : expected) {
    row.resize(names.size());
    row.emplace_back("b-1");
  }
  EXPECT_EQ(table.rows, expected);

  const parquet::Footer footer = footer_of(path("x.parquet"));
  EXPECT_EQ(footer.columns, columns);
  EXPECT_EQ(footer.rows, 3U);
}

TEST_F(CopyBatchWriterTest, AwkwardTextsAreKeptToTheByte) {
  const std::vector<Row> rows = {{""},
                                 {std::string("nul\0inside", 10)},
                                 {std::string(12, 'i')},  // the longest DuckDB stores in place
                                 {std::string(13, 'o')},
                                 {"\xef\xbf\xbf \xf4\x8f\xbf\xbf"},
                                 {std::string(1024 * 1024, 'm')}};
  ASSERT_TRUE(write(make_cells({"text"}, rows), path("x.parquet")).has_value());
  const Table table = reader_.read(path("x.parquet"));
  ASSERT_EQ(table.rows.size(), rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) EXPECT_EQ(table.rows[row][0], rows[row][0]);
}

TEST_F(CopyBatchWriterTest, RowsKeepTheirOrderOverManyChunks) {
  std::vector<Row> rows;
  for (int row = 0; row < 10'000; ++row) rows.push_back({std::to_string(row)});
  ASSERT_TRUE(write(make_cells({"n"}, rows), path("x.parquet"), {}, "the-batch").has_value());
  const Table table = reader_.read(path("x.parquet"));
  ASSERT_EQ(table.rows.size(), rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    ASSERT_THAT(table.rows[row], ElementsAre(std::to_string(row), "the-batch"));
  }
}

TEST_F(CopyBatchWriterTest, StoredNamesReplaceTheBatchsOwn) {
  const CellTable cells = make_cells({"TEMP", "Sensor"}, {{"1", "2"}});
  const std::vector<std::string> stored = {"temp", "sensor"};
  ASSERT_TRUE(writer_->write({cells, stored, "b", {}}, path("x.parquet")).has_value());
  EXPECT_THAT(reader_.read(path("x.parquet")).columns, ElementsAre("temp", "sensor", "_batch_id"));
}

TEST_F(CopyBatchWriterTest, KeyValuesComeBackInOrderAndToTheByte) {
  const parquet::KeyValues key_values = {{"batch_id", "b-1"},
                                         {"quotes", "it's \"so\"; --"},
                                         {"empty", ""},
                                         {"lines", "a\nb\tc\r\\n"},
                                         {"nb\xc2\xa0sp \"key\"", "nb\xc2\xa0sp \xf0\x9f\x8c\xa1"},
                                         {"braces", "{'a': 1} $$ E'\\x' ${b}"},
                                         {"long", std::string(100'000, 'l')},
                                         {"file_sha256", parquet::file_sha256_placeholder()},
                                         {"after", "z"}};
  ASSERT_TRUE(write(make_cells({"a"}, {{"1"}}), path("x.parquet"), key_values).has_value());

  const parquet::Footer footer = footer_of(path("x.parquet"));
  EXPECT_EQ(footer.key_values, key_values);
  ASSERT_TRUE(footer.file_sha256_offset.has_value());
  EXPECT_EQ(read_file(path("x.parquet")).substr(*footer.file_sha256_offset, 64),
            parquet::file_sha256_placeholder());

  const Table stored = reader_.query(
      Sql("SELECT key, value FROM parquet_kv_metadata(").literal(path("x.parquet")).raw(")"));
  ASSERT_EQ(stored.rows.size(), key_values.size());
  for (std::size_t row = 0; row < key_values.size(); ++row) {
    EXPECT_THAT(stored.rows[row], ElementsAre(key_values[row].first, key_values[row].second));
  }
}

TEST_F(CopyBatchWriterTest, AFileWithItsDigestFilledInStaysReadable) {
  const parquet::KeyValues key_values = {{"file_sha256", parquet::file_sha256_placeholder()}};
  ASSERT_TRUE(write(make_cells({"a"}, {{"1"}}), path("x.parquet"), key_values).has_value());
  std::string file = read_file(path("x.parquet"));
  const std::uint64_t offset = footer_of(path("x.parquet")).file_sha256_offset.value();
  const std::string digest = parquet::self_digest(file, offset);
  file.replace(offset, digest.size(), digest);
  std::ofstream(path("y.parquet"), std::ios::binary) << file;

  EXPECT_EQ(footer_of(path("y.parquet")).value("file_sha256"), digest);
  EXPECT_EQ(parquet::self_digest(file, offset), digest);
  EXPECT_THAT(reader_.read(path("y.parquet")).rows, ElementsAre(ElementsAre("1", "b-1")));
}

TEST_F(CopyBatchWriterTest, EqualInputGivesEqualBytes) {
  std::vector<Row> rows;
  for (int row = 0; row < 3'000; ++row) rows.push_back({std::to_string(row % 7), std::nullopt});
  const CellTable cells = make_cells({"a", "b"}, rows);
  const parquet::KeyValues key_values = {{"z", "1"}, {"a", "2"}};
  ASSERT_TRUE(write(cells, path("1.parquet"), key_values).has_value());
  ASSERT_TRUE(write(cells, path("2.parquet"), key_values).has_value());
  writer_ = std::move(make_copy_batch_writer({}).value());
  ASSERT_TRUE(write(cells, path("3.parquet"), key_values).has_value());
  EXPECT_EQ(read_file(path("1.parquet")), read_file(path("2.parquet")));
  EXPECT_EQ(read_file(path("1.parquet")), read_file(path("3.parquet")));
}

TEST_F(CopyBatchWriterTest, EmptyFileHasExactlyTheColumns) {
  std::vector<std::string> columns = {"it's", "a.b", "\"", "_batch_id"};
  for (int column = 0; column < 1'020; ++column) columns.push_back("c" + std::to_string(column));
  ASSERT_TRUE(writer_->write_empty(columns, path(".schema.parquet")).has_value());

  const Table table = reader_.read(path(".schema.parquet"));
  EXPECT_EQ(table.columns, columns);
  EXPECT_THAT(table.types, testing::Each(DUCKDB_TYPE_VARCHAR));
  EXPECT_THAT(table.rows, IsEmpty());
  EXPECT_EQ(footer_of(path(".schema.parquet")).columns, columns);
  EXPECT_EQ(footer_of(path(".schema.parquet")).rows, 0U);
}

TEST_F(CopyBatchWriterTest, HostileFoldersAndNames) {
  const CellTable cells = make_cells({"a"}, {{"1"}});
  for (const char* name : {"it's", "[1]*?", "a b", "dt=2026-06-29", "~", "%20", "a;--", "{x}"}) {
    std::filesystem::create_directory(folder_ / name);
    const std::string to = folder_ / name / (std::string(name) + ".parquet");
    ASSERT_TRUE(write(cells, to).has_value()) << name;
    EXPECT_EQ(footer_of(to).rows, 1U) << name;
  }
}

TEST_F(CopyBatchWriterTest, EncodedBytesAreThoseOfTheFileAndNothingStays) {
  writer_ = std::move(make_copy_batch_writer({.scratch_folder = folder_}).value());
  const CellTable cells = make_cells({"a"}, {{"1"}});
  const auto bytes = writer_->encode({cells, cells.columns, "b-1", {}});
  ASSERT_TRUE(bytes.has_value()) << bytes.error().detail;
  EXPECT_THAT(files(), IsEmpty());
  ASSERT_TRUE(write(cells, path("x.parquet")).has_value());
  EXPECT_EQ(*bytes, read_file(path("x.parquet")));
}

TEST_F(CopyBatchWriterTest, NothingButTheFileIsWritten) {
  ASSERT_TRUE(write(make_cells({"a"}, {{"1"}}), path("x.parquet")).has_value());
  EXPECT_THAT(files(), ElementsAre("x.parquet"));
}

TEST_F(CopyBatchWriterTest, WhatIsUnderThePathAlreadyIsRefusedAndKept) {
  const CellTable cells = make_cells({"a"}, {{"1"}});
  std::ofstream(path("file")) << "before";
  std::filesystem::create_symlink("nowhere", path("link"));
  std::filesystem::create_directory(path("folder"));
  for (const char* name : {"file", "link", "folder"}) {
    const Result<void> written = write(cells, path(name));
    ASSERT_FALSE(written.has_value()) << name;
    EXPECT_EQ(written.error().code, Code::kInternal) << name;
  }
  EXPECT_EQ(read_file(path("file")), "before");
  EXPECT_THAT(files(), testing::UnorderedElementsAre("file", "link", "folder"));
}

TEST_F(CopyBatchWriterTest, AMissingFolderIsIo) {
  const Result<void> written = write(make_cells({"a"}, {{"1"}}), path("none/x.parquet"));
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, Code::kIo);
  EXPECT_EQ(written.error().message.find(folder_), std::string::npos);
}

TEST_F(CopyBatchWriterTest, AnErrorAfterTheFirstRowGroupLeavesNoFile) {
  std::vector<Row> rows(130'000, Row{"1"});
  rows.push_back({"\xff\xfe"});  // DuckDB alone would store NULL here and say nothing
  const Result<void> written = write(make_cells({"a"}, rows), path("x.parquet"));
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, Code::kInternal);
  EXPECT_THAT(files(), IsEmpty());
  ASSERT_TRUE(write(make_cells({"a"}, {{"1"}}), path("x.parquet")).has_value());
}

TEST_F(CopyBatchWriterTest, ColumnsThatWouldBeRenamedAreRefused) {
  const std::vector<std::vector<std::string>> broken = {
      {"a", "a"}, {"Temp", "tEMP"}, {"_Batch_ID"}, {"a", ""}, {std::string("a\0b", 3)}};
  for (const auto& names : broken) {
    const Result<void> written = write(make_cells(names, {{"1"}}), path("x.parquet"));
    ASSERT_FALSE(written.has_value()) << testing::PrintToString(names);
    EXPECT_EQ(written.error().code, Code::kInternal);
  }
  EXPECT_EQ(writer_->write_empty({}, path("x.parquet")).error().code, Code::kInternal);
  const CellTable cells = make_cells({"a", "b"}, {{"1"}});
  const std::vector<std::string> too_few = {"a"};
  EXPECT_EQ(writer_->write({cells, too_few, "b", {}}, path("x.parquet")).error().code,
            Code::kInternal);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(CopyBatchWriterTest, EightThreadsWriteTheirOwnFiles) {
  constexpr int kThreads = 8;
  constexpr int kBatches = 50;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread] {
      for (int batch = 0; batch < kBatches; ++batch) {
        const std::string id = std::to_string(thread) + "-" + std::to_string(batch);
        std::vector<Row> rows;
        for (int row = 0; row <= batch; ++row) rows.push_back({id, std::to_string(row)});
        const Result<void> written =
            write(make_cells({"id", "t" + std::to_string(thread)}, rows), path(id), {}, id);
        EXPECT_TRUE(written.has_value()) << written.error().detail;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (int thread = 0; thread < kThreads; ++thread) {
    for (int batch = 0; batch < kBatches; ++batch) {
      const std::string id = std::to_string(thread) + "-" + std::to_string(batch);
      const Table table = reader_.read(path(id));
      EXPECT_THAT(table.columns, ElementsAre("id", "t" + std::to_string(thread), "_batch_id"));
      ASSERT_EQ(table.rows.size(), static_cast<std::size_t>(batch) + 1) << id;
      for (std::size_t row = 0; row < table.rows.size(); ++row) {
        EXPECT_THAT(table.rows[row], ElementsAre(id, std::to_string(row), id));
      }
    }
  }
}

/// One cell a row: row r has its column's name in column r modulo `columns`.
CellTable wide_cells(std::uint32_t columns, std::uint32_t rows) {
  CellTable cells;
  for (std::uint32_t column = 0; column < columns; ++column) {
    cells.columns.push_back("c" + std::to_string(column));
  }
  for (std::uint32_t row = 0; row < rows; ++row) {
    cells.fields.push_back({row % columns, cells.columns[row % columns]});
    cells.row_ends.push_back(cells.fields.size());
  }
  return cells;
}

/// The peak of this process's resident memory since the last call, in bytes.
std::uint64_t take_peak_memory() {
  std::ifstream status("/proc/self/status");
  std::uint64_t kibibytes = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> kibibytes;
  }
  std::ofstream("/proc/self/clear_refs") << "5";
  return kibibytes * 1024;
}

// One row group of all these rows would take 984 MB before the first byte is written.
TEST_F(CopyBatchWriterTest, AWideSparseBatchTakesBoundedMemory) {
  if (is_sanitized_build()) GTEST_SKIP() << "skipped: shadow memory adds to what is measured here";
  constexpr std::uint32_t kRows = 60'000;
  const CellTable cells = wide_cells(1'024, kRows);
  static_cast<void>(take_peak_memory());
  const std::uint64_t before = take_peak_memory();
  const Result<void> written = write(cells, path("x.parquet"));
  ASSERT_TRUE(written.has_value()) << written.error().detail;
  EXPECT_LT(take_peak_memory() - before, 600ULL * 1024 * 1024);

  EXPECT_EQ(footer_of(path("x.parquet")).rows, kRows);
  EXPECT_EQ(reader_.number(Sql("SELECT max(row_group_num_rows)::VARCHAR FROM parquet_metadata(")
                               .literal(path("x.parquet"))
                               .raw(")")),
            4'096U);
  EXPECT_EQ(reader_.number(Sql("SELECT count(*)::VARCHAR FROM read_parquet(")
                               .literal(path("x.parquet"))
                               .raw(") WHERE c7 = 'c7' AND c8 IS NULL AND _batch_id = 'b-1'")),
            59U);
}

// Each takes most of the memory; side by side every one of them would run out of it.
TEST_F(CopyBatchWriterTest, WideBatchesAtOnceWaitForMemory) {
  writer_ = std::move(make_copy_batch_writer({.memory_bytes = 256ULL * 1024 * 1024}).value());
  const CellTable cells = wide_cells(1'024, 4'096);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, thread] {
      const Result<void> written = write(cells, path(std::to_string(thread)));
      EXPECT_TRUE(written.has_value()) << written.error().detail;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files().size(), threads.size());
}

TEST(WriterInstancesTest, AFatalErrorReplacesTheInstanceUnderNobodysFeet) {
  WriterInstances instances(256ULL * 1024 * 1024,
                            [](duckdb_error_type type) { return type == DUCKDB_ERROR_CATALOG; });
  const Sql mark("CREATE TABLE mark AS SELECT 1");
  const Sql read_mark("FROM mark");
  ASSERT_TRUE(instances.run(mark).has_value());
  std::thread neighbour([&instances] {
    const Result<void> ran =
        instances.run(Sql("SELECT count(*) FROM range(20000000) WHERE hash(range) = 7"));
    EXPECT_TRUE(ran.has_value()) << ran.error().detail;
  });
  EXPECT_FALSE(instances.run(Sql("SELECT error('harmless')")).has_value());
  EXPECT_TRUE(instances.run(read_mark).has_value());  // the same instance still
  EXPECT_FALSE(instances.run(Sql("FROM nowhere")).has_value());
  EXPECT_TRUE(instances.run(mark).has_value());  // no such table yet: another instance
  EXPECT_TRUE(instances.run(read_mark).has_value());
  neighbour.join();
  // The old instance's connection, given back only now, serves nobody.
  for (int round = 0; round < 3; ++round) EXPECT_TRUE(instances.run(read_mark).has_value());
}

TEST(WriterInstancesTest, WhatCouldReachOutsideIsOff) {
  WriterInstances instances(256ULL * 1024 * 1024);
  const Result<void> checked = instances.run(Sql(
      "SELECT CASE WHEN settings = 'false,false,false,false,,1' THEN 0 ELSE error(settings) END "
      "FROM (SELECT string_agg(value, ',' ORDER BY name) AS settings FROM duckdb_settings() "
      "WHERE name IN ('allow_community_extensions', 'autoinstall_known_extensions', "
      "'autoload_known_extensions', 'enable_external_file_cache', 'temp_directory', 'threads'))"));
  EXPECT_TRUE(checked.has_value()) << checked.error().detail;
}

TEST(WriteErrorTest, TheCodeSaysWhatACallerCanDo) {
  struct Case {
    duckdb_error_type type;
    const char* text;
    Code code;
    bool fatal;
  };
  const Case cases[] = {
      {DUCKDB_ERROR_IO, "IO Error: Could not write file \"/r/x\": No space left on device",
       Code::kDiskFull, false},
      {DUCKDB_ERROR_IO, "IO Error: Could not write file \"/r/x\": Disk quota exceeded",
       Code::kDiskFull, false},
      {DUCKDB_ERROR_FATAL, "FATAL Error: No space left on device", Code::kDiskFull, true},
      {DUCKDB_ERROR_IO, "IO Error: Cannot open file \"/r/x\": Permission denied", Code::kIo, false},
      {DUCKDB_ERROR_OUT_OF_MEMORY, "Out of Memory Error: failed to allocate", Code::kIo, false},
      {DUCKDB_ERROR_BINDER, "Binder Error: ...", Code::kInternal, false},
      {DUCKDB_ERROR_INTERNAL, "INTERNAL Error: ...", Code::kInternal, true},
  };
  for (const Case& example : cases) {
    const Error error = write_error(example.type, example.text);
    EXPECT_EQ(error.code, example.code) << example.text;
    EXPECT_EQ(error.detail, example.text);
    EXPECT_EQ(error.message.find("/r/x"), std::string::npos);
    EXPECT_EQ(is_fatal(example.type), example.fatal) << example.text;
  }
}

}  // namespace
}  // namespace strata::duck
