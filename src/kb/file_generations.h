#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "duck/worker_pool.h"
#include "io/file_system.h"
#include "kb/generations.h"

namespace strata::kb {

/// What a kb's generations borrow; all of it outlives them.
struct GenerationsContext {
  io::FileSystem& fs;
  const Clock& clock;
  duck::WorkerPool& workers;
  const io::Directory& kb_folder;
  std::string process;  // names the files in staging/
};

/// Opens `<kb>/generations/`, making it and the first generation (the empty schemas raw_extracted
/// and ontology) where there is none, which needs no lock: of two that try, one finds its number
/// taken. Sweeps staging/ and mends the symlink. Durable when it returns.
Result<std::unique_ptr<Generations>> open_generations(const GenerationsContext& context);

}  // namespace strata::kb
