#pragma once

#include <functional>

namespace strata::app {

/// Blocks SIGTERM and SIGINT in this thread and in those it starts from now on, and ignores
/// SIGPIPE and SIGXFSZ. Call before any thread is started.
void block_stop_signals();

/// Waits for one of them; calls `each_second` about once a second meanwhile. From then on another
/// one ends the process at once.
void wait_for_stop(const std::function<void()>& each_second);

}  // namespace strata::app
