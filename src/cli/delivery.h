#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "http/client.h"

namespace strata::cli {

/// When a batch is sent again, always with the same id (interface.md "Errors"): no answer, 408,
/// 429, 500, 502, 503, 504, 507.
struct RetryPolicy {
  int tries_max = 10;
  std::chrono::milliseconds base{100};
  std::chrono::milliseconds cap{5'000};
  std::chrono::milliseconds retry_after_cap{60'000};  // a server that asks for more gets this
};

bool is_retried(int status);

/// The wait after `failed_tries` (from 1) failures: doubles from `base` to `cap`, of which the
/// upper half is chance (`chance` in [0, 1)), so that clients do not come back all at once; on top
/// of what the server asked for.
std::chrono::milliseconds backoff(const RetryPolicy& policy, int failed_tries, double chance,
                                  std::optional<std::chrono::seconds> retry_after);

/// What came of one batch.
struct Delivery {
  enum class Kind : std::uint8_t {
    kLanded,
    kReplayed,
    kRefused,    // an answer that sending again would not change
    kGaveUp,     // tries_max failures; `response` is the last answer, if there was one
    kCancelled,  // somebody else gave up meanwhile
  };
  Kind kind = Kind::kCancelled;
  std::uint64_t rows = 0;                        // landed or replayed
  std::optional<http::ClientResponse> response;  // of a refusal or the last failure
  Error error;                                   // when there was no answer
};

/// Carries batches over one connection. One thread; `cancelled` may be set by any.
class Courier {
 public:
  struct Hooks {
    std::function<void(std::chrono::milliseconds)> sleep;
    std::function<double()> chance;
    /// Told before the first wait of each batch.
    std::function<void(const std::string& reason)> on_retry;
  };
  Courier(http::Client& client, const RetryPolicy& policy, Hooks hooks,
          const std::atomic<bool>& cancelled);

  Delivery deliver(const http::ClientRequest& request);

 private:
  void wait(std::chrono::milliseconds time);

  http::Client& client_;
  RetryPolicy policy_;
  Hooks hooks_;
  const std::atomic<bool>& cancelled_;
};

}  // namespace strata::cli
