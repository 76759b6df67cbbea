#include "kb/root.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/ids.h"
#include "catalog/postgres_catalog.h"
#include "catalog/sqlite_catalog.h"
#include "io/numbered.h"
#include "kb/failure.h"
#include "kb/json_object.h"
#include "kb/root_identity.h"
#include "kb/staging.h"

namespace strata::kb {
namespace {

constexpr std::string_view kDegradedFile = "DEGRADED";
constexpr std::string_view kCatalogFile = "strata.sqlite";
constexpr std::size_t kNodeBytesMax = 63;
constexpr std::size_t kBootBytes = 4;
constexpr std::chrono::seconds kDegradedLookEvery{1};
constexpr std::uint64_t kKibibyte = 1024;

Result<void> check_node(std::string_view node) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const bool legal = !node.empty() && node.size() <= kNodeBytesMax && alphanumeric(node.front()) &&
                     std::ranges::all_of(node, [&](char c) {
                       return alphanumeric(c) || c == '.' || c == '_' || c == '-';
                     });
  if (legal) return {};
  return make_error(Code::kBadRequest,
                    fmt::format("The node's name becomes part of file names: use letters, digits, "
                                "'.', _ and -, beginning with a letter or digit, at most {} "
                                "characters.",
                                kNodeBytesMax));
}

std::string process_name(std::string_view node) {
  return fmt::format("{}-{}-{}", node, random_hex(kBootBytes), ::getpid());
}

/// Absolute, without links as far as the path exists.
Result<std::string> canonical(const std::string& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (!error) absolute = std::filesystem::weakly_canonical(absolute, error);
  if (error) return failed_to(kCannotOpenRoot, make_error(Code::kIo, error.message(), path));
  std::string text = absolute.string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  // DuckDB takes what follows a ? for a URL's arguments and looks for the .wal before it.
  if (text.find_first_of("\\\n?") != std::string::npos) {
    return make_error(Code::kBadRequest,
                      "The root's path has a backslash, a question mark or a line break in it, "
                      "which DuckDB cannot name: choose another folder.",
                      text);
  }
  return text;
}

/// Opens the folder, making it and those above it where they are missing.
Result<std::unique_ptr<io::Directory>> open_or_make(io::FileSystem& fs, const std::string& path) {
  auto there = fs.open_directory(path);
  if (there || there.error().code != Code::kNotFound || path == "/") return there;
  const std::filesystem::path split(path);
  STRATA_ASSIGN_OR_RETURN(const auto parent, open_or_make(fs, split.parent_path().string()));
  STRATA_RETURN_IF_ERROR(io::ensure_directory(fs, {*parent, split.filename().string()}));
  return fs.open_directory(path);
}

/// A process killed right after it made the root had not synced its name. Best effort, because the
/// folder above may be another's, or not even readable.
void sync_name(io::FileSystem& fs, const std::string& path) {
  const auto parent = fs.open_directory(std::filesystem::path(path).parent_path().string());
  if (parent) ignore(fs.sync_directory(**parent), "a root made by an operator is on disk by now");
}

Result<void> check_abilities(const io::ProbeReport& report) {
  const auto refused = [](std::string_view what) {
    return make_error(
        Code::kIo, fmt::format("The file system under the root {}: name a folder on a local ext4, "
                               "xfs or btrfs with --data.",
                               what));
  };
  if (!report.hard_links) return refused("has no hard links, so ids could land twice");
  if (!report.directory_sync) return refused("cannot sync a folder, so a batch could be lost");
  return {};
}

/// check_means has seen to it that what the identity names is there.
std::unique_ptr<catalog::RootCatalog> make_catalog(const std::string& path,
                                                   const RootIdentity& identity,
                                                   const SharedServices& shared) {
  if (identity.catalog == CatalogKind::kPostgres) {
    return catalog::make_postgres_root_catalog(*shared.postgres);
  }
  return catalog::make_sqlite_root_catalog(fmt::format("{}/{}", path, kCatalogFile));
}

class FileRoot final : public Root {
 public:
  struct Parts {
    std::string path;
    RootIdentity identity;
    SharedServices shared;
    std::string node;
    std::string process;
    std::unique_ptr<io::Directory> directory;
    io::ProbeReport probe;
    std::optional<std::string> degraded;
  };
  FileRoot(io::FileSystem& fs, const Clock& clock, Parts parts)
      : fs_(fs),
        clock_(clock),
        path_(std::move(parts.path)),
        identity_(std::move(parts.identity)),
        shared_(parts.shared),
        node_(std::move(parts.node)),
        process_(std::move(parts.process)),
        directory_(std::move(parts.directory)),
        probe_(parts.probe),
        catalog_(make_catalog(path_, identity_, shared_)),
        own_reason_(std::move(parts.degraded)) {}

  const std::string& path() const override { return path_; }
  const std::string& uuid() const override { return identity_.uuid; }
  LockKind lock_kind() const override { return identity_.lock; }
  CatalogKind catalog_kind() const override { return identity_.catalog; }
  const SharedServices& shared() const override { return shared_; }
  const std::string& node() const override { return node_; }
  const std::string& process() const override { return process_; }
  std::string process_for_opening() const override { return process_name(node_); }
  const io::Directory& directory() const override { return *directory_; }
  const io::ProbeReport& probe() const override { return probe_; }
  catalog::RootCatalog& catalog() override { return *catalog_; }

