#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "record.h"

namespace strata::crash {

/// Which of the writes that no flush covered survive the cut.
enum class Survivors : std::uint8_t { kNone, kAll, kHalf, kTorn };
std::string_view survivors_name(Survivors survivors);

struct Cut {
  std::uint64_t position = 0;  // in the log's bytes: what lies behind was never issued
  Survivors survivors = Survivors::kNone;
};

/// The disks that a power cut may have left, out of what recfs logged.
class DiskStates {
 public:
  /// Takes over `image`, the disk before the first write: it is moved forward from cut to cut.
  /// False: a file could not be read.
  bool open(const std::string& log, const std::string& image);
  std::uint64_t log_size() const { return log_.size(); }

  /// Makes the disk of `cut` in the new file `to`. Cuts come in ascending order. A torn write
  /// keeps some of its 4 KiB blocks. False: a file could not be written.
  bool make(const Cut& cut, std::mt19937_64& random, const std::string& to);

 private:
  Record record_at(std::size_t at) const;
  bool apply(int file, std::size_t at, std::size_t skip, std::size_t size) const;
  bool apply_some(int file, std::size_t at, Survivors survivors, std::mt19937_64& random) const;
  /// Applies every write up to the last flush before `position`; what came after it is unflushed_.
  bool settle(std::uint64_t position);

  std::string log_;
  std::string image_;
  std::size_t next_ = 0;  // the first record not looked at
  std::vector<std::size_t> unflushed_;
};

}  // namespace strata::crash
