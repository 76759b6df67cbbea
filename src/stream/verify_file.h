#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/batch_facts.h"
#include "io/file_system.h"

namespace strata::stream {

/// What one file is, by its own bytes alone.
struct FileVerdict {
  enum class State : std::uint8_t {
    kHealthy,     // the batch its name says, every byte of it
    kGone,        // not there any more
    kDamaged,     // not what was written
    kForeign,     // a whole file, but not of this batch
    kUnreadable,  // the disk did not give it
  };
  State state = State::kHealthy;
  std::string reason;  // in words; empty when healthy or gone
  io::FileId id;
  std::uint64_t bytes = 0;
  /// As far as the footer could be read.
  std::optional<io::BatchFacts> facts;
  std::vector<std::string> columns;
  std::string stream;  // that it was landed in
};

/// Reads the whole file, in pieces, and compares it with what it says of itself. `file` is a
/// regular file. Errors: kBusy and the like, which say nothing about the file.
Result<FileVerdict> judge_file(io::FileSystem& fs, io::Entry file, const std::string& batch_id);

}  // namespace strata::stream
