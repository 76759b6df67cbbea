#include "kb/file_generations.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "base/limits.h"
#include "io/kill_point.h"
#include "io/numbered.h"
#include "kb/failure.h"
#include "kb/staging.h"

namespace strata::kb {
namespace {

constexpr std::string_view kFolder = "generations";
constexpr std::string_view kStagingFolder = "staging";
constexpr std::string_view kSymlink = "knowledgebase.duckdb";
constexpr std::string_view kSuffix = ".duckdb";
constexpr mode_t kPublishedMode = 0444;

constexpr std::size_t kKeptAtLeast = 3;
constexpr std::chrono::hours kKeptFor{1};
/// Views only: a few hundred of them are a few hundred KB.
constexpr std::uint64_t kFileBytesMax = 256ULL * 1024 * 1024;
/// Each lost try means that somebody else published meanwhile.
constexpr int kTriesMax = 50;
constexpr std::size_t kViewsCachedMax = 4;
constexpr std::uint64_t kMebibyte = 1024ULL * 1024;

constexpr std::string_view kCannotRead = "The knowledgebase's versions could not be read";
constexpr std::string_view kCannotPublish = "The knowledgebase's next version could not be written";

/// A kb's newest generation as one listing shows it.
struct Tip {
  std::uint64_t number = 0;  // 0: there is none
  std::uint64_t size_bytes = 0;
  /// One above every number that was ever taken, tombstones included.
  std::uint64_t next = 1;
};

/// A generation in the making, alone in a folder of its own: the one place where the worker that
/// makes it may write. Whatever a failed one leaves there goes with it.
constexpr std::string_view kCopy = "copy.duckdb";
constexpr std::string_view kCopyWal = "copy.duckdb.wal";
using PrivateCopy = std::unique_ptr<StagedFolder>;

class FileGenerations final : public Generations {
 public:
  FileGenerations(const GenerationsContext& context, std::unique_ptr<io::Directory> folder,
                  std::unique_ptr<io::Directory> staging)
      : context_(context),
        fs_(context.fs),
        folder_(std::move(folder)),
        staging_(std::move(staging)) {}

  Result<void> open() {
    sweep_staging(fs_, {*staging_, "", context_.clock});
    STRATA_RETURN_IF_ERROR(ensure_first());
    // A process that was killed after its claim has not synced it.
    return finish_publish();
  }

  Result<Generation> newest() override {
    STRATA_ASSIGN_OR_RETURN(const Tip tip, look());
    if (tip.number == 0) return none_there();
    return generation(tip.number);
  }

  Result<std::vector<duck::View>> views(const Generation& generation) override {
    // Held while the worker answers, so that it is asked once.
    const std::lock_guard lock(views_mutex_);
    if (const auto known = views_.find(generation.number); known != views_.end()) {
      return known->second;
    }
    auto views = context_.workers.views({context_.kb_folder.path(), generation.file});
    if (!views) return views;
    views_.emplace(generation.number, *views);
    if (views_.size() > kViewsCachedMax) views_.erase(views_.begin());
    return views;
  }

  Result<bool> held_by_outsider(const Generation& generation) override {
    return fs_.is_held_for_writing({*folder_, io::numbered_name(generation.number, kSuffix)});
  }

  Result<Generation> publish(const std::vector<duck::Sql>& ddl) override {
    for (int attempt = 0; attempt < kTriesMax; ++attempt) {
      STRATA_ASSIGN_OR_RETURN(const Tip tip, look());
      if (tip.number == 0) return none_there();
      STRATA_RETURN_IF_ERROR(check_space(tip.size_bytes));
      STRATA_ASSIGN_OR_RETURN(const PrivateCopy copy, make_copy());
      STRATA_ASSIGN_OR_RETURN(const bool copied, copy_newest(tip, {copy->directory(), kCopy}));
      if (!copied) continue;
      io::kill_point("generation:after_copy");
      STRATA_RETURN_IF_ERROR(build(*copy, ddl));
      STRATA_ASSIGN_OR_RETURN(const bool claimed, claim({copy->directory(), kCopy}, tip.next));
      if (!claimed) continue;  // its DDL knows nothing of the newer one's: start again from that
      STRATA_RETURN_IF_ERROR(finish_publish());
      ignore(collect(), "what stays is collected by the next publish");
      return generation(tip.next);
    }
    return make_error(Code::kBusy,
                      "Others keep changing this knowledgebase's views; try again in a moment.");
  }

 private:
  static Error none_there() {
    return make_error(Code::kNotFound,
                      "This knowledgebase has no version to read; start the server again, which "
                      "makes the first one anew.");
  }

