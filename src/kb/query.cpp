#include "kb/query.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace strata::kb {
namespace {

constexpr int kTriesMax = 3;
constexpr std::chrono::milliseconds kPause{20};

std::chrono::milliseconds until(SteadyTime deadline, SteadyTime now) {
  return std::chrono::floor<std::chrono::milliseconds>(deadline - now);
}

}  // namespace

Result<QueryAnswer> run_query(duck::WorkerPool& workers, Knowledgebase& knowledgebase,
                              const QueryRequest& request) {
  const SystemClock clock;
  const SteadyTime deadline = clock.steady() + request.timeout;
  duck::QuerySpec spec{.source = {.kb_folder = knowledgebase.folder(), .generation_file = {}},
                       .sql = request.sql,
                       .format = request.format,
                       .rows_max = request.rows_max,
                       .timeout = request.timeout,
                       .manifest = request.manifest,
                       .cancel = request.cancel};
  for (int attempt = 1;; ++attempt) {
    auto generation = knowledgebase.generations().newest();
    if (!generation) {
      Error error = std::move(generation).error();
      if (error.code == Code::kNotFound) error.code = Code::kIo;  // not the client's mistake
      return error;
    }
    spec.source.generation_file = generation->file;
    auto running = workers.query(spec);
    if (running) return QueryAnswer{generation->number, std::move(running).value()};
    Error error = std::move(running).error();
    // A generation that was collected, or a batch's file that was moved, between being listed and
    // being opened: the next listing shows what there is now.
    const bool vanished = error.code == Code::kNotFound || error.code == Code::kIo;
    if (!vanished) return error;
    if (error.code == Code::kNotFound) error.code = Code::kIo;
    if (attempt == kTriesMax) return error;
    std::this_thread::sleep_for(std::min(kPause, std::max(until(deadline, clock.steady()), {})));
    spec.timeout = until(deadline, clock.steady());
    if (spec.timeout <= std::chrono::milliseconds::zero()) {
      return make_error(Code::kTimeout,
                        "The query took longer than it may: ask for less, or allow it more time "
                        "(timeout_ms).",
                        error.detail);
    }
  }
}

}  // namespace strata::kb
