#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/disk_space.h"

/// Everything durable goes through this port, so that a failing disk, a lost write and a kill are
/// ordinary test inputs. `make check` fails on `::open`, `::fsync`, `::link` and `::rename` outside
/// src/io/.
namespace strata::io {

/// Which inode a name leads to; equal means the very same file.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};

enum class FileType : std::uint8_t { kFile, kDirectory, kSymlink, kOther };

struct FileStat {
  FileId id;
  FileType type = FileType::kOther;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::uint64_t links = 0;       // names of a file; says nothing of a directory
  mode_t mode = 0;               // permission bits
};

struct DirEntry {
  std::string name;
  FileType type = FileType::kOther;
};

/// A directory held open; its names are reached through the handle, so a rename of the folder
/// above does not redirect a write that is under way. Thread-safe.
class Directory {
 public:
  virtual ~Directory() = default;
  /// The path it was opened by; what the folder is called may have changed since.
  virtual const std::string& path() const = 0;
};

/// One name in a directory: anything else (`..`, a slash) is kIo. Borrows both.
struct Entry {
  const Directory& directory;
  std::string_view name;
};

/// Held until destroyed or until the process dies, whichever comes first.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// How write_new_synced() went.
struct WrittenFile {
  Result<void> written;
  Result<void> synced;  // says nothing where it was not written
};

/// Thread-safe. Errors of every call: kNotFound (ENOENT), kExists (EEXIST, ENOTEMPTY), kDiskFull
/// (ENOSPC, EDQUOT), kBusy (EMFILE, ENFILE, ENOMEM, a lock held elsewhere), kIo (anything else).
/// `message` names no path; `detail` does. No call retries a failed sync, ever.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::unique_ptr<Directory>> open_directory(const std::string& path) = 0;
  virtual Result<std::unique_ptr<Directory>> open_directory_at(Entry directory) = 0;
  virtual Result<void> make_directory(Entry directory) = 0;
  virtual Result<void> remove_directory(Entry directory) = 0;  // kExists when not empty
  /// In no order; without `.` and `..`.
  virtual Result<std::vector<DirEntry>> list(const Directory& directory) = 0;

  /// Does not follow a symlink.
  virtual Result<FileStat> stat(Entry entry) = 0;
  /// What the path leads to now, from the root of the file system.
  virtual Result<FileStat> stat_path(const std::string& path) = 0;
  virtual Result<FileStat> stat_handle(const Directory& directory) = 0;

  /// Creates with O_EXCL, mode 0640. Not durable before sync_file and sync_directory.
  virtual Result<void> write_new(Entry file, std::string_view bytes) = 0;
  /// Overwrites bytes inside an existing file; the file keeps its size.
  virtual Result<void> patch(Entry file, std::uint64_t offset, std::string_view bytes) = 0;
  /// The whole file; kIo when it is larger than `bytes_max`.
  virtual Result<std::string> read(Entry file, std::uint64_t bytes_max) = 0;
  /// Exactly `size` bytes from `offset`; kIo when the file ends before.
  virtual Result<std::string> read_range(Entry file, std::uint64_t offset, std::uint64_t size) = 0;
  virtual Result<void> set_mode(Entry file, mode_t mode) = 0;

  virtual Result<void> sync_file(Entry file) = 0;
  /// write_new(), then `on_written`, then sync_file(); through one descriptor where it can be.
  virtual WrittenFile write_new_synced(Entry file, std::string_view bytes,
                                       const std::function<void()>& on_written) {
    WrittenFile file_now{.written = write_new(file, bytes), .synced = {}};
    if (!file_now.written) return file_now;
    on_written();
    file_now.synced = sync_file(file);
    return file_now;
  }
  virtual Result<void> sync_directory(const Directory& directory) = 0;

  virtual Result<void> link(Entry from, Entry to) = 0;
  /// renameat2(RENAME_NOREPLACE); where the file system has none, link + unlink, which moves files
  /// only, and of which a crash may leave both names.
  virtual Result<void> rename_no_replace(Entry from, Entry to) = 0;
  virtual Result<void> rename_replace(Entry from, Entry to) = 0;
  virtual Result<void> rename_exchange(Entry from, Entry to) = 0;
  virtual Result<void> unlink(Entry file) = 0;

  virtual Result<void> symlink(const std::string& target, Entry link) = 0;
  virtual Result<std::string> read_link(Entry link) = 0;

  /// An open-file-description lock on `file`, created when missing. kBusy at once when held
  /// through another descriptor, in this process or another.
  virtual Result<std::unique_ptr<FileLock>> try_lock(Entry file) = 0;

  /// Whether another process holds a POSIX lock on `file` that keeps readers out, as DuckDB does
  /// while it has a database open for writing. Takes no lock itself.
  virtual Result<bool> is_held_for_writing(Entry file) = 0;

  /// Of the file system of `directory`.
  virtual Result<DiskSpace> disk_space(const Directory& directory) = 0;
};

}  // namespace strata::io
