#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/file_system.h"
#include "io/publish.h"
#include "ndjson/parse.h"

namespace strata::stream {

/// The lines that are to blame, as `failed/<name>.err` and the answer's body show them:
/// `[{"line","column"?,"reason"}]`.
boost::json::array reasons_json(const ndjson::Rejection& rejection);

/// `failed/`: the bodies of rejected batches and why, for whoever has to mend them. Best effort,
/// never synced, capped (kFailedBytesMax, kFailedCountMax): the oldest goes first. A rejected id is
/// not consumed. Thread-safe; several processes may share the folder.
class Rejects {
 public:
  static Result<std::unique_ptr<Rejects>> open(io::FileSystem& fs, io::Publisher& publisher);

  struct Reject {
    std::string name;  // the batch id, or a generated one
    std::string_view body;
    std::string reason_json;
  };
  /// A second rejection under the same name replaces the first.
  Result<void> keep(const Reject& reject);

  struct Kept {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t dropped = 0;  // by the cap, in this process
  };
  /// Looks at the folder again only when it changed.
  Kept kept();

  Rejects(io::FileSystem& fs, io::Publisher& publisher, std::unique_ptr<io::Directory> folder);

 private:
  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
  };
  Result<void> refresh();
  Result<void> put(const std::string& name, std::string_view bytes);
  void drop_oldest();

  io::FileSystem& fs_;
  io::Publisher& publisher_;
  const std::unique_ptr<io::Directory> folder_;
  std::mutex mutex_;
  std::deque<File> files_;  // bodies, oldest first
  std::uint64_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t folder_modified_ns_ = -1;
};

}  // namespace strata::stream