  Generation generation(std::uint64_t number) const {
    return {number, fmt::format("{}/{}/{}", context_.kb_folder.path(), kFolder,
                                io::numbered_name(number, kSuffix))};
  }

  /// Every number in the folder, tombstones too, the highest first.
  Result<std::vector<std::uint64_t>> numbers() {
    const auto entries = fs_.list(*folder_);
    if (!entries) return failed_to(kCannotRead, entries.error());
    std::vector<std::uint64_t> numbers;
    for (const io::DirEntry& entry : *entries) {
      if (const auto number = io::parse_numbered(entry.name, kSuffix)) numbers.push_back(*number);
    }
    std::ranges::sort(numbers, std::greater<>());
    return numbers;
  }

  /// The file under `number`, or nothing where it is a tombstone, no file, or went away.
  Result<std::optional<io::FileStat>> stat_live(std::uint64_t number) {
    const auto stat = fs_.stat({*folder_, io::numbered_name(number, kSuffix)});
    if (!stat && stat.error().code == Code::kNotFound) return std::nullopt;
    if (!stat) return failed_to(kCannotRead, stat.error());
    if (stat->type != io::FileType::kFile || stat->size_bytes == 0) return std::nullopt;
    return *stat;
  }

  Result<Tip> look() {
    STRATA_ASSIGN_OR_RETURN(const auto all, numbers());
    Tip tip;
    if (!all.empty()) tip.next = all.front() + 1;
    for (const std::uint64_t number : all) {
      STRATA_ASSIGN_OR_RETURN(const auto live, stat_live(number));
      if (!live) continue;
      tip.number = number;
      tip.size_bytes = live->size_bytes;
      break;
    }
    return tip;
  }

  Result<void> check_space(std::uint64_t copy_bytes) {
    const auto space = fs_.disk_space(*staging_);
    if (!space) return failed_to(kCannotPublish, space.error());
    if (space->has_room_for(copy_bytes)) return {};
    const std::uint64_t needed = copy_bytes + space->reserve_bytes();
    return make_error(
        Code::kDiskFull,
        fmt::format("The disk is too full to publish a version of the knowledgebase: {} MiB are "
                    "free, {} MiB are needed. Free some space and try again.",
                    space->free_bytes / kMebibyte, (needed + kMebibyte - 1) / kMebibyte));
  }

  /// False: the newest was collected meanwhile, so it is not the newest any more.
  Result<bool> copy_newest(const Tip& tip, io::Entry copy) {
    const auto bytes = fs_.read({*folder_, io::numbered_name(tip.number, kSuffix)}, kFileBytesMax);
    if (!bytes && bytes.error().code != Code::kNotFound) {
      return failed_to(kCannotPublish, bytes.error());
    }
    if (!bytes || bytes->empty()) return false;
    const auto written = fs_.write_new(copy, *bytes);
    if (!written) return failed_to(kCannotPublish, written.error());
    return true;
  }

  Result<PrivateCopy> make_copy() {
    auto made =
        StagedFolder::make(fs_, *staging_, staged_name({"", context_.process, "generation"}));
    if (!made) return failed_to(kCannotPublish, made.error());
    return made;
  }

  /// Runs the DDL and makes the file fit to be published: whole, on disk, read-only.
  Result<void> build(const StagedFolder& copy, const std::vector<duck::Sql>& ddl) {
    const io::Entry file{copy.directory(), kCopy};
    STRATA_RETURN_IF_ERROR(context_.workers.run_ddl(
        {.kb_folder = context_.kb_folder.path(),
         .database_file = fmt::format("{}/{}/{}/{}", context_.kb_folder.path(), kStagingFolder,
                                      copy.name(), kCopy),
         .statements = ddl}));
    io::kill_point("generation:after_ddl");
    const auto wal = fs_.stat({copy.directory(), kCopyWal});
    if (wal) {
      return make_error(Code::kInternal,
                        "DDL left work outside the knowledgebase's file; nothing was published.");
    }
    if (wal.error().code != Code::kNotFound) return failed_to(kCannotPublish, wal.error());
    // The mode first, so that the sync covers it too.
    auto settled = fs_.set_mode(file, kPublishedMode);
    if (settled) settled = fs_.sync_file(file);
    if (!settled) return failed_to(kCannotPublish, settled.error());
    io::kill_point("generation:after_sync");
    return {};
  }

  /// False: somebody else has that number.
  Result<bool> claim(io::Entry file, std::uint64_t number) {
    const auto claimed =
        fs_.rename_no_replace(file, {*folder_, io::numbered_name(number, kSuffix)});
    if (!claimed && claimed.error().code == Code::kExists) return false;
    if (!claimed) return failed_to(kCannotPublish, claimed.error());
    io::kill_point("generation:after_claim");
    return true;
  }

