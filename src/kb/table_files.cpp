#include "kb/table_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/numbered.h"
#include "kb/failure.h"
#include "kb/staging.h"

namespace strata::kb {
namespace {

constexpr std::string_view kStaging = "staging";
constexpr std::string_view kStrata = "strata";
constexpr std::string_view kSnapshots = "snapshots";
constexpr std::string_view kOntology = "ontology";
constexpr std::string_view kTables = "tables";
constexpr std::string_view kSnapshotSuffix = ".parquet";
constexpr mode_t kPublishedMode = 0444;
/// Each lost try means that another job published meanwhile.
constexpr int kTriesMax = 50;
constexpr std::uint64_t kMebibyte = 1024ULL * 1024;

constexpr std::string_view kNoFolder = "A folder for this job could not be made";
constexpr std::string_view kNoSnapshot = "A snapshot of the table could not be stored";
constexpr std::string_view kNoTypedTable = "A table of the model could not be stored";
constexpr std::string_view kNoTables = "The tables of the model could not be listed";
constexpr std::string_view kNoSidecar = "What is known of the table could not be stored";

class StagedJobFolder final : public JobFolder {
 public:
  StagedJobFolder(std::unique_ptr<io::Directory> staging, std::unique_ptr<StagedFolder> folder)
      : staging_(std::move(staging)),
        folder_(std::move(folder)),
        path_(fmt::format("{}/{}", staging_->path(), folder_->name())) {}
  const std::string& path() const override { return path_; }
  const io::Directory& directory() const override { return folder_->directory(); }

 private:
  const std::unique_ptr<io::Directory> staging_;
  const std::unique_ptr<StagedFolder> folder_;
  const std::string path_;
};

class KbTableFiles final : public TableFiles {
 public:
  explicit KbTableFiles(const TableFilesContext& context) : context_(context), fs_(context.fs) {}

  Result<std::unique_ptr<JobFolder>> make_job_folder(std::uint64_t bytes) override {
    auto made = make_folder(bytes);
    if (!made && made.error().code != Code::kDiskFull) return failed_to(kNoFolder, made.error());
    return made;
  }

  Result<Snapshot> publish_snapshot(const SnapshotPublish& publish) override {
    auto published = store(publish);
    if (!published) return failed_to(kNoSnapshot, published.error());
    return published;
  }

  Result<std::string> publish_typed_table(const TypedTablePublish& publish) override {
    auto published = store(publish);
    if (!published && published.error().code != Code::kExists) {
      return failed_to(kNoTypedTable, published.error());
    }
    return published;
  }

  Result<bool> has_typed_table(const std::string& file) override {
    const auto found = fs_.stat_path(fmt::format("{}/{}", context_.kb_folder.path(), file));
    if (!found && found.error().code == Code::kNotFound) return false;
    if (!found) return failed_to(kNoTables, found.error());
    return true;
  }

  Result<std::uint64_t> highest_version() override {
    auto highest = highest_folder();
    if (!highest) return failed_to(kNoTables, highest.error());
    return highest;
  }

  Result<void> publish_sidecar(const SidecarPublish& publish) override {
    auto published = store(publish);
    if (!published) return failed_to(kNoSidecar, published.error());
    return published;
  }

 private:
  Result<std::unique_ptr<JobFolder>> make_folder(std::uint64_t bytes) {
    STRATA_ASSIGN_OR_RETURN(auto staging, open_staging());
    STRATA_ASSIGN_OR_RETURN(const io::DiskSpace space, fs_.disk_space(*staging));
    if (!space.has_room_for(bytes)) {
      return make_error(Code::kDiskFull,
                        fmt::format("The disk is too full for this job: {} MiB are free, {} MiB "
                                    "are needed. Free some space and start it again.",
                                    space.free_bytes / kMebibyte,
                                    (bytes + space.reserve_bytes()) / kMebibyte + 1));
    }
    STRATA_ASSIGN_OR_RETURN(
        auto folder, StagedFolder::make(fs_, *staging, staged_name({"", context_.process, "job"})));
    return std::make_unique<StagedJobFolder>(std::move(staging), std::move(folder));
  }

