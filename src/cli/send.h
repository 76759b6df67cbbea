#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"
#include "cli/bounded_queue.h"
#include "cli/chunker.h"
#include "cli/cli.h"
#include "cli/delivery.h"
#include "cli/input.h"
#include "cli/problem.h"
#include "cli/progress.h"
#include "http/client.h"

namespace strata::cli {

/// Refused batches shown and kept in memory.
inline constexpr std::size_t kRefusedBatchesShown = 10;

/// What one run sends, and where to.
struct SendPlan {
  std::string target;      // of the ingest route
  http::Headers identity;  // Authorization, or nothing
  Digest file_digest{};
  std::string id_prefix;
  std::uint64_t records = 0;
  std::uint64_t chunks = 0;
};

struct Refusal {
  std::string batch_id;
  Problem problem;  // its lines are the file's
};

/// What became of the batches.
struct Tally {
  std::uint64_t rows_landed = 0;
  std::uint64_t batches_landed = 0;
  std::uint64_t rows_replayed = 0;
  std::uint64_t batches_replayed = 0;
  std::uint64_t batches_refused = 0;
  std::uint64_t rows_refused = 0;
  std::map<std::uint64_t, Refusal> refusals;  // by chunk number, kRefusedBatchesShown at most
  /// Set when sending stopped before the end.
  std::optional<Delivery> gave_up;     // tries used up
  std::optional<Problem> turned_away;  // an answer every other batch would meet too
  std::optional<Error> broken;         // this side

  std::uint64_t rows_done() const { return rows_landed + rows_replayed + rows_refused; }
  std::uint64_t batches_done() const { return batches_landed + batches_replayed + batches_refused; }
};

/// Sends a file's batches over several connections at once. A refused batch does not stop the
/// others; a server that cannot be reached, or that refuses the sender rather than the batch, does.
class Sender {
 public:
  /// Everything outlives the sender.
  Sender(CommandContext& context, const SendPlan& plan);

  /// Blocks until every batch has its answer or sending stopped; one thread per client. At most
  /// twice as many batches as clients, and the one being cut, are in memory.
  Tally send(Chunker& chunker, const std::vector<std::unique_ptr<http::Client>>& clients);

 private:
  void produce(Chunker& chunker);
  void work(http::Client& client);
  void record(const Chunk& chunk, Delivery delivery);
  void record_refusal(const Chunk& chunk, const http::ClientResponse& response);
  void tell_retry(const std::string& reason);
  void stop();

  CommandContext& context_;
  const SendPlan& plan_;
  std::optional<BoundedQueue<Chunk>> queue_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;  // guards what follows, and context_.err while threads run
  Tally tally_;
  ProgressBar progress_;
  bool retry_told_ = false;
};

}  // namespace strata::cli
