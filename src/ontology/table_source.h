#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "duck/sql.h"

/// Where tables come from: a stream, an upload and a table of a PDF are equal here.
namespace strata::ontology {

/// `{kb}/stream:{id}` or `{kb}/{document}/{table}`. Parts are not empty, hold no `/` and no control
/// character, and are of at most 255 bytes each; the kb's part is a KbId.
class TableId {
 public:
  /// kBadId: says how one is spelled.
  static Result<TableId> parse(std::string_view text);

  const std::string& str() const { return text_; }
  const std::string& kb() const { return kb_; }
  /// `stream:{id}`, or the document.
  const std::string& document() const { return document_; }
  /// Nothing: an id of two parts.
  const std::optional<std::string>& table() const { return table_; }

  /// Its folder's name below `strata/tables/`: what follows the kb, with every byte but
  /// `A-Z a-z 0-9 . _ - :` as `%2F`, and a `.` in front too. Different ids have different names;
  /// one that would be too long for a folder ends in the SHA-256 of it.
  std::string sidecar_folder() const;
  /// Its folder's name below `strata/snapshots/`: without `stream:`, which is no name that every
  /// engine reads a path with.
  std::string snapshot_folder() const;

 private:
  TableId() = default;
  std::string text_;
  std::string kb_;
  std::string document_;
  std::optional<std::string> table_;
};

/// One table as ontology is applied to it; what is kept about it lies in the folders that its id
/// names.
struct SourceTable {
  TableId id;
  duck::Sql relation;                // has `columns`, filename and _batch_id
  std::vector<std::string> columns;  // in registry order
  std::string made_at = {};          // tells a table from one that had its id before
};

/// One kind of tables. Thread-safe; no lock is held while a table is resolved.
class TableSource {
 public:
  virtual ~TableSource() = default;
  /// Nothing: the id is none of this source's. An error: it is, and the table cannot be read.
  virtual Result<std::optional<SourceTable>> resolve(const TableId& id) = 0;
};

/// The table that the first of `sources` which knows it answers. kUnknownTable names an id that
/// none understands: never is a table skipped.
Result<SourceTable> resolve(const std::vector<TableSource*>& sources, std::string_view id);

}  // namespace strata::ontology
