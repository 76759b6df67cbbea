#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/file_system.h"

namespace strata::kb {

inline constexpr std::uint64_t kRootFormat = 1;

/// What orders those who publish a generation of a kb's DuckDB file. One kind per root: two that do
/// not know of each other would order nothing.
enum class LockKind : std::uint8_t { kFile, kRedis };
inline constexpr std::array kLockKinds = {LockKind::kFile, LockKind::kRedis};
std::string_view lock_kind_name(LockKind kind);  // `file`, `redis`
std::optional<LockKind> parse_lock_kind(std::string_view name);

/// Where the root's own catalog is: `strata.sqlite`, or PostgreSQL.
enum class CatalogKind : std::uint8_t { kSqlite, kPostgres };
inline constexpr std::array kCatalogKinds = {CatalogKind::kSqlite, CatalogKind::kPostgres};
std::string_view catalog_kind_name(CatalogKind kind);  // `sqlite`, `postgres`
std::optional<CatalogKind> parse_catalog_kind(std::string_view name);

/// What `strata.json` says. A catalog in SQLite is not named there (docs/adr/0007).
struct RootIdentity {
  std::string uuid;
  LockKind lock = LockKind::kFile;
  CatalogKind catalog = CatalogKind::kSqlite;
};

/// Nothing where there is no root yet. kConflict: a newer Strata wrote it, or a kind in it is none
/// of ours. kIo: damaged.
Result<std::optional<RootIdentity>> read_root_identity(io::FileSystem& fs,
                                                       const io::Directory& root);

/// Makes the root of `wanted`, whose UUID is made here. Two processes may meet at a fresh root: the
/// first name stands, and both take what it says. `process` names what is staged.
Result<RootIdentity> publish_root_identity(io::FileSystem& fs, const io::Directory& root,
                                           const RootIdentity& wanted, std::string_view process);

/// Puts `identity` in the place of what is there: only while no node runs on the root.
Result<void> replace_root_identity(io::FileSystem& fs, const io::Directory& root,
                                   const RootIdentity& identity);

/// What a node was started with.
struct NodeMeans {
  bool redis = false;
  bool postgres = false;
};
/// What a root is that such a node makes.
RootIdentity identity_for(const NodeMeans& means);
/// kConflict, with the way out: the root is of a kind that the node has no means for, or a node
/// with Redis meets a root whose lock is another. PostgreSQL beside a catalog in SQLite is for its
/// kbs, and no conflict.
Result<void> check_means(const RootIdentity& identity, const NodeMeans& means);

/// Whether `directory` is a root that this program may read; nothing is written. kNotFound: it has
/// no strata.json. kConflict, kIo: as read_root_identity.
Result<void> check_root(io::FileSystem& fs, const io::Directory& directory);

/// The root at `path`, checked so. kNotFound also where there is no folder.
Result<std::unique_ptr<io::Directory>> open_root_directory(io::FileSystem& fs,
                                                           const std::string& path);

inline constexpr std::string_view kCannotOpenRoot = "The root folder could not be opened";

/// Staged files of a root's own begin so.
inline constexpr std::string_view kRootStagedPrefix = ".staged.";

}  // namespace strata::kb
