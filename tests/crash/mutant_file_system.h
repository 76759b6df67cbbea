#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/file_system.h"

namespace strata::crash {

/// One way to get the publish protocol wrong. A suite that does not notice its mutants proves
/// nothing, so each is run through the same suites as the product.
enum class Mutant : std::uint8_t {
  kNone,
  kNoDirectorySync,      // sync_directory does nothing
  kNoFileSync,           // sync_file does nothing
  kReplacingRename,      // rename_no_replace replaces
  kReplayWithoutSync,    // whoever finds an id taken acknowledges at once
  kClaimAfterRename,     // the name in data/ comes first, the claim second
  kLedgerBeforeClaim,    // the ledger is asked before the claim, not after it
  kNoIdentityCheck,      // publish step 5 sees no exchanged folder
  kSweepDeletesClaimed,  // recovery takes every leftover for unclaimed
  kFreeNumbers,          // old generations are removed, so that their numbers come free
};
/// `no-directory-sync` and so on; nothing for a name that is none of them.
std::optional<Mutant> parse_mutant(std::string_view name);

/// The disk, with a mutant built in, and with calls held up at random, so that processes that race
/// meet in every order. Thread-safe; `inner` must outlive it.
class MutantFileSystem final : public io::FileSystem {
 public:
  struct Options {
    Mutant mutant = Mutant::kNone;
    std::uint64_t seed = 0;
    /// Before a call that syncs names; an eighth of it before one that changes them, so that others
    /// see what is not yet on disk.
    std::uint64_t pause_us_max = 0;
  };
  MutantFileSystem(io::FileSystem& inner, Options options) : inner_(inner), options_(options) {}

  /// Called by a thread before it publishes: what it did not find taken is not a replay.
  static void begin_publish();
  /// This thread's calls are not held up from here on.
  static void hurry();

  Result<std::unique_ptr<io::Directory>> open_directory(const std::string& path) override;
  Result<std::unique_ptr<io::Directory>> open_directory_at(io::Entry directory) override;
  Result<void> make_directory(io::Entry directory) override;
  Result<void> remove_directory(io::Entry directory) override;
  Result<std::vector<io::DirEntry>> list(const io::Directory& directory) override;
  Result<io::FileStat> stat(io::Entry entry) override;
  Result<io::FileStat> stat_path(const std::string& path) override;
  Result<io::FileStat> stat_handle(const io::Directory& directory) override;
  Result<void> write_new(io::Entry file, std::string_view bytes) override;
  Result<void> patch(io::Entry file, std::uint64_t offset, std::string_view bytes) override;
  Result<std::string> read(io::Entry file, std::uint64_t bytes_max) override;
  Result<std::string> read_range(io::Entry file, std::uint64_t offset, std::uint64_t size) override;
  Result<void> set_mode(io::Entry file, mode_t mode) override;
  Result<void> sync_file(io::Entry file) override;
  Result<void> sync_directory(const io::Directory& directory) override;
  Result<void> link(io::Entry from, io::Entry to) override;
  Result<void> rename_no_replace(io::Entry from, io::Entry to) override;
  Result<void> rename_replace(io::Entry from, io::Entry to) override;
  Result<void> rename_exchange(io::Entry from, io::Entry to) override;
  Result<void> unlink(io::Entry file) override;
  Result<void> symlink(const std::string& target, io::Entry link) override;
  Result<std::string> read_link(io::Entry link) override;
  Result<std::unique_ptr<io::FileLock>> try_lock(io::Entry file) override;
  Result<bool> is_held_for_writing(io::Entry file) override;
  Result<io::DiskSpace> disk_space(const io::Directory& directory) override;

 private:
  bool is(Mutant mutant) const { return options_.mutant == mutant; }
  void pause(std::uint64_t share = 1);
  Result<void> claim_after_rename(io::Entry from, io::Entry to);

  io::FileSystem& inner_;
  const Options options_;
  std::atomic<std::uint64_t> calls_ = 0;
};

}  // namespace strata::crash
