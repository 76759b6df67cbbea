#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "duck/worker_pool.h"
#include "ontology/snapshot.h"

/// For tests: a table of batches in a folder of their own, and a workbench that reads it.
namespace strata::ontology {

using Cell = std::optional<std::string>;

struct BatchRow {
  std::string batch;
  std::vector<Cell> cells;
};

class TableWorld : public testing::Test {
 protected:
  TableWorld() {
    std::string name = (std::filesystem::temp_directory_path() / "strata-table-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directories(folder() / "data");
    auto opened = pool_->open_workbench({.kb_folder = kb(), .write_folder = folder()});
    EXPECT_TRUE(opened) << opened.error().detail;
    bench_ = std::move(opened).value();
  }
  ~TableWorld() override {
    bench_.reset();
    std::filesystem::remove_all(root_);
  }

  std::filesystem::path kb() const { return root_ / "it's [a] *root*/kb/demo"; }
  std::filesystem::path folder() const { return kb() / "staging/job"; }
  duck::Workbench& bench() { return *bench_; }

  /// The rows of `select`, as text.
  std::vector<duck::TextRow> rows(const duck::Sql& select) {
    auto rows = bench().rows(select, 1'000, kLong);
    EXPECT_TRUE(rows) << rows.error().detail;
    return rows.value_or(std::vector<duck::TextRow>());
  }
  /// Writes `select`, which has the columns and _batch_id, as one batch's file.
  void write_batch(const std::string& batch, const duck::Sql& select) {
    duck::Sql copy("COPY (");
    copy.append(select).raw(") TO ").literal((folder() / "data" / (batch + ".parquet")).string());
    const auto done = bench().run(copy.raw(" (FORMAT PARQUET)"), kLong);
    ASSERT_TRUE(done) << done.error().detail;
  }
  void write_rows(const std::vector<std::string>& columns, const std::vector<BatchRow>& rows) {
    std::map<std::string, duck::Sql> batches;
    for (const BatchRow& row : rows) {
      duck::Sql& values = batches[row.batch];
      values.raw(values.str().empty() ? duck::Sql::Text("VALUES (") : ", (");
      for (std::size_t index = 0; index < columns.size(); ++index) {
        const Cell& cell = row.cells.at(index);
        values.append(cell ? duck::Sql().literal(*cell) : duck::Sql("NULL")).raw(", ");
      }
      values.literal(row.batch).raw(")");
    }
    for (auto& [batch, values] : batches) {
      duck::Sql select("SELECT ");
      for (const std::string& column : columns) {
        select.ident(column).raw("::VARCHAR AS ").ident(column).raw(", ");
      }
      select.raw("_batch_id FROM (").append(values).raw(") rows(");
      for (const std::string& column : columns) select.ident(column).raw(", ");
      write_batch(batch, select.raw("_batch_id)"));
    }
  }
  /// Everything that was written, as a view reads it.
  duck::Sql relation() const {
    return duck::Sql("read_parquet(")
        .glob((folder() / "data").string(), "/**/*.parquet")
        .raw(", union_by_name=true, filename=true, hive_partitioning=false)");
  }
  FrozenTable freeze_written(const std::vector<std::string>& columns) {
    auto frozen = freeze(bench(), {kTable, relation(), columns}, folder());
    EXPECT_TRUE(frozen) << frozen.error().message << frozen.error().detail;
    return frozen.value_or(FrozenTable{kTable});
  }
  FrozenTable frozen(const std::vector<std::string>& columns, const std::vector<BatchRow>& rows) {
    write_rows(columns, rows);
    return freeze_written(columns);
  }

  static constexpr std::chrono::milliseconds kLong{600'000};
  const TableId kTable = TableId::parse("demo/stream:pay").value();

 private:
  std::filesystem::path root_;
  std::unique_ptr<duck::WorkerPool> pool_ = duck::make_worker_pool({.program = STRATA_WORKER_STUB});
  std::unique_ptr<duck::Workbench> bench_;
};

}  // namespace strata::ontology
