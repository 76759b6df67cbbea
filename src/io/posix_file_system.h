#pragma once

#include <memory>

#include "io/file_system.h"

namespace strata::io {

/// The real disk. Descriptors are opened O_CLOEXEC; names are never followed through a symlink in
/// their last component.
std::unique_ptr<FileSystem> make_posix_file_system();

}  // namespace strata::io
