#include "kb/root_identity.h"

#include <fmt/format.h>

#include <utility>

#include "base/ids.h"
#include "io/numbered.h"
#include "kb/failure.h"
#include "kb/json_object.h"
#include "kb/staging.h"

namespace strata::kb {
namespace {

constexpr std::string_view kIdentityFile = "strata.json";
constexpr std::string_view kCannotWrite = "The root's strata.json could not be written";

Error another_format(std::uint64_t format) {
  return make_error(
      Code::kConflict,
      format > kRootFormat
          ? fmt::format("This root has format {}, and this program knows only {}: a newer Strata "
                        "wrote it. Start that one.",
                        format, kRootFormat)
          : fmt::format("This root has format {}, and no released Strata wrote one older than {}: "
                        "put its strata.json back from a backup.",
                        format, kRootFormat));
}

Error unknown_kind(std::string_view what, std::string_view kind) {
  return make_error(Code::kConflict,
                    fmt::format("This root's {} is '{}', which this program does not know: a newer "
                                "Strata wrote it. Start that one.",
                                what, kind));
}

Error no_root() {
  return make_error(Code::kNotFound,
                    "There is no Strata root there: name the folder that `strata serve` has as "
                    "--data.");
}

std::string render_identity(const RootIdentity& identity) {
  boost::json::object object{{"format", kRootFormat}, {"lock", lock_kind_name(identity.lock)}};
  if (identity.catalog != CatalogKind::kSqlite) {
    object["catalog"] = catalog_kind_name(identity.catalog);
  }
  object["uuid"] = identity.uuid;
  return render(object);
}

}  // namespace

std::string_view lock_kind_name(LockKind kind) {
  return kind == LockKind::kFile ? "file" : "redis";
}

std::string_view catalog_kind_name(CatalogKind kind) {
  return kind == CatalogKind::kSqlite ? "sqlite" : "postgres";
}

std::optional<LockKind> parse_lock_kind(std::string_view name) {
  for (const LockKind kind : kLockKinds) {
    if (lock_kind_name(kind) == name) return kind;
  }
  return std::nullopt;
}

std::optional<CatalogKind> parse_catalog_kind(std::string_view name) {
  for (const CatalogKind kind : kCatalogKinds) {
    if (catalog_kind_name(kind) == name) return kind;
  }
  return std::nullopt;
}

Result<std::optional<RootIdentity>> read_root_identity(io::FileSystem& fs,
                                                       const io::Directory& root) {
  const auto bytes = fs.read({root, kIdentityFile}, kSmallFileBytesMax);
  if (!bytes && bytes.error().code == Code::kNotFound) return std::nullopt;
  if (!bytes) return failed_to(kCannotOpenRoot, bytes.error());
  const auto object = parse_object(*bytes);
  const auto format = object ? number_at(*object, "format") : std::nullopt;
  if (format && *format != kRootFormat) return another_format(*format);
  const auto lock = object ? text_at(*object, "lock") : std::nullopt;
  const auto uuid = object ? text_at(*object, "uuid") : std::nullopt;
  if (!format || !lock || !uuid || uuid->empty()) {
    return make_error(Code::kIo,
                      "The root's strata.json is damaged: put it back from a backup, or name "
                      "another folder with --data.");
  }
  const std::string catalog =
      text_at(*object, "catalog").value_or(std::string(catalog_kind_name(CatalogKind::kSqlite)));
  const auto lock_kind = parse_lock_kind(*lock);
  if (!lock_kind) return unknown_kind("lock", *lock);
  const auto catalog_kind = parse_catalog_kind(catalog);
  if (!catalog_kind) return unknown_kind("catalog", catalog);
  return RootIdentity{.uuid = *uuid, .lock = *lock_kind, .catalog = *catalog_kind};
}

Result<RootIdentity> publish_root_identity(io::FileSystem& fs, const io::Directory& root,
                                           const RootIdentity& wanted, std::string_view process) {
  RootIdentity made = wanted;
  made.uuid = uuid_v4();
  const auto published = publish_once(fs, {{root, kIdentityFile},
                                           root,
                                           staged_name({kRootStagedPrefix, process, "json"}),
                                           render_identity(made)});
  if (!published) return failed_to(kCannotWrite, published.error());
  STRATA_ASSIGN_OR_RETURN(auto there, read_root_identity(fs, root));
  if (!there) return make_error(Code::kIo, "The root's strata.json went away while it was opened.");
  return *std::move(there);
}

Result<void> replace_root_identity(io::FileSystem& fs, const io::Directory& root,
                                   const RootIdentity& identity) {
  const std::string bytes = render_identity(identity);
  const auto replaced =
      io::publish_replacing(fs, {.to = {root, kIdentityFile}, .staging = root, .bytes = bytes});
  if (!replaced) return failed_to(kCannotWrite, replaced.error());
  return {};
}

RootIdentity identity_for(const NodeMeans& means) {
  return {.uuid = {},
          .lock = means.redis ? LockKind::kRedis : LockKind::kFile,
          .catalog = means.postgres ? CatalogKind::kPostgres : CatalogKind::kSqlite};
}

Result<void> check_means(const RootIdentity& identity, const NodeMeans& means) {
  const auto refused = [](std::string message) {
    return make_error(Code::kConflict, std::move(message));
  };
  if (identity.lock == LockKind::kRedis && !means.redis) {
    return refused(
        "This root's lock is 'redis', and this node was started without --redis: name it there. To "
        "change the kind, stop every node and run `strata root set --lock file`.");
  }
  if (identity.lock == LockKind::kFile && means.redis) {
    return refused(
        "This root's lock is 'file', and this node was started with --redis: leave that out. To "
        "change the kind, stop every node and run `strata root set --lock redis`.");
  }
  if (identity.catalog == CatalogKind::kPostgres && !means.postgres) {
    return refused(
        "This root's catalog is in PostgreSQL, and this node was started without --postgres: name "
        "it there. To change that, stop every node and run `strata root set --catalog sqlite`.");
  }
  return {};
}

Result<void> check_root(io::FileSystem& fs, const io::Directory& directory) {
  STRATA_ASSIGN_OR_RETURN(const auto identity, read_root_identity(fs, directory));
  if (identity) return {};
  return no_root();
}

Result<std::unique_ptr<io::Directory>> open_root_directory(io::FileSystem& fs,
                                                           const std::string& path) {
  auto directory = fs.open_directory(path);
  if (!directory && directory.error().code == Code::kNotFound) return no_root();
  if (!directory) return directory;
  STRATA_RETURN_IF_ERROR(check_root(fs, **directory));
  return directory;
}

}  // namespace strata::kb