  /// Makes every claim durable, whosever it was, and points the symlink at the newest.
  Result<void> finish_publish() {
    auto done = fs_.sync_directory(*folder_);
    if (!done) return failed_to(kCannotPublish, done.error());
    io::kill_point("generation:after_directory_sync");
    STRATA_RETURN_IF_ERROR(point_symlink());
    io::kill_point("generation:after_symlink");
    done = fs_.sync_directory(context_.kb_folder);
    if (!done) return failed_to(kCannotPublish, done.error());
    io::kill_point("generation:after_kb_sync");
    return {};
  }

  /// Looks again after each repointing, because another publisher may have pointed it at its own
  /// older one in between; ends because each further turn needs a further publish.
  Result<void> point_symlink() {
    while (true) {
      STRATA_ASSIGN_OR_RETURN(const Tip tip, look());
      if (tip.number == 0) return none_there();
      const std::string target =
          fmt::format("{}/{}", kFolder, io::numbered_name(tip.number, kSuffix));
      const io::Entry link{context_.kb_folder, kSymlink};
      const auto present = fs_.read_link(link);
      if (present && *present == target) return {};
      // Not there, or a copy turned it into a file: either way it is only a hint, so replace it.
      StagedFile staged(fs_, *staging_, staged_name({"", context_.process, "link"}));
      auto pointed = fs_.symlink(target, staged.entry());
      if (pointed) pointed = fs_.rename_replace(staged.entry(), link);
      if (!pointed) return failed_to(kCannotPublish, pointed.error());
      staged.renamed();
    }
  }

  Result<void> ensure_first() {
    while (true) {
      STRATA_ASSIGN_OR_RETURN(const Tip tip, look());
      if (tip.number != 0) return {};
      STRATA_RETURN_IF_ERROR(check_space(0));
      STRATA_ASSIGN_OR_RETURN(const PrivateCopy copy, make_copy());
      STRATA_RETURN_IF_ERROR(build(
          *copy, {duck::Sql("CREATE SCHEMA raw_extracted"), duck::Sql("CREATE SCHEMA ontology")}));
      STRATA_RETURN_IF_ERROR(claim({copy->directory(), kCopy}, tip.next));
    }
  }

  /// Empties old generations. Their numbers never come free, or a writer that slept through it all
  /// could claim one and hide what others published.
  Result<void> collect() {
    const auto now = context_.clock.trusted_wall();
    if (!now) return {};
    STRATA_ASSIGN_OR_RETURN(const auto all, numbers());
    std::size_t kept = 0;
    for (const std::uint64_t number : all) {
      STRATA_ASSIGN_OR_RETURN(const auto live, stat_live(number));
      if (!live) continue;
      const WallTime modified{std::chrono::nanoseconds(live->modified_ns)};
      if (kept < kKeptAtLeast || *now - modified <= kKeptFor) {
        ++kept;
        continue;
      }
      STRATA_RETURN_IF_ERROR(bury(number));
    }
    return {};
  }

  Result<void> bury(std::uint64_t number) {
    StagedFile tombstone(fs_, *staging_, staged_name({"", context_.process, "tombstone"}));
    STRATA_RETURN_IF_ERROR(fs_.write_new(tombstone.entry(), ""));
    STRATA_RETURN_IF_ERROR(fs_.set_mode(tombstone.entry(), kPublishedMode));
    STRATA_RETURN_IF_ERROR(
        fs_.rename_replace(tombstone.entry(), {*folder_, io::numbered_name(number, kSuffix)}));
    tombstone.renamed();
    io::kill_point("generation:after_tombstone");
    return {};
  }

  const GenerationsContext context_;
  io::FileSystem& fs_;
  const std::unique_ptr<io::Directory> folder_;
  const std::unique_ptr<io::Directory> staging_;

  std::mutex views_mutex_;
  std::map<std::uint64_t, std::vector<duck::View>> views_;  // by views_mutex_; numbers never change
};

}  // namespace

Result<std::unique_ptr<Generations>> open_generations(const GenerationsContext& context) {
  STRATA_ASSIGN_OR_RETURN(auto folder,
                          io::ensure_directory(context.fs, {context.kb_folder, kFolder}));
  STRATA_ASSIGN_OR_RETURN(auto staging,
                          io::ensure_directory(context.fs, {context.kb_folder, kStagingFolder}));
  auto generations =
      std::make_unique<FileGenerations>(context, std::move(folder), std::move(staging));
  STRATA_RETURN_IF_ERROR(generations->open());
  return generations;
}

}  // namespace strata::kb
