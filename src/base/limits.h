#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// Every limit of the product, named, with its unit. Source: architecture.md "Settled" and
/// interface.md unless a line says otherwise.
namespace strata::limits {

// Records and columns.
inline constexpr std::uint64_t kBodyBytesDefault = 1'048'576;  // after inflation
inline constexpr std::uint64_t kBodyBytesCeiling = 64ULL * 1024 * 1024;
inline constexpr std::size_t kNestingDepthMax = 64;
inline constexpr std::size_t kColumnsPerStreamMax = 1024;
inline constexpr std::size_t kColumnNameBytesMax = 255;
inline constexpr std::size_t kErrorsReportedMax = 100;
/// Rows times columns of one batch. A body of `{}` lines under a thousand columns is tiny and would
/// hold the encoder for minutes (docs/adr/0003).
inline constexpr std::uint64_t kCellsPerBatchMax = 1ULL << 29U;

// Rejected batches kept in failed/, per stream.
inline constexpr std::uint64_t kFailedBytesMax = 64ULL * 1024 * 1024;
inline constexpr std::size_t kFailedCountMax = 1000;

// HTTP.
inline constexpr std::size_t kRequestTargetBytesMax = 8 * 1024;
inline constexpr std::size_t kHeaderBytesMax = 16 * 1024;
inline constexpr std::size_t kControlBodyBytesMax = 1024 * 1024;
inline constexpr std::size_t kConnectionsMax = 1024;
/// Of all request bodies that are being read, wait or are worked on. At least one of the largest
/// fits; what passes it is a 503, so that a slow disk does not fill the memory.
inline constexpr std::uint64_t kBodyBytesHeldMax = 128ULL * 1024 * 1024;
inline constexpr int kEventSubscribersMax = 64;
inline constexpr std::chrono::seconds kHeaderDeadline{10};
inline constexpr std::chrono::seconds kBodyDeadline{30};
inline constexpr std::chrono::seconds kIdleDeadline{60};
inline constexpr std::chrono::seconds kWriteDeadline{30};
inline constexpr std::chrono::seconds kStopDeadline{10};

// Queries.
inline constexpr std::size_t kSqlBytesMax = 20 * 1024;  // duckdb-facts.md J4
inline constexpr std::uint64_t kQueryRowsDefault = 10'000;
inline constexpr std::uint64_t kQueryRowsCeiling = 1'000'000;
inline constexpr std::chrono::milliseconds kQueryTimeoutDefault{10'000};
inline constexpr std::chrono::milliseconds kQueryTimeoutCeiling{60'000};

// Start.
/// Files of ended processes, of all streams, that are counted anew before the first request; the
/// rest is counted after it, so that a start does not wait for many files.
inline constexpr std::size_t kFilesCountedAtStart = 5'000;

// Landing.
inline constexpr std::chrono::milliseconds kFirstViewWait{2'000};
/// Free space below which no batch is taken: io/disk_space.h says how much it is of which disk.
inline constexpr std::uint64_t kFreeBytesReserveMin = 64ULL * 1024 * 1024;
inline constexpr std::uint64_t kFreeBytesReserveMax = 1024ULL * 1024 * 1024;

}  // namespace strata::limits
