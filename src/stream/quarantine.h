#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/file_system.h"

namespace strata::stream {

/// Moves names of one stream into `<stream>/quarantine/`. Nothing is ever removed or replaced
/// there. Not thread-safe; several processes may work on one folder.
class Quarantine {
 public:
  /// `stream` is the stream's folder and outlives this.
  Quarantine(io::FileSystem& fs, const io::Directory& stream) : fs_(fs), stream_(stream) {}

  /// Moves `from` under `name`, or under `<name>.2` and so on where that is taken, and answers
  /// where it is now, relative to the stream's folder. Durable when it returns. kNotFound: it is
  /// not there any more; kConflict: what stands there is not `expected`, and it stays.
  Result<std::string> take(io::Entry from, const io::FileId& expected, std::string_view name);

  /// Puts the file `good` in the place of `bad`, which is moved here, in one step. Durable when it
  /// returns.
  Result<std::string> replace(io::Entry bad, io::Entry good, std::string_view name);

 private:
  Result<void> open();
  Result<void> give_back_other(io::Entry from, const io::FileId& expected,
                               const std::string& target);

  io::FileSystem& fs_;
  const io::Directory& stream_;
  std::unique_ptr<io::Directory> folder_;
};

}  // namespace strata::stream
