#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/file_system.h"
#include "stream/stream.h"

namespace strata::stream {

struct ColumnProfile {
  static constexpr std::size_t kSamplesMax = 5;

  std::string name;
  std::uint64_t filled = 0;  // cells that are not NULL
  /// Different values of it: the smallest and largest of files, the oldest files first.
  std::vector<std::string> samples;
  /// The oldest batch with a cell of it. Nothing: none has, or the files that were not read might.
  std::optional<std::string> first_batch;
};

struct StreamProfile {
  std::vector<ColumnProfile> columns;  // in registry order
  std::uint64_t rows = 0;              // of the files that were read
  std::uint64_t files = 0;             // batches there are
  std::uint64_t files_read = 0;
  bool complete() const { return files == files_read; }
};

/// What the footers of a stream's files say of its columns: no value is read, no SQL is run. Of a
/// stream with more than kProfileFilesMax files the oldest and the newest half of as many are read.
Result<StreamProfile> profile_columns(io::FileSystem& fs, Stream& stream);

inline constexpr std::size_t kProfileFilesMax = 2'000;
/// A longer sample is cut there.
inline constexpr std::size_t kSampleBytesMax = 200;

}  // namespace strata::stream
