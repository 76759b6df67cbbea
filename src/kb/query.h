#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "duck/worker_pool.h"
#include "kb/knowledgebases.h"

namespace strata::kb {

struct QueryRequest {
  std::string sql;
  duck::ResultFormat format = duck::ResultFormat::kJson;
  std::uint64_t rows_max = 0;
  std::chrono::milliseconds timeout{0};
  std::vector<duck::ManifestRow> manifest{};  // of `_strata_manifest`, should the SQL name it
  std::stop_token cancel{};                   // nobody wants the answer any more
};

struct QueryAnswer {
  std::uint64_t generation = 0;
  std::unique_ptr<duck::RunningQuery> running;
};

/// Runs one SELECT against the newest generation of `knowledgebase` in a worker. Resolves the
/// generation again when it was collected meanwhile, and tries again a few times when a file
/// vanished between listing and opening (duckdb-facts.md C3). Errors as WorkerPool::query, minus
/// kNotFound; kTimeout covers all tries together.
Result<QueryAnswer> run_query(duck::WorkerPool& workers, Knowledgebase& knowledgebase,
                              const QueryRequest& request);

}  // namespace strata::kb
