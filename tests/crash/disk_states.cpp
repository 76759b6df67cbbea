#include "disk_states.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"

namespace strata::crash {
namespace {

constexpr std::size_t kBlockBytes = 4096;

/// Copies what is no hole.
bool copy_sparse(const std::string& from, const std::string& to) {
  const UniqueFd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd target(::open(to.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (source.get() < 0 || target.get() < 0) return false;
  const off_t size = ::lseek(source.get(), 0, SEEK_END);
  if (size < 0 || ::ftruncate(target.get(), size) != 0) return false;
  off_t begin = ::lseek(source.get(), 0, SEEK_DATA);
  while (begin >= 0) {
    const off_t end = ::lseek(source.get(), begin, SEEK_HOLE);
    if (end < 0) return false;
    off_t in = begin;
    off_t out = begin;
    while (in < end) {
      const auto rest = static_cast<std::size_t>(end - in);
      if (::copy_file_range(source.get(), &in, target.get(), &out, rest, 0) <= 0) return false;
    }
    begin = ::lseek(source.get(), end, SEEK_DATA);
  }
  return true;
}

}  // namespace

std::string_view survivors_name(Survivors survivors) {
  switch (survivors) {
    case Survivors::kNone:
      return "none";
    case Survivors::kAll:
      return "all";
    case Survivors::kHalf:
      return "half";
    case Survivors::kTorn:
      return "torn";
  }
  return "";
}

bool DiskStates::open(const std::string& log, const std::string& image) {
  std::ifstream in(log, std::ios::binary);
  log_.assign(std::istreambuf_iterator<char>(in), {});
  image_ = image;
  return static_cast<bool>(in) && !log_.empty();
}

Record DiskStates::record_at(std::size_t at) const {
  Record record;
  std::memcpy(&record, log_.data() + at, sizeof(record));
  return record;
}

bool DiskStates::apply(int file, std::size_t at, std::size_t skip, std::size_t size) const {
  const Record record = record_at(at);
  const char* bytes = log_.data() + at + sizeof(Record) + skip;
  const auto offset = static_cast<off_t>(record.offset + skip);
  return ::pwrite(file, bytes, size, offset) == static_cast<ssize_t>(size);
}

bool DiskStates::apply_some(int file, std::size_t at, Survivors survivors,
                            std::mt19937_64& random) const {
  const std::size_t size = record_at(at).size;
  if (survivors == Survivors::kNone) return true;
  if (survivors == Survivors::kAll) return apply(file, at, 0, size);
  if (random() % 2 == 0) return true;
  if (survivors == Survivors::kHalf) return apply(file, at, 0, size);
  for (std::size_t skip = 0; skip < size; skip += kBlockBytes) {
    const std::size_t part = std::min(kBlockBytes, size - skip);
    if (random() % 2 == 0 && !apply(file, at, skip, part)) return false;
  }
  return true;
}

bool DiskStates::settle(std::uint64_t position) {
  const UniqueFd file(::open(image_.c_str(), O_WRONLY | O_CLOEXEC));
  while (next_ + sizeof(Record) <= log_.size()) {
    const Record record = record_at(next_);
    const std::size_t end = next_ + sizeof(Record) + record.size;
    if (end > position || end > log_.size()) break;
    if (record.kind == RecordKind::kWrite) {
      unflushed_.push_back(next_);
    } else {
      for (const std::size_t at : unflushed_) {
        if (!apply(file.get(), at, 0, record_at(at).size)) return false;
      }
      unflushed_.clear();
    }
    next_ = end;
  }
  return true;
}

bool DiskStates::make(const Cut& cut, std::mt19937_64& random, const std::string& to) {
  if (!settle(cut.position) || !copy_sparse(image_, to)) return false;
  const UniqueFd file(::open(to.c_str(), O_WRONLY | O_CLOEXEC));
  return std::ranges::all_of(unflushed_, [&](std::size_t at) {
    return apply_some(file.get(), at, cut.survivors, random);
  });
}

}  // namespace strata::crash
