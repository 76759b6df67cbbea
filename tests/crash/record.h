#pragma once

#include <cstdint>

namespace strata::crash {

enum class RecordKind : std::uint32_t { kWrite = 1, kFlush = 2 };

/// What recfs logs, in the machine's own byte order; a write's bytes follow it.
struct Record {
  RecordKind kind = RecordKind::kWrite;
  std::uint32_t size = 0;    // of the bytes that follow
  std::uint64_t offset = 0;  // where in the disk they go
};
static_assert(sizeof(Record) == 16);

}  // namespace strata::crash
