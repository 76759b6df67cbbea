#pragma once

#include <duckdb.h>

#include <string>
#include <string_view>
#include <utility>

/// Ownership over the DuckDB C API. Only src/duck/ includes this header (`make check` holds that).
namespace strata::duck {

/// Owns one handle of the C API; Destroy takes a pointer to it, as duckdb_close does. Move-only.
template <typename Handle, void (*Destroy)(Handle*)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { reset(); }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  /// For out-parameters: lets go of what is held, then yields its place. The API wants most
  /// handles destroyed even when the call that filled them failed; that happens by itself here.
  Handle* out() {
    reset();
    return &handle_;
  }
  void reset() {
    if (handle_ != nullptr) Destroy(&handle_);
    handle_ = nullptr;
  }

 private:
  Handle handle_ = nullptr;
};

using Database = Owned<duckdb_database, duckdb_close>;
using Connection = Owned<duckdb_connection, duckdb_disconnect>;
using Config = Owned<duckdb_config, duckdb_destroy_config>;
using Statement = Owned<duckdb_prepared_statement, duckdb_destroy_prepare>;
using Extracted = Owned<duckdb_extracted_statements, duckdb_destroy_extracted>;
using Chunk = Owned<duckdb_data_chunk, duckdb_destroy_data_chunk>;
using LogicalType = Owned<duckdb_logical_type, duckdb_destroy_logical_type>;
using Value = Owned<duckdb_value, duckdb_destroy_value>;
using TableFunction = Owned<duckdb_table_function, duckdb_destroy_table_function>;

/// Text that the C API handed out.
class DuckString {
 public:
  explicit DuckString(char* text) : text_(text) {}
  DuckString(const DuckString&) = delete;
  DuckString& operator=(const DuckString&) = delete;
  ~DuckString() { duckdb_free(text_); }

  std::string_view view() const { return text_ == nullptr ? std::string_view() : text_; }

 private:
  char* text_;
};

/// A materialised result; destroyed whether or not the query succeeded.
class QueryResult {
 public:
  QueryResult() = default;
  QueryResult(const QueryResult&) = delete;
  QueryResult& operator=(const QueryResult&) = delete;
  ~QueryResult() { duckdb_destroy_result(&result_); }

  duckdb_result* get() { return &result_; }
  /// Copied, because the text dies with the result.
  std::string error() {
    const char* text = duckdb_result_error(&result_);
    return text == nullptr ? std::string() : std::string(text);
  }

 private:
  duckdb_result result_{};
};

}  // namespace strata::duck
