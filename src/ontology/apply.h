#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "catalog/ontology_versions.h"
#include "duck/worker_pool.h"
#include "kb/knowledgebases.h"
#include "ontology/table_source.h"

/// Applying ontology to a stream: the whole act, as a job runs it.
namespace strata::ontology {

struct ApplyProgress {
  std::function<void(std::string_view step)> step = [](std::string_view) {};
  std::function<void(double whole)> progress = [](double) {};
  /// io::kill_point, from a folder that may use io/.
  std::function<void(const char* point)> kill_point = [](const char*) {};
  std::stop_token cancel{};
};

struct Apply {
  kb::Knowledgebase& knowledgebase;
  duck::WorkerPool& workers;
  const Clock& clock;
  const SourceTable& table;
  std::string stream;  // whom views and the lock are for
  std::string job;     // its id
  const ApplyProgress& progress;
};

struct Outcome {
  std::uint64_t version = 0;
  bool unchanged = false;  // nothing had to be written
  std::uint64_t rows = 0;
  std::vector<std::string> views;  // of the stream's types
};
std::string to_json(const Outcome& outcome);

/// Snapshot, profile, model, typed tables, views; each step may be the last one of its process, and
/// the version that was active answers until the views of the next are published:
/// 1. The snapshot is frozen and published; its profile beside it.
/// 2. The same rows, model and rules as the active version's: done, nothing is written.
/// 3. The typed tables are published under the version's number: a new one, above all that the kb's
///    folder has, only if some stream's model changed.
/// 4. Under the kb's lock, taken once: what an ended process left pending is settled; a new version
///    is put as pending, then one generation has all its views, then it is active. Where another
///    call changed the model since this one began, as only one that was taken for abandoned can
///    meet, nothing is published.
/// Errors: kCancelled, kBusy, and those of workbench, files, catalog and lock.
Result<Outcome> apply(const Apply& apply);

}  // namespace strata::ontology
