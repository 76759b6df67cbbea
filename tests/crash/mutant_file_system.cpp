#include "mutant_file_system.h"

#include <array>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

namespace strata::crash {
namespace {

using io::Directory;
using io::Entry;

constexpr std::uint64_t kNamesShare = 8;

/// Of this thread's publish: it found the id claimed by somebody else.
thread_local bool found_taken = false;
thread_local bool hurries = false;
/// What stat_handle answered this thread for a data folder.
thread_local io::FileStat last_data_stat;

bool is_data(std::string_view path) { return path.ends_with("/data"); }
bool is_shard(std::string_view path) { return path.find("/ids/") != std::string_view::npos; }
bool is_staging(std::string_view path) { return path.find("/_tmp/") != std::string_view::npos; }

}  // namespace

std::optional<Mutant> parse_mutant(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Mutant>, 10> kNames{{
      {"none", Mutant::kNone},
      {"no-directory-sync", Mutant::kNoDirectorySync},
      {"no-file-sync", Mutant::kNoFileSync},
      {"replacing-rename", Mutant::kReplacingRename},
      {"replay-without-sync", Mutant::kReplayWithoutSync},
      {"claim-after-rename", Mutant::kClaimAfterRename},
      {"ledger-before-claim", Mutant::kLedgerBeforeClaim},
      {"no-identity-check", Mutant::kNoIdentityCheck},
      {"sweep-deletes-claimed", Mutant::kSweepDeletesClaimed},
      {"generations-free-numbers", Mutant::kFreeNumbers},
  }};
  for (const auto& [known, mutant] : kNames) {
    if (known == name) return mutant;
  }
  return std::nullopt;
}

void MutantFileSystem::begin_publish() { found_taken = false; }
void MutantFileSystem::hurry() { hurries = true; }

void MutantFileSystem::pause(std::uint64_t share) {
  const std::uint64_t longest = options_.pause_us_max / share;
  if (longest == 0 || hurries) return;
  std::mt19937_64 random(options_.seed * 1'000'003 + ++calls_);
  if (random() % 2 == 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(random() % longest));
}

Result<std::unique_ptr<Directory>> MutantFileSystem::open_directory(const std::string& path) {
  return inner_.open_directory(path);
}

Result<std::unique_ptr<Directory>> MutantFileSystem::open_directory_at(Entry directory) {
  if (is(Mutant::kSweepDeletesClaimed) && directory.directory.path().ends_with("/ids")) {
    return make_error(Code::kNotFound, "no claim is looked at");
  }
  return inner_.open_directory_at(directory);
}

Result<void> MutantFileSystem::make_directory(Entry directory) {
  return inner_.make_directory(directory);
}

Result<void> MutantFileSystem::remove_directory(Entry directory) {
  return inner_.remove_directory(directory);
}

Result<std::vector<io::DirEntry>> MutantFileSystem::list(const Directory& directory) {
  return inner_.list(directory);
}

Result<io::FileStat> MutantFileSystem::stat(Entry entry) { return inner_.stat(entry); }

Result<io::FileStat> MutantFileSystem::stat_path(const std::string& path) {
  if (is(Mutant::kNoIdentityCheck) && is_data(path)) return last_data_stat;
  return inner_.stat_path(path);
}

Result<io::FileStat> MutantFileSystem::stat_handle(const Directory& directory) {
  auto stat = inner_.stat_handle(directory);
  if (stat && is_data(directory.path())) last_data_stat = *stat;
  return stat;
}

Result<void> MutantFileSystem::write_new(Entry file, std::string_view bytes) {
  return inner_.write_new(file, bytes);
}

Result<void> MutantFileSystem::patch(Entry file, std::uint64_t offset, std::string_view bytes) {
  return inner_.patch(file, offset, bytes);
}

Result<std::string> MutantFileSystem::read(Entry file, std::uint64_t bytes_max) {
  return inner_.read(file, bytes_max);
}

Result<std::string> MutantFileSystem::read_range(Entry file, std::uint64_t offset,
                                                 std::uint64_t size) {
  return inner_.read_range(file, offset, size);
}

Result<void> MutantFileSystem::set_mode(Entry file, mode_t mode) {
  return inner_.set_mode(file, mode);
}

Result<void> MutantFileSystem::sync_file(Entry file) {
  if (is(Mutant::kNoFileSync)) return {};
  return inner_.sync_file(file);
}

Result<void> MutantFileSystem::sync_directory(const Directory& directory) {
  if (is(Mutant::kNoDirectorySync)) return {};
  if (is(Mutant::kReplayWithoutSync) && found_taken) return {};
  pause();
  return inner_.sync_directory(directory);
}

Result<void> MutantFileSystem::claim_after_rename(Entry from, Entry to) {
  const std::string shard = to.directory.path();
  const std::string stream = shard.substr(0, shard.rfind("/ids/"));
  STRATA_ASSIGN_OR_RETURN(const auto data, inner_.open_directory(stream + "/data"));
  const std::string name = std::string(to.name) + ".parquet";
  const auto renamed = inner_.rename_no_replace(from, {*data, name});
  if (!renamed && renamed.error().code != Code::kExists) return renamed;
  if (!renamed) return inner_.link(from, to);
  pause();
  return inner_.link({*data, name}, to);
}

Result<void> MutantFileSystem::link(Entry from, Entry to) {
  pause(kNamesShare);
  const bool claims = is_shard(to.directory.path()) && is_staging(from.directory.path());
  if (claims && is(Mutant::kClaimAfterRename)) return claim_after_rename(from, to);
  auto linked = inner_.link(from, to);
  if (claims && !linked && linked.error().code == Code::kExists) found_taken = true;
  return linked;
}

Result<void> MutantFileSystem::rename_no_replace(Entry from, Entry to) {
  pause(kNamesShare);
  if (is(Mutant::kReplacingRename)) return inner_.rename_replace(from, to);
  return inner_.rename_no_replace(from, to);
}

Result<void> MutantFileSystem::rename_replace(Entry from, Entry to) {
  if (is(Mutant::kFreeNumbers) && from.name.find("tombstone") != std::string_view::npos) {
    STRATA_RETURN_IF_ERROR(inner_.unlink(from));
    return inner_.unlink(to);
  }
  return inner_.rename_replace(from, to);
}

Result<void> MutantFileSystem::rename_exchange(Entry from, Entry to) {
  return inner_.rename_exchange(from, to);
}

Result<void> MutantFileSystem::unlink(Entry file) {
  pause(kNamesShare);
  return inner_.unlink(file);
}

Result<void> MutantFileSystem::symlink(const std::string& target, Entry link) {
  return inner_.symlink(target, link);
}

Result<std::string> MutantFileSystem::read_link(Entry link) { return inner_.read_link(link); }

Result<std::unique_ptr<io::FileLock>> MutantFileSystem::try_lock(Entry file) {
  return inner_.try_lock(file);
}

Result<bool> MutantFileSystem::is_held_for_writing(Entry file) {
  return inner_.is_held_for_writing(file);
}

Result<io::DiskSpace> MutantFileSystem::disk_space(const Directory& directory) {
  return inner_.disk_space(directory);
}

}  // namespace strata::crash
