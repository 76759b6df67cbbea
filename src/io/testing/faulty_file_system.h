#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/file_system.h"

namespace strata::io {

enum class Operation : std::uint8_t {
  kOpenDirectory,
  kOpenDirectoryAt,
  kMakeDirectory,
  kRemoveDirectory,
  kList,
  kStat,
  kStatPath,
  kStatHandle,
  kWriteNew,
  kPatch,
  kRead,
  kReadRange,
  kSetMode,
  kSyncFile,
  kSyncDirectory,
  kLink,
  kRenameNoReplace,
  kRenameReplace,
  kRenameExchange,
  kUnlink,
  kSymlink,
  kReadLink,
  kTryLock,
  kIsHeldForWriting,
  kDiskSpace,
};

/// One call, as an observer and a fault's condition see it.
struct FileCall {
  Operation operation = Operation::kStat;
  std::uint64_t number = 0;       // 0 for the first call since the counts were reset
  std::string directory = {};     // path of the folder, or the path given
  std::string name = {};          // of the entry; empty where the call has none
  std::string to_directory = {};  // link and renames
  std::string to_name = {};
};

enum class Effect : std::uint8_t {
  kFailBefore,  // fails and does nothing
  kFailAfter,   // is done, and answers an error all the same
  kLost,        // answers success and does nothing: a sync that lies, a mutant without the step
};

/// Passes every call to `inner`, counts it, and makes chosen calls fail. Directory handles are the
/// inner file system's own. A call the inner file system refuses by itself keeps its own error.
/// Thread-safe; `inner` must outlive it.
class FaultyFileSystem final : public FileSystem {
 public:
  explicit FaultyFileSystem(FileSystem& inner) : inner_(inner) {}

  using Condition = std::function<bool(const FileCall&)>;
  /// Call `number` only; resets the counts, so that 0 is the next call. `code` is for the two kinds
  /// that fail.
  void fail_call(std::uint64_t number, Effect effect, Code code = Code::kIo);
  /// Call `number` and all after it fail and do nothing, as for a process killed there.
  void fail_from_call(std::uint64_t number, Code code = Code::kIo);
  /// Every call that `condition` holds for. kLost fits only calls that answer no value.
  void fail_if(Condition condition, Effect effect, Code code = Code::kIo);
  /// No call fails any more. Counts stay.
  void heal();
  /// Whether the fault that was set last has hit a call.
  bool fired() const;

  /// Called before each call, fault or not, on its thread and without a lock held: it may look at
  /// and crash the inner file system.
  void set_observer(std::function<void(const FileCall&)> observer);

  std::uint64_t calls() const;
  std::uint64_t calls(Operation operation) const;
  std::uint64_t calls(Operation operation, const std::string& directory) const;
  void reset_counts();

  Result<std::unique_ptr<Directory>> open_directory(const std::string& path) override;
  Result<std::unique_ptr<Directory>> open_directory_at(Entry directory) override;
  Result<void> make_directory(Entry directory) override;
  Result<void> remove_directory(Entry directory) override;
  Result<std::vector<DirEntry>> list(const Directory& directory) override;
  Result<FileStat> stat(Entry entry) override;
  Result<FileStat> stat_path(const std::string& path) override;
  Result<FileStat> stat_handle(const Directory& directory) override;
  Result<void> write_new(Entry file, std::string_view bytes) override;
  Result<void> patch(Entry file, std::uint64_t offset, std::string_view bytes) override;
  Result<std::string> read(Entry file, std::uint64_t bytes_max) override;
  Result<std::string> read_range(Entry file, std::uint64_t offset, std::uint64_t size) override;
  Result<void> set_mode(Entry file, mode_t mode) override;
  Result<void> sync_file(Entry file) override;
  Result<void> sync_directory(const Directory& directory) override;
  Result<void> link(Entry from, Entry to) override;
  Result<void> rename_no_replace(Entry from, Entry to) override;
  Result<void> rename_replace(Entry from, Entry to) override;
  Result<void> rename_exchange(Entry from, Entry to) override;
  Result<void> unlink(Entry file) override;
  Result<void> symlink(const std::string& target, Entry link) override;
  Result<std::string> read_link(Entry link) override;
  Result<std::unique_ptr<FileLock>> try_lock(Entry file) override;
  Result<bool> is_held_for_writing(Entry file) override;
  Result<DiskSpace> disk_space(const Directory& directory) override;

 private:
  struct Fault {
    Condition condition;
    Effect effect = Effect::kFailBefore;
    Code code = Code::kIo;
  };

  void set_fault(Fault fault);
  /// Counts the call, tells the observer, and says what is to go wrong.
  std::optional<Fault> begin(FileCall call);
  template <typename Function>
  auto run(FileCall call, Function function) -> decltype(function());

  FileSystem& inner_;
  mutable std::mutex mutex_;  // guards all below
  std::optional<Fault> fault_;
  bool fired_ = false;
  std::uint64_t calls_ = 0;
  std::map<std::pair<Operation, std::string>, std::uint64_t> calls_by_directory_;
  std::function<void(const FileCall&)> observer_;
};

}  // namespace strata::io
