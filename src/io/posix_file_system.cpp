#include "io/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/unique_fd.h"
#include "io/errors.h"

namespace strata::io {
namespace {

constexpr mode_t kFileMode = 0640;
constexpr mode_t kDirectoryMode = 0750;
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
// O_NONBLOCK: opening a FIFO that somebody planted must not hang; regular files ignore it.
constexpr int kFileFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

class PosixDirectory final : public Directory {
 public:
  PosixDirectory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  std::string path_;
};

/// The lock belongs to the open file description: closing the one descriptor releases it.
class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(UniqueFd fd) : fd_(std::move(fd)) {}

 private:
  UniqueFd fd_;
};

struct CloseDir {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

/// For every call but fsync: an interrupted fsync counts as failed (durability.md 0.2).
template <typename Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

int fd_of(const Directory& directory) {
  const auto* const posix = dynamic_cast<const PosixDirectory*>(&directory);
  STRATA_CHECK(posix != nullptr);  // a handle belongs to the file system that opened it
  return posix->fd();
}

/// An Entry as system calls want it.
struct At {
  int fd = -1;
  std::string name;
};

Result<At> at(std::string_view operation, Entry entry) {
  STRATA_RETURN_IF_ERROR(check_name(operation, entry));
  return At{fd_of(entry.directory), std::string(entry.name)};
}

FileType type_of(mode_t mode) {
  if (S_ISREG(mode)) return FileType::kFile;
  if (S_ISDIR(mode)) return FileType::kDirectory;
  if (S_ISLNK(mode)) return FileType::kSymlink;
  return FileType::kOther;
}

FileStat to_file_stat(const struct stat& status) {
  constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
  return FileStat{
      .id = {status.st_dev, status.st_ino},
      .type = type_of(status.st_mode),
      .size_bytes = static_cast<std::uint64_t>(status.st_size),
      .modified_ns = status.st_mtim.tv_sec * kNanosecondsPerSecond + status.st_mtim.tv_nsec,
      .links = status.st_nlink,
      .mode = status.st_mode & 07777,
  };
}

struct OpenFile {
  UniqueFd fd;
  FileStat stat;
};

Result<OpenFile> open_file(std::string_view operation, Entry file, int flags) {
  STRATA_ASSIGN_OR_RETURN(const At place, at(operation, file));
  UniqueFd fd(retry_interrupted(
      [&] { return ::openat(place.fd, place.name.c_str(), flags | kFileFlags, kFileMode); }));
  if (!fd.valid()) return failed(errno, operation, file);
  struct stat status{};
  if (::fstat(fd.get(), &status) == -1) return failed(errno, operation, file);
  if (!S_ISREG(status.st_mode)) {
    return failed(S_ISDIR(status.st_mode) ? EISDIR : EINVAL, operation, file);
  }
  return OpenFile{std::move(fd), to_file_stat(status)};
}

/// 0, or the errno that ended it.
int write_all(int fd, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = retry_interrupted(
        [&] { return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (written == -1) return errno;
    if (written == 0) return EIO;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

/// 0, or the errno of close: some file systems report a failed write only there.
int close_written(UniqueFd fd) { return ::close(fd.release()) == 0 ? 0 : errno; }

int write_and_close(UniqueFd fd, std::uint64_t offset, std::string_view bytes) {
  const int write_error = write_all(fd.get(), offset, bytes);
  const int close_error = close_written(std::move(fd));
  return write_error != 0 ? write_error : close_error;
}

Result<std::string> read_exactly(std::string_view operation, Entry file, int fd,
                                 std::uint64_t offset, std::uint64_t size) {
  std::string bytes(size, '\0');
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t got = retry_interrupted([&] {
      return ::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    });
    if (got == -1) return failed(errno, operation, file);
    if (got == 0) return failed(ENODATA, operation, file);
    done += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

/// Whether the bytes lie inside a file of `file_size`, without overflow.
bool inside(std::uint64_t offset, std::uint64_t size, std::uint64_t file_size) {
  return offset <= file_size && size <= file_size - offset;
}

/// Nothing when the name vanished meanwhile.
std::optional<FileType> type_of_listed(int directory_fd, const dirent& entry) {
  switch (entry.d_type) {
    case DT_REG:
      return FileType::kFile;
    case DT_DIR:
      return FileType::kDirectory;
    case DT_LNK:
      return FileType::kSymlink;
    case DT_UNKNOWN:
      break;
    default:
      return FileType::kOther;
  }
  struct stat status{};
  if (::fstatat(directory_fd, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == -1) {
    return errno == ENOENT ? std::nullopt : std::optional(FileType::kOther);
  }
  return type_of(status.st_mode);
}

class PosixFileSystem final : public FileSystem {
 public:
  explicit PosixFileSystem(const PosixOptions& options)
      : on_failed_directory_sync_(options.on_failed_directory_sync),
        rename_flags_(options.rename_flags) {}

  Result<std::unique_ptr<Directory>> open_directory(const std::string& path) override {
    UniqueFd fd(retry_interrupted([&] { return ::open(path.c_str(), kDirectoryFlags); }));
    if (!fd.valid()) return failed(errno, "open_directory", path);
    return std::make_unique<PosixDirectory>(std::move(fd), path);
  }

  Result<std::unique_ptr<Directory>> open_directory_at(Entry directory) override {
    STRATA_ASSIGN_OR_RETURN(const At place, at("open_directory_at", directory));
    UniqueFd fd(retry_interrupted(
        [&] { return ::openat(place.fd, place.name.c_str(), kDirectoryFlags | O_NOFOLLOW); }));
    if (!fd.valid()) return failed(errno, "open_directory_at", directory);
    return std::make_unique<PosixDirectory>(std::move(fd),
                                            join_path(directory.directory.path(), place.name));
  }

  Result<void> make_directory(Entry directory) override {
    STRATA_ASSIGN_OR_RETURN(const At place, at("make_directory", directory));
    if (::mkdirat(place.fd, place.name.c_str(), kDirectoryMode) == -1) {
      return failed(errno, "make_directory", directory);
    }
    return {};
  }

  Result<void> remove_directory(Entry directory) override {
    STRATA_ASSIGN_OR_RETURN(const At place, at("remove_directory", directory));
    if (::unlinkat(place.fd, place.name.c_str(), AT_REMOVEDIR) == -1) {
      return failed(errno, "remove_directory", directory);
    }
    return {};
  }

  Result<std::vector<DirEntry>> list(const Directory& directory) override {
    // A descriptor of its own has a read position of its own: two threads may list one handle.
    UniqueFd fd(
        retry_interrupted([&] { return ::openat(fd_of(directory), ".", kDirectoryFlags); }));
    if (!fd.valid()) return failed(errno, "list", directory.path());
    const std::unique_ptr<DIR, CloseDir> stream(::fdopendir(fd.get()));
    if (stream == nullptr) return failed(errno, "list", directory.path());
    const int stream_fd = fd.release();  // closedir closes it

    std::vector<DirEntry> entries;
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(stream.get());
      if (entry == nullptr && errno != 0) return failed(errno, "list", directory.path());
      if (entry == nullptr) return entries;
      std::string name(entry->d_name);
      if (name == "." || name == "..") continue;
      const std::optional<FileType> type = type_of_listed(stream_fd, *entry);
      if (type) entries.push_back({std::move(name), *type});
    }
  }

  Result<FileStat> stat(Entry entry) override {
    STRATA_ASSIGN_OR_RETURN(const At place, at("stat", entry));
    struct stat status{};
    if (::fstatat(place.fd, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == -1) {
      return failed(errno, "stat", entry);
    }
    return to_file_stat(status);
  }

  Result<FileStat> stat_path(const std::string& path) override {
    struct stat status{};
    if (::stat(path.c_str(), &status) == -1) return failed(errno, "stat_path", path);
    return to_file_stat(status);
  }

  Result<FileStat> stat_handle(const Directory& directory) override {
    struct stat status{};
    if (::fstat(fd_of(directory), &status) == -1) {
      return failed(errno, "stat_handle", directory.path());
    }
    return to_file_stat(status);
  }

  Result<void> write_new(Entry file, std::string_view bytes) override {
    STRATA_ASSIGN_OR_RETURN(OpenFile opened,
                            open_file("write_new", file, O_WRONLY | O_CREAT | O_EXCL));
    const int error = write_and_close(std::move(opened.fd), 0, bytes);
    if (error == 0) return {};
    // O_EXCL made this name ours; half a file helps nobody, least of all on a full disk.
    ignore(unlink(file), "best effort: the write's own error is what the caller needs");
    return failed(error, "write_new", file);
  }

  Result<void> patch(Entry file, std::uint64_t offset, std::string_view bytes) override {
    STRATA_ASSIGN_OR_RETURN(OpenFile opened, open_file("patch", file, O_WRONLY));
    if (!inside(offset, bytes.size(), opened.stat.size_bytes)) {
      return failed(EINVAL, "patch", file);
    }
    const int error = write_and_close(std::move(opened.fd), offset, bytes);
    if (error != 0) return failed(error, "patch", file);
    return {};
  }

  Result<std::string> read(Entry file, std::uint64_t bytes_max) override {
    STRATA_ASSIGN_OR_RETURN(const OpenFile opened, open_file("read", file, O_RDONLY));
    if (opened.stat.size_bytes > bytes_max) return failed(EFBIG, "read", file);
    return read_exactly("read", file, opened.fd.get(), 0, opened.stat.size_bytes);
  }

  Result<std::string> read_range(Entry file, std::uint64_t offset, std::uint64_t size) override {
    STRATA_ASSIGN_OR_RETURN(const OpenFile opened, open_file("read_range", file, O_RDONLY));
    // Before the allocation: offset and size may come out of a damaged file.
    if (!inside(offset, size, opened.stat.size_bytes)) return failed(ENODATA, "read_range", file);
    return read_exactly("read_range", file, opened.fd.get(), offset, size);
  }

  Result<void> set_mode(Entry file, mode_t mode) override {
    STRATA_ASSIGN_OR_RETURN(const OpenFile opened, open_file("set_mode", file, O_RDONLY));
    if (::fchmod(opened.fd.get(), mode) == -1) return failed(errno, "set_mode", file);
    return {};
  }

  Result<void> sync_file(Entry file) override {
    STRATA_ASSIGN_OR_RETURN(const OpenFile opened, open_file("sync_file", file, O_RDONLY));
    if (::fsync(opened.fd.get()) == -1) return failed(errno, "sync_file", file);
    return {};
  }

  WrittenFile write_new_synced(Entry file, std::string_view bytes,
                               const std::function<void()>& on_written) override {
    Result<At> place = at("write_new", file);
    if (!place) return {.written = std::move(place).error(), .synced = {}};
    UniqueFd fd(retry_interrupted([&] {
      return ::openat(place->fd, place->name.c_str(), O_WRONLY | O_CREAT | O_EXCL | kFileFlags,
                      kFileMode);
    }));
    if (!fd.valid()) return {.written = failed(errno, "write_new", file), .synced = {}};
    if (const int error = write_all(fd.get(), 0, bytes); error != 0) {
      ignore(unlink(file), "best effort: the write's own error is what the caller needs");
      return {.written = failed(error, "write_new", file), .synced = {}};
    }
    on_written();
    if (::fsync(fd.get()) == -1) return {.written = {}, .synced = failed(errno, "sync_file", file)};
    const int error = close_written(std::move(fd));
    if (error != 0) return {.written = {}, .synced = failed(error, "sync_file", file)};
    return {};
  }

  Result<void> sync_directory(const Directory& directory) override {
    if (::fsync(fd_of(directory)) == 0) return {};
    const int error = errno;
    on_failed_directory_sync_();
    return failed(error, "sync_directory", directory.path());
  }

  Result<void> link(Entry from, Entry to) override {
    STRATA_ASSIGN_OR_RETURN(const At source, at("link", from));
    STRATA_ASSIGN_OR_RETURN(const At target, at("link", to));
    if (::linkat(source.fd, source.name.c_str(), target.fd, target.name.c_str(), 0) == -1) {
      return failed(errno, "link", from, to);
    }
    return {};
  }

  Result<void> rename_no_replace(Entry from, Entry to) override {
    STRATA_ASSIGN_OR_RETURN(const At source, at("rename_no_replace", from));
    STRATA_ASSIGN_OR_RETURN(const At target, at("rename_no_replace", to));
    if (rename_flags_.load(std::memory_order_relaxed)) {
      if (::renameat2(source.fd, source.name.c_str(), target.fd, target.name.c_str(),
                      RENAME_NOREPLACE) == 0) {
        return {};
      }
      if (errno != EINVAL && errno != ENOSYS) return failed(errno, "rename_no_replace", from, to);
    }
    if (::linkat(source.fd, source.name.c_str(), target.fd, target.name.c_str(), 0) == -1) {
      return failed(errno, "rename_no_replace", from, to);
    }
    // Only now is it known that EINVAL spoke of the flag: it is also the answer to moving a folder
    // into itself, and a folder cannot be linked.
    rename_flags_.store(false, std::memory_order_relaxed);
    // ENOENT: somebody finished this rename for us; the new name stands.
    if (::unlinkat(source.fd, source.name.c_str(), 0) == -1 && errno != ENOENT) {
      return failed(errno, "rename_no_replace", from, to);
    }
    return {};
  }

  Result<void> rename_replace(Entry from, Entry to) override {
    STRATA_ASSIGN_OR_RETURN(const At source, at("rename_replace", from));
    STRATA_ASSIGN_OR_RETURN(const At target, at("rename_replace", to));
    if (::renameat(source.fd, source.name.c_str(), target.fd, target.name.c_str()) == -1) {
      return failed(errno, "rename_replace", from, to);
    }
    return {};
  }

  Result<void> rename_exchange(Entry from, Entry to) override {
    STRATA_ASSIGN_OR_RETURN(const At source, at("rename_exchange", from));
    STRATA_ASSIGN_OR_RETURN(const At target, at("rename_exchange", to));
    if (!rename_flags_.load(std::memory_order_relaxed)) {
      return failed(EINVAL, "rename_exchange", from, to);
    }
    if (::renameat2(source.fd, source.name.c_str(), target.fd, target.name.c_str(),
                    RENAME_EXCHANGE) == -1) {
      return failed(errno, "rename_exchange", from, to);
    }
    return {};
  }

  Result<void> unlink(Entry file) override {
    STRATA_ASSIGN_OR_RETURN(const At place, at("unlink", file));
    if (::unlinkat(place.fd, place.name.c_str(), 0) == -1) return failed(errno, "unlink", file);
    return {};
  }

  Result<void> symlink(const std::string& target, Entry link) override {
    STRATA_ASSIGN_OR_RETURN(const At place, at("symlink", link));
    if (::symlinkat(target.c_str(), place.fd, place.name.c_str()) == -1) {
      return failed(errno, "symlink", link);
    }
    return {};
  }

  Result<std::string> read_link(Entry link) override {
    STRATA_ASSIGN_OR_RETURN(const At place, at("read_link", link));
    std::string target(PATH_MAX, '\0');  // Linux makes no longer one
    const ssize_t size = ::readlinkat(place.fd, place.name.c_str(), target.data(), target.size());
    if (size == -1) return failed(errno, "read_link", link);
    target.resize(static_cast<std::size_t>(size));
    return target;
  }

  Result<std::unique_ptr<FileLock>> try_lock(Entry file) override {
    STRATA_ASSIGN_OR_RETURN(OpenFile opened, open_file("try_lock", file, O_RDWR | O_CREAT));
    struct flock whole_file{};
    whole_file.l_type = F_WRLCK;
    whole_file.l_whence = SEEK_SET;
    const int locked =
        retry_interrupted([&] { return ::fcntl(opened.fd.get(), F_OFD_SETLK, &whole_file); });
    if (locked == -1) return failed(errno == EACCES ? EAGAIN : errno, "try_lock", file);
    // Its last holder may have unlinked the file after we opened it, and a lock on a file without
    // its name excludes nobody.
    const Result<FileStat> named = stat(file);
    if (!named && named.error().code != Code::kNotFound) return named.error();
    if (!named || named->id != opened.stat.id) return failed(EAGAIN, "try_lock", file);
    return std::make_unique<PosixFileLock>(std::move(opened.fd));
  }

  Result<bool> is_held_for_writing(Entry file) override {
    STRATA_ASSIGN_OR_RETURN(OpenFile opened, open_file("is_held_for_writing", file, O_RDONLY));
    struct flock shared{};
    shared.l_type = F_RDLCK;
    shared.l_whence = SEEK_SET;
    if (::fcntl(opened.fd.get(), F_OFD_GETLK, &shared) == -1) {
      return failed(errno, "is_held_for_writing", file);
    }
    return shared.l_type != F_UNLCK;
  }

  Result<DiskSpace> disk_space(const Directory& directory) override {
    struct statvfs status{};
    const int result = retry_interrupted([&] { return ::fstatvfs(fd_of(directory), &status); });
    if (result == -1) return failed(errno, "disk_space", directory.path());
    const std::uint64_t kept_from_us = status.f_bfree - status.f_bavail;
    return DiskSpace{.free_bytes = status.f_bavail * status.f_frsize,
                     .total_bytes = (status.f_blocks - kept_from_us) * status.f_frsize};
  }

 private:
  const std::function<void()> on_failed_directory_sync_;
  std::atomic<bool> rename_flags_;  // false once renameat2 turned out not to know its flags
};

}  // namespace

std::unique_ptr<FileSystem> make_posix_file_system(const PosixOptions& options) {
  return std::make_unique<PosixFileSystem>(options);
}

}  // namespace strata::io
