// recfs IMAGE LOG MOUNTPOINT [FAULTS]: a file system with one file, `disk`, which holds the bytes
// of IMAGE and appends every write and every flush to LOG before it answers. Under a loop device it
// is a disk whose power can be cut at any place of the log (power_cut.cpp). Where LOG is `-` there
// is none, and IMAGE itself is written. One thread, in the foreground, until it is unmounted.
//
// FAULTS is a file, of which each byte makes one write fail and is used up, from the end: `f` the
// next write of the beginning of a Parquet file, `a` the next write of anything or flush.
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
  int faults = -1;
};
Disk disk;

constexpr std::size_t kBlockBytes = 4096;
constexpr std::string_view kParquetMagic = "PAR1";

bool begins_a_parquet_file(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kBlockBytes) {
    if (bytes.substr(at).starts_with(kParquetMagic)) return true;
  }
  return false;
}

/// Whether the write of `bytes`, or a flush where there are none, is one that fails.
bool takes_a_fault(std::string_view bytes) {
  struct stat stat{};
  char kind = 0;
  if (disk.faults < 0 || ::fstat(disk.faults, &stat) != 0 || stat.st_size == 0) return false;
  if (::pread(disk.faults, &kind, 1, stat.st_size - 1) != 1) return false;
  if (kind == 'f' && !begins_a_parquet_file(bytes)) return false;
  return ::ftruncate(disk.faults, stat.st_size - 1) == 0;
}

/// One write, so that the log never ends in half a record that was acknowledged.
bool append(const Record& record, const char* bytes) {
  if (disk.log < 0) return true;
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
  if (takes_a_fault({from, size})) return -EIO;
  const Record record{.kind = RecordKind::kWrite,
                      .size = static_cast<std::uint32_t>(size),
                      .offset = static_cast<std::uint64_t>(offset)};
  if (!append(record, from)) return -EIO;
  std::memcpy(disk.bytes + at, from, size);
  return static_cast<int>(size);
}

int flush_disk(const char*, int, fuse_file_info*) {
  if (takes_a_fault({})) return -EIO;
  return append({.kind = RecordKind::kFlush, .size = 0, .offset = 0}, nullptr) ? 0 : -EIO;
}

int fail(const char* what) {
  std::perror(what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: recfs IMAGE LOG MOUNTPOINT [FAULTS]\n");
    return 2;
  }
  const int image = ::open(argv[1], O_RDWR | O_CLOEXEC);
  struct stat stat{};
  if (image < 0 || ::fstat(image, &stat) != 0) return fail(argv[1]);
  disk.size = static_cast<std::size_t>(stat.st_size);
  const bool logs = std::string_view(argv[2]) != "-";
  void* mapped =
      ::mmap(nullptr, disk.size, PROT_READ | PROT_WRITE, logs ? MAP_PRIVATE : MAP_SHARED, image, 0);
  if (mapped == MAP_FAILED) return fail(argv[1]);
  disk.bytes = static_cast<char*>(mapped);
  if (logs) disk.log = ::open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (logs && disk.log < 0) return fail(argv[2]);
  if (argc == 5) disk.faults = ::open(argv[4], O_RDWR | O_CLOEXEC);
  if (argc == 5 && disk.faults < 0) return fail(argv[4]);
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