  Result<Snapshot> store(const SnapshotPublish& publish) {
    STRATA_ASSIGN_OR_RETURN(const auto folder, ensure_folder(kSnapshots, publish.table));
    const io::Entry staged{publish.from.directory(), publish.name};
    STRATA_RETURN_IF_ERROR(seal(staged));
    for (int attempt = 0; attempt < kTriesMax; ++attempt) {
      STRATA_ASSIGN_OR_RETURN(const std::uint64_t number, next_number(*folder));
      const std::string name = io::numbered_name(number, kSnapshotSuffix);
      const auto renamed = fs_.rename_no_replace(staged, {*folder, name});
      if (!renamed && renamed.error().code == Code::kExists) continue;
      STRATA_RETURN_IF_ERROR(renamed);
      STRATA_RETURN_IF_ERROR(fs_.sync_directory(*folder));
      return Snapshot{number, fmt::format("{}/{}", folder->path(), name)};
    }
    return make_error(Code::kBusy, "Others keep storing snapshots of it; try again in a moment.");
  }

  Result<std::string> store(const TypedTablePublish& publish) {
    const std::string version = io::numbered_name(publish.version, "");
    STRATA_ASSIGN_OR_RETURN(const auto folder, ensure_folder(kOntology, version));
    const io::Entry staged{publish.from.directory(), publish.name};
    STRATA_RETURN_IF_ERROR(seal(staged));
    STRATA_RETURN_IF_ERROR(fs_.rename_no_replace(staged, {*folder, publish.as}));
    STRATA_RETURN_IF_ERROR(fs_.sync_directory(*folder));
    return fmt::format("{}/{}/{}/{}", kStrata, kOntology, version, publish.as);
  }

  Result<void> store(const SidecarPublish& publish) {
    STRATA_ASSIGN_OR_RETURN(const auto folder, ensure_folder(kTables, publish.table));
    STRATA_ASSIGN_OR_RETURN(const auto staging, open_staging());
    return io::publish_replacing(
        fs_,
        {.to = {*folder, publish.name}, .staging = *staging, .bytes = publish.bytes, .points = {}});
  }

  /// The mode first, so that the sync covers it too.
  Result<void> seal(io::Entry staged) {
    STRATA_RETURN_IF_ERROR(fs_.set_mode(staged, kPublishedMode));
    return fs_.sync_file(staged);
  }

  Result<std::uint64_t> next_number(const io::Directory& folder) {
    STRATA_ASSIGN_OR_RETURN(const std::uint64_t highest, highest_number(folder, kSnapshotSuffix));
    return highest + 1;
  }

  Result<std::uint64_t> highest_folder() {
    STRATA_ASSIGN_OR_RETURN(const auto strata,
                            fs_.open_directory_at({context_.kb_folder, kStrata}));
    STRATA_ASSIGN_OR_RETURN(const auto versions, fs_.open_directory_at({*strata, kOntology}));
    return highest_number(*versions, "");
  }

  /// Of the names in `folder`; 0: none has one.
  Result<std::uint64_t> highest_number(const io::Directory& folder, std::string_view suffix) {
    STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(folder));
    std::uint64_t highest = 0;
    for (const io::DirEntry& entry : entries) {
      highest = std::max(highest, io::parse_numbered(entry.name, suffix).value_or(0));
    }
    return highest;
  }

  Result<std::unique_ptr<io::Directory>> open_staging() {
    return fs_.open_directory_at({context_.kb_folder, kStaging});
  }

  /// `strata/<kind>/<table>`.
  Result<std::unique_ptr<io::Directory>> ensure_folder(std::string_view kind,
                                                       std::string_view table) {
    STRATA_ASSIGN_OR_RETURN(const auto strata,
                            fs_.open_directory_at({context_.kb_folder, kStrata}));
    STRATA_ASSIGN_OR_RETURN(const auto parent, fs_.open_directory_at({*strata, kind}));
    return io::ensure_directory(fs_, {*parent, table});
  }

  const TableFilesContext context_;
  io::FileSystem& fs_;
};

}  // namespace

std::unique_ptr<TableFiles> make_table_files(const TableFilesContext& context) {
  return std::make_unique<KbTableFiles>(context);
}

}  // namespace strata::kb
