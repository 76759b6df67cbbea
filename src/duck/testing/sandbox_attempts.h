#pragma once

#include <string>

namespace strata::duck {

/// For worker_sandbox_test.cpp, in a process of its own: enters the sandbox of a query worker of
/// the kb in the folder `kb`, which may write in `folder` if that is not empty, then tries what a
/// worker that was taken over would. Prints `<attempt>: <answer>` lines. Returns the exit code.
int attempt_everything(const std::string& kb, const std::string& folder);

}  // namespace strata::duck
