#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "io/file_system.h"
#include "io/publish.h"
#include "ndjson/parse.h"

namespace strata::stream {

/// The lines that are to blame, as `failed/<name>.err` and the answer's body show them:
/// `[{"line","column"?,"reason"}]`.
boost::json::array reasons_json(const ndjson::Rejection& rejection);

/// `failed/`: the bodies of rejected batches and why, for whoever has to mend them. Best effort,
/// never synced, capped (kFailedBytesMax for bodies and reasons together, kFailedCountMax): the
/// oldest goes first and is counted. A rejected id is not consumed. Thread-safe; several processes
/// may share the folder, each of which keeps to the cap as it sees it, a second behind the others.
class Rejects {
 public:
  static Result<std::unique_ptr<Rejects>> open(io::FileSystem& fs, const Clock& clock,
                                               io::Publisher& publisher);

  struct Reject {
    std::string name;  // the batch id, or a generated one
    std::string_view body;
    std::string reason_json;
  };
  /// A second rejection under the same name replaces the first. One that alone is beyond the cap is
  /// not kept, but counted as dropped.
  Result<void> keep(const Reject& reject);

  struct Kept {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;    // bodies and reasons
    std::uint64_t dropped = 0;  // by the cap, ever; two processes that drop at once may miss some
  };
  /// Looks at the folder again only when it changed.
  Kept kept();

  /// One that is kept.
  struct Entry {
    std::string name;
    std::uint64_t body_bytes = 0;
    WallTime kept_at{};
    std::string reason_json;  // as it was kept; empty: it went missing
  };
  struct Page {
    std::vector<Entry> entries;       // newest first
    std::optional<std::string> next;  // `before` of the next page; nothing: that was the last
  };
  /// `before`: only those older than that one. kNotFound: it is not kept (any more).
  Result<Page> page(std::size_t limit, const std::optional<BatchId>& before);
  /// kNotFound: none is kept under this name.
  Result<Entry> find(const BatchId& name);
  /// kNotFound: none is kept under this name.
  Result<void> remove(const BatchId& name);

  /// The body of a reject in pieces. Borrows the Rejects.
  class Body {
   public:
    /// Empty: that was all. kConflict: another rejection replaced it meanwhile.
    Result<std::string> next();

   private:
    friend class Rejects;
    Body(Rejects& rejects, std::string file, io::FileStat stat)
        : rejects_(rejects), file_(std::move(file)), stat_(stat) {}
    Rejects& rejects_;
    std::string file_;
    io::FileStat stat_;
    std::uint64_t offset_ = 0;
  };
  /// kNotFound: none is kept under this name.
  Result<Body> open_body(const BatchId& name);

  Rejects(io::FileSystem& fs, const Clock& clock, io::Publisher& publisher,
          std::unique_ptr<io::Directory> folder);

 private:
  /// What the folder holds of one name. A body whose reasons are missing, or the other way round,
  /// is what an ended process or a drop under way left.
  struct Files {
    std::string name;
    std::optional<std::uint64_t> body_bytes;
    std::uint64_t reason_bytes = 0;
    std::int64_t modified_ns = 0;  // of the body, where there is one

    std::uint64_t bytes() const { return body_bytes.value_or(0) + reason_bytes; }
  };
  Result<void> refresh();
  Result<std::vector<Files>> look() const;
  Result<Files> files_of(const std::string& name) const;
  std::uint64_t read_dropped() const;
  Result<void> put(const std::string& name, std::string_view bytes);
  Result<void> note(const std::string& name);
  Result<void> remove_files(const std::string& name);
  void drop_oldest();
  void count_dropped();
  Entry read_entry(const Files& files) const;

  io::FileSystem& fs_;
  const Clock& clock_;
  io::Publisher& publisher_;
  const std::unique_ptr<io::Directory> folder_;
  std::mutex mutex_;          // guards what follows
  std::vector<Files> files_;  // oldest first
  std::uint64_t bytes_ = 0;
  std::int64_t folder_modified_ns_ = -1;
  std::uint64_t dropped_ = 0;
  bool settled_ = false;                 // the folder's time tells of every change since the look
  std::optional<SteadyTime> looked_at_;  // nothing: never
};

}  // namespace strata::stream
