#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace strata::catalog {

/// What stands as the reason of a job whose process is gone.
inline constexpr std::string_view kAbandonedReason =
    "The node that worked on it ended before it was done; start it again.";

inline constexpr std::uint64_t kProgressDone = 1'000;

/// One job of a kb: work that goes on after the request that asked for it. All times are the
/// database's clock, in microseconds.
struct JobRow {
  std::string id;
  std::string kind;
  std::string subject;         // the stream; empty: the kb itself
  std::string state;           // `queued` | `running` | `done` | `failed` | `cancelled`
  std::string step;            // what it is doing, or did last; empty: nothing yet
  std::uint64_t progress = 0;  // thousandths of the whole
  std::string owner;           // the process that works on it, `<node>-<boot>-<pid>`
  std::string result;          // JSON; empty: none
  std::string reason;          // why it failed; empty: it did not
  bool cancel_requested = false;
  WallTime created;
  std::optional<WallTime> started;
  WallTime heartbeat;  // when its owner last said that it lives
  std::optional<WallTime> ended;
  bool operator==(const JobRow&) const = default;

  bool is_under_way() const { return state == "queued" || state == "running"; }
};

struct NewJob {
  std::string id;  // never used before
  std::string kind;
  std::string subject;
  std::string owner;
};

struct JobBeat {
  std::string id;
  std::string owner;
  std::string step;
  std::uint64_t progress = 0;
};

/// What a beat found.
enum class JobHold : std::uint8_t {
  kOurs,
  kCancelAsked,  // ours, and somebody wants it to stop
  kLost,         // not this owner's any more: it has ended, by whoever took it for abandoned
};

struct JobEnd {
  std::string id;
  std::string owner;
  std::string step;
  std::uint64_t progress = 0;
  std::string state;  // `done` | `failed` | `cancelled`
  std::string result;
  std::string reason;
};

struct JobPage {
  std::size_t limit = 0;
  std::string before;  // the id after which the list goes on; empty: it begins
};

/// The jobs of one kb, and its run-lock: at most one is queued or running, which the database
/// itself holds to, so that it is true of all processes together. A job is its owner's until it has
/// ended, and who beats or ends one that is not his changes nothing. Thread-safe. Errors: those of
/// Catalog.
class Jobs {
 public:
  virtual ~Jobs() = default;
  /// Queues it. The job in the way, if there is one: nothing is queued then. After a kIo it may
  /// have been; the same call again finds out.
  virtual Result<std::optional<JobRow>> start(const NewJob& job) = 0;
  /// Says that the owner lives and where the job is; the first one makes it `running`.
  virtual Result<JobHold> beat(const JobBeat& beat) = 0;
  /// Whether it was the owner's to end.
  virtual Result<bool> end(const JobEnd& end) = 0;
  /// Asks the owner to stop, which it learns by its next beat. Whether there was one to ask: false
  /// of a job that has ended and of one that never was.
  virtual Result<bool> request_cancel(const std::string& id) = 0;
  virtual Result<std::optional<JobRow>> job(const std::string& id) = 0;
  virtual Result<std::vector<JobRow>> list(const JobPage& page) = 0;  // newest first
  /// Ends as failed what is under way but has had no beat for the lease. A beat further ahead than
  /// the lease counts for none: it is from before the database's clock was put back.
  virtual Result<void> fail_abandoned(std::chrono::seconds lease) = 0;
};

}  // namespace strata::catalog
