#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include "duck/workbench.h"
#include "duck/worker_process.h"

namespace strata::duck {

/// The server's end of a workbench. `process` is set up; `count_death` is told the reason when it
/// ends otherwise than by us, and outlives the workbench.
std::unique_ptr<Workbench> make_workbench(std::unique_ptr<WorkerProcess> process,
                                          std::stop_token cancel,
                                          std::function<void(std::string_view)> count_death);

}  // namespace strata::duck
