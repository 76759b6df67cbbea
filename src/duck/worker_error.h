#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sql_gate/position.h"

/// DuckDB's words turned into answers: which code, and a message without server paths.
namespace strata::duck {

/// The name every generation is attached under: the one an outside client sees that opens
/// `knowledgebase.duckdb`, so the same SQL runs in both places.
inline constexpr std::string_view kCatalogName = "knowledgebase";

/// What is known of the statement that failed.
struct StatementContext {
  std::string_view kb_folder;
  std::string_view sql;
  const std::vector<std::string>* tables = nullptr;  // what it names, if it was parsed
  std::uint64_t memory_bytes = 0;
  std::string_view executed{};               // the text that was run in place of `sql`, if one was
  const sql_gate::Places* places = nullptr;  // of `executed`, in `sql`
  bool raises = false;                       // it may fail with words of its own: it calls error()
};

struct StatementFailure {
  Error error;
  bool engine_broken = false;  // the instance must not be used again
};

/// Codes: kSqlError; kSqlRefused (it reached for what the worker may not touch); kUnknownTable
/// (`detail` is the missing table as `schema.name` when that is known); kOutOfMemory; kTimeout (it
/// was interrupted); kIo (a file of the kb).
StatementFailure describe_failure(std::string_view duckdb_text, const StatementContext& context);

/// `error`, told of one column of the answer.
Error in_column(std::string_view name, Error error);

/// Whether a statement failed, with kSqlRefused, because what it read led the worker to a file that
/// is none of its kb: the gate lets no statement name one itself, so a view did.
bool leads_outside(const Error& failure);

/// The same words wherever a query overran its memory: `what` as in "the query needs".
Error out_of_memory_error(std::uint64_t memory_bytes, std::string detail);
/// The statement brought the engine down, or to an error of its own.
Error engine_failed_error(std::string detail);

/// Without absolute paths and catalog names, but for the quoted `LINE n:` at the end, which is the
/// reader's own text and carries the position. Files of the kb are named relative to its folder.
std::string without_paths(std::string_view text, std::string_view kb_folder);

}  // namespace strata::duck
