#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "lock/kb_lock.h"

namespace strata::lock {

/// The pause between two tries is drawn from here, so that waiters do not meet at every turn.
struct PauseRange {
  std::chrono::milliseconds min;
  std::chrono::milliseconds max;
};

/// What all kinds of lock do in `acquire`: asks `try_once` until it answers something else than
/// kBusy or the request's wait is over by `clock`, and counts the acquisition.
Result<std::unique_ptr<Lease>> wait_for_lease(
    const Clock& clock, const LockRequest& request, PauseRange pauses,
    AcquisitionCounter& acquisitions,
    const std::function<Result<std::unique_ptr<Lease>>()>& try_once);

}  // namespace strata::lock
