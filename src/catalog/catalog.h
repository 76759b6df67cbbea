#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "catalog/jobs.h"
#include "catalog/ontology_versions.h"

/// The catalog is an index of what files hold and can be rebuilt from them (architecture.md), but
/// for its jobs and its ontology's versions: no landing depends on it and it needs no kb lock.
namespace strata::catalog {

/// One row of `_strata_manifest`: a table of the kb, whatever its source.
struct ManifestRow {
  std::string table;                  // its SQL name, `raw_extracted.stream_x`
  std::string source;                 // `stream:x`, `upload:name`, `feed:...`, or a document's id
  std::optional<std::uint64_t> rows;  // not known before the first landing
  std::string state;                  // `deferred` | `ready` | `error`
  bool operator==(const ManifestRow&) const = default;
};

struct ReceiverRow {
  std::string stream;
  std::string settings_json;  // the receiver file's content
  bool operator==(const ReceiverRow&) const = default;
};

/// Every row of one kb's catalog, as one instant had them: what moving a kb to another kind of
/// catalog takes along. A table that a later schema adds gets its member here with its script; the
/// contract tests count the tables, so that none is left behind.
struct CatalogContent {
  std::vector<ManifestRow> manifest;
  std::vector<ReceiverRow> receivers;
  std::vector<JobRow> jobs;          // newest first
  std::vector<VersionRow> versions;  // newest first
  bool operator==(const CatalogContent&) const = default;
};

/// One kb's catalog. Thread-safe; several processes may hold the same one. Errors: kBusy (another
/// writer held it too long), kDiskFull, kIo.
class Catalog {
 public:
  virtual ~Catalog() = default;
  virtual Result<void> put_manifest(const ManifestRow& row) = 0;  // by `table`
  virtual Result<std::vector<ManifestRow>> manifest() = 0;        // ordered by `table`
  virtual Result<void> put_receiver(const ReceiverRow& row) = 0;  // by `stream`
  virtual Result<std::vector<ReceiverRow>> receivers() = 0;       // ordered by `stream`
  /// Both rows of a stream, its manifest row by its source; nothing where there is none.
  virtual Result<void> remove_stream(const std::string& stream) = 0;
  virtual Jobs& jobs() = 0;                  // lives as long as this
  virtual OntologyVersions& ontology() = 0;  // likewise

  virtual Result<CatalogContent> content() = 0;
  /// All rows of the kb go and these stand in their place, in one transaction. A job that was under
  /// way is so here too, and its owner's.
  virtual Result<void> replace_content(const CatalogContent& content) = 0;
};

struct KnowledgebaseRow {
  std::string id;
  std::string uuid;
  std::string backend;
  std::string created_at;
  bool operator==(const KnowledgebaseRow&) const = default;
};

struct NodeRow {
  std::string node;
  std::string process;  // `<node>-<boot>-<pid>`
  std::string started_at;
  std::string version = {};
  bool operator==(const NodeRow&) const = default;
};

struct NodeSeen {
  NodeRow node;
  /// Since its last put, by the database's clock; below zero: that clock was put back since.
  std::chrono::seconds ago{};
};

/// A process that has not put its row for so long has ended; its row goes.
inline constexpr std::chrono::days kNodeRowKept{30};

/// The root's own catalog (`strata.sqlite`): which kbs and nodes there are. Same rules.
class RootCatalog {
 public:
  virtual ~RootCatalog() = default;
  virtual Result<void> put_knowledgebase(const KnowledgebaseRow& row) = 0;  // by `id`
  virtual Result<std::vector<KnowledgebaseRow>> knowledgebases() = 0;       // ordered by `id`
  virtual Result<void> remove_knowledgebase(const std::string& id) = 0;     // nothing: none there
  /// By `process`; says that it lives now. Rows of processes long gone go with it.
  virtual Result<void> put_node(const NodeRow& row) = 0;
  virtual Result<std::vector<NodeSeen>> nodes() = 0;  // ordered by `process`
  /// The one clock that all nodes of a root share: PostgreSQL's, or of SQLite the machine's.
  virtual Result<WallTime> now() = 0;
};

}  // namespace strata::catalog
