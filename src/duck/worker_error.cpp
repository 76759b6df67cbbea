#include "duck/worker_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/cells.h"

namespace strata::duck {
namespace {

constexpr std::size_t kMessageBytesMax = 16UL * 1024;
constexpr std::string_view kPermissionError = "Permission Error";
constexpr std::string_view kCastHint = "cells of raw streams are text: TRY_CAST(x AS DOUBLE)";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [text](std::string_view part) { return contains(text, part); });
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

/// A path starts where a word or a quoted text does: `'/(VARCHAR, INTEGER)'` is a division.
bool path_starts_at(std::string_view text, std::size_t at) {
  if (text[at] != '/' || at + 1 == text.size()) return false;
  constexpr std::string_view kBefore = " \t\n\"'(=[,:";
  if (at != 0 && kBefore.find(text[at - 1]) == std::string_view::npos) return false;
  const char next = text[at + 1];
  return next == '.' || next == '_' || (next >= '0' && next <= '9') ||
         (next >= 'A' && next <= 'Z') || (next >= 'a' && next <= 'z') || (next & 0x80) != 0;
}

std::size_t path_end(std::string_view text, std::size_t begin) {
  const char before = begin == 0 ? ' ' : text[begin - 1];
  const bool quoted = before == '"' || before == '\'';
  const std::size_t end =
      quoted ? text.find(before, begin) : text.find_first_of(" \t\n\"'),;", begin);
  return end == std::string_view::npos ? text.size() : end;
}

std::string hide_absolute_paths(std::string_view text) {
  std::string hidden;
  for (std::size_t at = 0; at < text.size();) {
    if (path_starts_at(text, at)) {
      hidden += "<path>";
      at = path_end(text, at);
    } else {
      hidden += text[at++];
    }
  }
  return hidden;
}

/// The part in the quotes that follow `marker`, or nothing.
std::string_view quoted_after(std::string_view text, std::string_view marker) {
  const std::size_t found = text.find(marker);
  if (found == std::string_view::npos) return {};
  const std::size_t open = text.find_first_of("\"'", found + marker.size());
  if (open == std::string_view::npos) return {};
  const std::size_t close = text.find(text[open], open + 1);
  if (close == std::string_view::npos) return {};
  return text.substr(open + 1, close - open - 1);
}

/// The file a reading error is about.
std::string_view file_named(std::string_view text) {
  for (const std::string_view marker : {"file ", "File ", "pattern ", "directory "}) {
    const std::string_view file = quoted_after(text, marker);
    if (!file.empty()) return file;
  }
  return {};
}

struct StreamFile {
  std::string_view stream;
  std::string_view path;  // below the stream's folder
};

/// Nothing: it is none of a stream, or its name cannot be shown.
std::optional<StreamFile> stream_file(std::string_view file, std::string_view kb_folder) {
  constexpr std::string_view kStreams = "/strata/streams/";
  if (!file.starts_with(kb_folder) || !file.substr(kb_folder.size()).starts_with(kStreams)) {
    return std::nullopt;
  }
  const std::string_view rest = file.substr(kb_folder.size() + kStreams.size());
  const std::size_t slash = rest.find('/');
  const bool shown = std::ranges::all_of(rest, [](char c) { return c >= ' ' && c <= '~'; });
  if (slash == std::string_view::npos || !shown) return std::nullopt;
  return StreamFile{rest.substr(0, slash), rest.substr(slash + 1)};
}

/// A file could not be read, or is not what its name says. The last few are what a flipped byte in
/// a Parquet file is told as; they name no file.
bool is_reading_failure(std::string_view text) {
  if (text.starts_with("IO Error") || text.starts_with("Invalid Input Error: File '")) return true;
  if (text.starts_with("Invalid Error: ") &&
      contains_any(text, {"TProtocolException", "Page size mismatch", "Out of buffer",
                          "don't know what type", "invalid TType"})) {
    return true;
  }
  // What stands in quotes may be the reader's own text.
  text = text.substr(0, text.find_first_of("\"'"));
  return contains_any(
      text, {"No magic bytes found", "Footer length error in file",
             "Invalid string encoding found in", "TProtocolException", "Failed to read file",
             "Decompression failure", "decompression failure"});
}

bool is_missing_table(std::string_view text) {
  if (text.starts_with("Catalog Error: Table with name") ||
      text.starts_with("Catalog Error: View with name")) {
    return true;
  }
  return (text.starts_with("Catalog Error") || text.starts_with("Binder Error: Catalog \"")) &&
         contains(text, "does not exist") && contains_any(text, {"schema \"", "Catalog \""});
}

/// Text where a number is wanted, so that the hint is the cure. Only the first line tells: the
/// candidates below it are other people's signatures.
bool wants_cast(std::string_view text) {
  const std::string_view first_line = text.substr(0, text.find('\n'));
  if (first_line.starts_with("Conversion Error")) {
    return contains_any(first_line, {"Could not convert string", "invalid date field format",
                                     "invalid timestamp field format"});
  }
  return first_line.starts_with("Binder Error") && contains(first_line, "VARCHAR") &&
         contains_any(first_line, {"Cannot compare values of type", "Cannot mix values of type",
                                   "Cannot combine types of",
                                   "No function matches the given name and argument types",
                                   "Could not choose a best candidate function"});
}

/// The one of `tables` the error is about: its last part, or the whole of it, is the name DuckDB
/// did not find.
std::string missing_table(std::string_view text, const std::vector<std::string>* tables) {
  if (tables == nullptr) return {};
  constexpr std::string_view kMarker = "with name ";
  const std::size_t begin = text.find(kMarker);
  if (begin == std::string_view::npos) return {};
  std::string_view rest = text.substr(begin + kMarker.size());
  rest = rest.substr(0, rest.find(" does not exist"));
  std::string name = ascii_lower(rest);
  std::erase(name, '"');
  for (const std::string& table : *tables) {
    if (table == name || table.ends_with('.' + name)) return table;
  }
  return {};
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = 1024ULL * 1024;
  return bytes < kMebibyte ? fmt::format("{} bytes", bytes)
                           : fmt::format("{} MiB", bytes / kMebibyte);
}

Error sql_error(std::string_view text, const StatementContext& context) {
  std::string message = without_paths(text, context.kb_folder);
  if (wants_cast(text)) {
    message += '\n';
    message += kCastHint;
  }
  return make_error(Code::kSqlError, std::move(message), std::string(text));
}

}  // namespace

