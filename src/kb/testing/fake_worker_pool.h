#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "duck/worker_pool.h"
#include "io/file_system.h"

namespace strata::kb {

/// Stands in for the worker processes: a database file is the text of every statement that was run
/// on it, one a line, and each line counts as a view of that name. Thread-safe but for the hooks,
/// which are set before the threads start.
class FakeWorkerPool final : public duck::WorkerPool {
 public:
  /// Writes through `fs`, without the faults of a test that wraps it: a worker is another process.
  explicit FakeWorkerPool(io::FileSystem& fs) : fs_(fs) {}

  /// Runs in the middle of each run_ddl; an error is the answer and leaves the file as it was.
  std::function<Result<void>(const duck::DdlSpec&)> on_ddl;
  /// Answers every query.
  std::function<Result<std::unique_ptr<duck::RunningQuery>>(const duck::QuerySpec&)> on_query;
  /// Answers every open_workbench.
  std::function<Result<std::unique_ptr<duck::Workbench>>(const duck::WorkbenchSpec&)> on_workbench;
  /// Whether run_ddl leaves a .wal beside the file.
  bool leave_wal = false;

  int ddl_calls() const { return ddl_calls_; }
  int views_calls() const { return views_calls_; }

  Result<std::unique_ptr<duck::RunningQuery>> query(const duck::QuerySpec& spec) override;
  Result<void> run_ddl(const duck::DdlSpec& spec) override;
  Result<std::unique_ptr<duck::Workbench>> open_workbench(
      const duck::WorkbenchSpec& spec) override {
    return on_workbench(spec);
  }
  Result<std::vector<duck::View>> views(const duck::Source& source) override;
  std::map<std::string, std::uint64_t> deaths() const override { return {}; }
  void forget(const std::string&) override {}
  void stop() override {}

 private:
  io::FileSystem& fs_;
  std::atomic<int> ddl_calls_ = 0;
  std::atomic<int> views_calls_ = 0;
};

}  // namespace strata::kb
