#pragma once

#include <duckdb.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "duck/handles.h"
#include "duck/sql.h"

namespace strata::duck {

using Row = std::vector<std::optional<std::string>>;

/// What a reader that shares nothing with the writer finds.
struct Table {
  std::vector<std::string> columns;
  std::vector<duckdb_type> types;
  std::vector<Row> rows;
};

class ParquetReader {
 public:
  ParquetReader() {
    // No thread of DuckDB's own: a race detector cannot see into the library.
    Config config;
    EXPECT_EQ(duckdb_create_config(config.out()), DuckDBSuccess);
    EXPECT_EQ(duckdb_set_config(config.get(), "threads", "1"), DuckDBSuccess);
    EXPECT_EQ(duckdb_open_ext(nullptr, database_.out(), config.get(), nullptr), DuckDBSuccess);
    EXPECT_EQ(duckdb_connect(database_.get(), connection_.out()), DuckDBSuccess);
  }

  Table query(const Sql& sql) {
    Table table;
    QueryResult result;
    EXPECT_EQ(duckdb_query(connection_.get(), sql.str().c_str(), result.get()), DuckDBSuccess)
        << result.error();
    const idx_t columns = duckdb_column_count(result.get());
    for (idx_t column = 0; column < columns; ++column) {
      table.columns.emplace_back(duckdb_column_name(result.get(), column));
      table.types.push_back(duckdb_column_type(result.get(), column));
    }
    while (const Chunk chunk = Chunk(duckdb_fetch_chunk(*result.get()))) {
      for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk.get()); ++row) {
        Row& cells = table.rows.emplace_back();
        for (idx_t column = 0; column < columns; ++column) {
          cells.push_back(text(duckdb_data_chunk_get_vector(chunk.get(), column), row));
        }
      }
    }
    return table;
  }

  Table read(const std::string& path) {
    return query(Sql("SELECT * FROM read_parquet(").literal(path).raw(")"));
  }

  std::uint64_t number(const Sql& sql) { return std::stoull(query(sql).rows.at(0).at(0).value()); }

 private:
  static std::optional<std::string> text(duckdb_vector vector, idx_t row) {
    std::uint64_t* validity = duckdb_vector_get_validity(vector);
    if (validity != nullptr && !duckdb_validity_row_is_valid(validity, row)) return std::nullopt;
    auto& string = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector))[row];
    return std::string(duckdb_string_t_data(&string), duckdb_string_t_length(string));
  }

  Database database_;
  Connection connection_;
};

/// A folder of a test's own, gone with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "strata-duck-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~ScratchFolder() { std::filesystem::remove_all(folder_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path(std::string_view name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

}  // namespace strata::duck
