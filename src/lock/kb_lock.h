#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace strata::lock {

/// Why the lock is taken. Ingest, numbers and queries never take it.
enum class Purpose : std::uint8_t {
  kView,
  kOntology,
  kResync,
  kRelocate,
  kUpload,
  kDrop,
  kMigrate
};
std::string_view purpose_name(Purpose purpose);

/// Counts acquisitions per kb, stream and purpose for strata_lock_acquisitions_total, and passes on
/// which of them ran out under their holder. Thread-safe.
class AcquisitionCounter {
 public:
  struct Key {
    std::string kb;
    std::string stream;
    Purpose purpose;
    auto operator<=>(const Key&) const = default;
  };
  /// Called on the holder's thread, after it let go.
  using OnLost = std::function<void(const Key&)>;

  explicit AcquisitionCounter(OnLost on_lost = {}) : on_lost_(std::move(on_lost)) {}
  void add(const Key& key);
  /// The lease that `key` was counted for held no more when its holder let go.
  void lost(const Key& key) const {
    if (on_lost_) on_lost_(key);
  }
  std::map<Key, std::uint64_t> snapshot() const;

 private:
  const OnLost on_lost_;
  mutable std::mutex mutex_;
  std::map<Key, std::uint64_t> counts_;
};

struct LockRequest {
  std::string kb;
  std::string stream;  // whom the acquisition is counted for
  Purpose purpose = Purpose::kView;
  std::chrono::milliseconds wait{10'000};
};

/// Held while it lives. Queues writers of one kb's DuckDB file; correctness never rests on it (the
/// generation's number decides), so a lease that expires under a slow holder loses nothing.
class Lease {
 public:
  virtual ~Lease() = default;
  /// Whether the lease still holds, by the monotonic deadline and as far as its renewals know (file
  /// version: always). Once false, false for good.
  virtual bool held() const = 0;
};

/// Acquire, renew, release; acquisitions are counted here and nowhere else. Thread-safe.
class KbLock {
 public:
  virtual ~KbLock() = default;
  /// kBusy: somebody held it for all of `wait`. kIo: the lock file or service is out of reach.
  virtual Result<std::unique_ptr<Lease>> acquire(const LockRequest& request) = 0;
};

}  // namespace strata::lock