std::string without_paths(std::string_view text, std::string_view kb_folder) {
  std::string_view tail;
  if (const std::size_t line = text.find("\nLINE "); line != std::string_view::npos) {
    tail = text.substr(line);
    text = text.substr(0, line);
  }
  std::string head(text);
  if (!kb_folder.empty()) replace_all(head, std::string(kb_folder) + '/', "");
  head = hide_absolute_paths(head);
  replace_all(head, std::string(kCatalogName) + '.', "");
  head += tail;
  if (head.size() > kMessageBytesMax) head.resize(kMessageBytesMax);
  return head;
}

Error out_of_memory_error(std::uint64_t memory_bytes, std::string detail) {
  return make_error(Code::kOutOfMemory,
                    fmt::format("the query needs more memory than it may have ({}): filter or "
                                "aggregate earlier, name fewer columns, or add a LIMIT",
                                size_text(memory_bytes)),
                    std::move(detail));
}

Error engine_failed_error(std::string detail) {
  return make_error(Code::kSqlError,
                    "the query engine failed on this statement: write it another way",
                    std::move(detail));
}

Error in_column(std::string_view name, Error error) {
  error.message = fmt::format("column \"{}\": {}", name, error.message);
  return error;
}

bool leads_outside(const Error& failure) {
  return failure.code == Code::kSqlRefused && failure.detail.starts_with(kPermissionError);
}

StatementFailure describe_failure(std::string_view duckdb_text, const StatementContext& context) {
  std::string placed(duckdb_text);
  if (context.places != nullptr) {
    placed = sql_gate::relocate(duckdb_text, context.executed, context.sql, *context.places);
  }
  const std::string_view text = placed;
  if (text.starts_with("Out of Memory Error") ||
      contains_any(text, {"bad_alloc", "bad allocation"})) {
    return {out_of_memory_error(context.memory_bytes, std::string(text))};
  }
  if (text.starts_with("INTERRUPT Error")) {
    return {make_error(Code::kTimeout, "the query overran its time", std::string(text))};
  }
  if (text.starts_with("INTERNAL Error") || text.starts_with("FATAL Error")) {
    return {engine_failed_error(std::string(text)), true};
  }
  if (text.starts_with(kPermissionError)) {
    return {make_error(Code::kSqlRefused,
                       "only the tables of this knowledgebase can be read: " +
                           without_paths(text, context.kb_folder),
                       std::string(text))};
  }
  if (is_missing_table(text)) {
    return {make_error(Code::kUnknownTable, without_paths(text, context.kb_folder),
                       missing_table(text, context.tables))};
  }
  if (is_reading_failure(text) && !context.raises) {
    const std::string_view kb = context.kb_folder.substr(context.kb_folder.rfind('/') + 1);
    if (const auto named = stream_file(file_named(text), context.kb_folder)) {
      return {make_error(
          Code::kIo,
          fmt::format("{} of the stream {} could not be read: send the query again; if it stays "
                      "so, move the file out of the way with: strata verify {} {} --quarantine",
                      named->path, named->stream, kb, named->stream),
          std::string(text))};
    }
    return {make_error(
        Code::kIo,
        fmt::format("a file of this knowledgebase could not be read: send the query again; if it "
                    "stays so, find the file with: strata verify {}",
                    kb),
        std::string(text))};
  }
  return {sql_error(text, context)};
}

}  // namespace strata::duck
