#pragma once

#include <memory>

#include "base/clock.h"
#include "io/file_system.h"
#include "lock/kb_lock.h"

namespace strata::lock {

/// The lock of a kb as an open-file-description lock on `<kb>/.lock`: the kernel frees it when its
/// holder dies, and it holds between threads as between processes. Nobody queues in order: a
/// waiter asks again every few milliseconds until `wait` is over by `clock`. Borrows everything.
std::unique_ptr<KbLock> make_file_kb_lock(io::FileSystem& fs, const Clock& clock,
                                          const io::Directory& kb_folder,
                                          AcquisitionCounter& acquisitions);

}  // namespace strata::lock
