// recfs IMAGE LOG MOUNTPOINT: a file system with one file, `disk`, which holds the bytes of IMAGE
// and appends every write and every flush to LOG before it answers. Under a loop device it is a
// disk whose power can be cut at any place of the log (power_cut.cpp). One thread, in the
// foreground, until it is unmounted.
#define FUSE_USE_VERSION 31
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "record.h"

namespace {

using strata::crash::Record;
using strata::crash::RecordKind;

constexpr std::string_view kFile = "/disk";

struct Disk {
  char* bytes = nullptr;
  std::size_t size = 0;
  int log = -1;
};
Disk disk;

/// One write, so that the log never ends in half a record that was acknowledged.
bool append(const Record& record, const char* bytes) {
  const std::array<iovec, 2> parts{
      {{const_cast<Record*>(&record), sizeof(record)}, {const_cast<char*>(bytes), record.size}}};
  const auto wanted = static_cast<ssize_t>(sizeof(record) + record.size);
  return ::writev(disk.log, parts.data(), record.size == 0 ? 1 : 2) == wanted;
}

int get_attributes(const char* path, struct stat* stat, fuse_file_info*) {
  *stat = {};
  if (std::string_view(path) == "/") {
    stat->st_mode = S_IFDIR | 0700;
    stat->st_nlink = 2;
    return 0;
  }
  if (path != kFile) return -ENOENT;
  stat->st_mode = S_IFREG | 0600;
  stat->st_nlink = 1;
  stat->st_size = static_cast<off_t>(disk.size);
  return 0;
}

int open_file(const char* path, fuse_file_info*) { return path == kFile ? 0 : -ENOENT; }

int read_bytes(const char*, char* to, std::size_t size, off_t offset, fuse_file_info*) {
  const auto from = std::min(static_cast<std::size_t>(offset), disk.size);
  const std::size_t count = std::min(size, disk.size - from);
  std::memcpy(to, disk.bytes + from, count);
  return static_cast<int>(count);
}

int write_bytes(const char*, const char* from, std::size_t size, off_t offset, fuse_file_info*) {
  const auto at = static_cast<std::size_t>(offset);
  if (at > disk.size || size > disk.size - at) return -ENOSPC;
  const Record record{.kind = RecordKind::kWrite,
                      .size = static_cast<std::uint32_t>(size),
                      .offset = static_cast<std::uint64_t>(offset)};
  if (!append(record, from)) return -EIO;
  std::memcpy(disk.bytes + at, from, size);
  return static_cast<int>(size);
}

int flush_disk(const char*, int, fuse_file_info*) {
  return append({.kind = RecordKind::kFlush, .size = 0, .offset = 0}, nullptr) ? 0 : -EIO;
}

int fail(const char* what) {
  std::perror(what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: recfs IMAGE LOG MOUNTPOINT\n");
    return 2;
  }
  const int image = ::open(argv[1], O_RDWR | O_CLOEXEC);
  struct stat stat{};
  if (image < 0 || ::fstat(image, &stat) != 0) return fail(argv[1]);
  disk.size = static_cast<std::size_t>(stat.st_size);
  void* mapped = ::mmap(nullptr, disk.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, image, 0);
  if (mapped == MAP_FAILED) return fail(argv[1]);
  disk.bytes = static_cast<char*>(mapped);
  disk.log = ::open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (disk.log < 0) return fail(argv[2]);
  fuse_operations operations{};
  operations.getattr = get_attributes;
  operations.open = open_file;
  operations.read = read_bytes;
  operations.write = write_bytes;
  operations.fsync = flush_disk;
  std::array<char*, 5> arguments{argv[0], argv[3], const_cast<char*>("-f"), const_cast<char*>("-s"),
                                 nullptr};
  return fuse_main(4, arguments.data(), &operations, nullptr);
}
