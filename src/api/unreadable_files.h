#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "io/file_system.h"
#include "stream/stream.h"

namespace strata::api {

/// The file of each stream that a query last failed to read, for whoever looks at the receiver.
/// What this process saw, not a search: `strata verify` is that. Thread-safe.
class UnreadableFiles {
 public:
  /// `failure` ended a query; notes the file if its detail names one of `stream`.
  void note(const Error& failure, stream::Stream& stream, io::FileSystem& fs);
  /// The file, relative to the stream's folder, for as long as it stands there unchanged.
  std::optional<std::string> of(stream::Stream& stream, io::FileSystem& fs);

 private:
  struct Seen {
    std::string path;  // below `data/`
    io::FileStat stat;
  };

  std::mutex mutex_;
  std::map<const stream::Stream*, Seen> seen_;  // guarded by mutex_
};

}  // namespace strata::api