  std::optional<std::string> degraded() override {
    {
      const std::lock_guard lock(mutex_);
      if (own_reason_) return own_reason_;
      const SteadyTime now = clock_.steady();
      if (looked_ && now - *looked_ < kDegradedLookEvery) return file_reason_;
      looked_ = now;  // now, so that nobody else looks while this thread does
    }
    const auto file = fs_.read({*directory_, kDegradedFile}, kSmallFileBytesMax);
    const std::lock_guard lock(mutex_);
    if (own_reason_) return own_reason_;
    // Short of descriptors says nothing about the disk: what was known stands.
    if (file || file.error().code != Code::kBusy) file_reason_ = reason_in(file);
    return file_reason_;
  }

  std::optional<Error> ingest_stop(std::uint64_t body_bytes) override {
    if (auto reason = degraded()) return make_error(Code::kDegraded, *std::move(reason));
    const auto space = fs_.disk_space(*directory_);
    // A disk that does not even say how full it is, is for the writes to judge.
    if (!space || space->has_room_for(body_bytes)) return std::nullopt;
    return make_error(
        Code::kDiskFull,
        fmt::format("the disk has {} KiB free, and {} KiB are kept in reserve. Free some "
                    "space: batches are taken again at once, without a restart.",
                    space->free_bytes / kKibibyte, space->reserve_bytes() / kKibibyte));
  }

  void degrade(const std::string& reason) override {
    {
      const std::lock_guard lock(mutex_);
      if (own_reason_) return;
      own_reason_ = reason;
    }
    // Written in place: that the name is there is the message, the content only explains it.
    const io::Entry file{*directory_, kDegradedFile};
    const std::string bytes =
        render({{"reason", reason}, {"at", format_iso8601(clock_.wall())}, {"process", process_}});
    constexpr std::string_view kBestEffort = "the disk may be what failed; the flag here holds";
    ignore(fs_.write_new(file, bytes), kBestEffort);
    ignore(fs_.sync_file(file), kBestEffort);
    ignore(fs_.sync_directory(*directory_), kBestEffort);
  }

 private:
  static std::optional<std::string> reason_in(const Result<std::string>& file) {
    if (!file && file.error().code == Code::kNotFound) return std::nullopt;
    if (!file) return "The file DEGRADED in the root could not be read.";
    const auto object = parse_object(*file);
    const auto reason = object ? text_at(*object, "reason") : std::nullopt;
    // An operator may stop ingest with `touch DEGRADED`.
    return reason.value_or("There is a file DEGRADED in the root.");
  }

  io::FileSystem& fs_;
  const Clock& clock_;
  const std::string path_;
  const RootIdentity identity_;
  const SharedServices shared_;
  const std::string node_;
  const std::string process_;
  const std::unique_ptr<io::Directory> directory_;
  const io::ProbeReport probe_;
  const std::unique_ptr<catalog::RootCatalog> catalog_;

  std::mutex mutex_;                        // guards what follows
  std::optional<std::string> own_reason_;   // set once, never cleared
  std::optional<std::string> file_reason_;  // what DEGRADED said at `looked_`
  std::optional<SteadyTime> looked_;
};

/// The probe passed, so an earlier process's verdict is over.
Result<void> clear_degraded(io::FileSystem& fs, const io::Directory& root) {
  const auto cleared = fs.unlink({root, kDegradedFile});
  if (!cleared && cleared.error().code == Code::kNotFound) return {};
  if (!cleared) return cleared;
  return fs.sync_directory(root);
}

/// What the probe found. Where it could not run on a root that has data, the root opens without
/// taking batches (`degraded`), so that its rows stay readable.
Result<void> probe_root(io::FileSystem& fs, bool fresh, FileRoot::Parts& parts) {
  const auto report = io::probe(fs, *parts.directory);
  if (report) {
    STRATA_RETURN_IF_ERROR(check_abilities(*report));
    parts.probe = *report;
    return {};
  }
  if (fresh || report.error().code == Code::kBusy) {
    return failed_to("The root folder could not be tried out", report.error());
  }
  parts.degraded = fmt::format("At start the root could not be written to. {} Then start again.",
                               report.error().message);
  return {};
}

}  // namespace

Result<std::unique_ptr<Root>> Root::open(io::FileSystem& fs, const Clock& clock,
                                         const RootOptions& options) {
  STRATA_RETURN_IF_ERROR(check_node(options.node));
  FileRoot::Parts parts;
  STRATA_ASSIGN_OR_RETURN(parts.path, canonical(options.path));
  parts.shared = options.shared;
  parts.node = options.node;
  parts.process = process_name(options.node);
  auto directory = open_or_make(fs, parts.path);
  if (!directory) return failed_to(kCannotOpenRoot, directory.error());
  parts.directory = std::move(directory).value();

  // Before anything is written: a newer root is left as it is.
  STRATA_ASSIGN_OR_RETURN(auto identity, read_root_identity(fs, *parts.directory));
  if (identity) STRATA_RETURN_IF_ERROR(check_means(*identity, options.shared.means()));
  STRATA_RETURN_IF_ERROR(probe_root(fs, !identity, parts));
  if (!identity) {
    STRATA_ASSIGN_OR_RETURN(
        identity, publish_root_identity(fs, *parts.directory, identity_for(options.shared.means()),
                                        parts.process));
    // Another node may have been first, with other means.
    STRATA_RETURN_IF_ERROR(check_means(*identity, options.shared.means()));
  }
  parts.identity = *std::move(identity);
  if (!parts.degraded) {
    sync_name(fs, parts.path);
    // Also makes strata.json durable for a process that was killed between its rename and its sync.
    auto synced = fs.sync_directory(*parts.directory);
    if (synced) synced = clear_degraded(fs, *parts.directory);
    if (!synced) return failed_to(kCannotOpenRoot, synced.error());
    sweep_staging(fs, {*parts.directory, kRootStagedPrefix, clock});
  }

  return std::make_unique<FileRoot>(fs, clock, std::move(parts));
}

}  // namespace strata::kb
