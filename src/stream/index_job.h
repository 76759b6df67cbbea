#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "catalog/catalog.h"
#include "stream/stream.h"

/// The rows of a stream in its kb's catalog.
namespace strata::stream {

/// Puts them: the receiver's settings, and the table's state as far as it says something new.
/// Errors: the catalog's.
Result<void> index(Stream& stream);
/// The same; `rows` are those of the manifest, just read.
Result<void> index_beside(Stream& stream, const std::vector<catalog::ManifestRow>& rows);

/// The same on a thread of its own, so that whoever meets a stream or makes its view does not wait
/// for a catalog that is away. What fails is tried again until it is put. Thread-safe.
class IndexJob {
 public:
  IndexJob();
  ~IndexJob();
  IndexJob(const IndexJob&) = delete;
  IndexJob& operator=(const IndexJob&) = delete;

  /// Asks for the stream's rows; returns at once. The stream must outlive this, or stop() come
  /// before its end.
  void want(Stream& stream);
  /// Until every stream that was asked for has been tried once.
  void wait_for_tries();
  /// The kbs in which rows may have been put of streams that were moved aside meanwhile, after
  /// whoever moved them took the rows away; each is told once.
  std::set<kb::Knowledgebase*> take_unsettled();
  /// Ends the thread; the next start puts what was not put. Idempotent.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  // By mutex_:
  std::set<Stream*> wanted_;   // and not tried yet
  std::set<Stream*> waiting_;  // tried in vain
  std::set<kb::Knowledgebase*> unsettled_;
  bool trying_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace strata::stream
