#pragma once

#include "base/error.h"
#include "duck/worker_wire.h"

namespace strata::duck {

/// The worker's end of a workbench, in a process that is locked in already: says that it is there,
/// then runs one step after the other until the server closes `socket` (kIo) or the engine broke.
Result<void> serve_workbench(int socket, const SetUpRequest& set_up);

}  // namespace strata::duck
