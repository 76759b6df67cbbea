#include "stream/index_job.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace strata::stream {
namespace {

constexpr std::chrono::seconds kRetryPause{2};

enum class Tried : std::uint8_t { kInVain, kPut, kMovedAside };

/// One that was moved aside has no rows; those it had went with it. Looked at again once they are
/// put, for then they may be there after that.
Tried try_to_index(Stream& stream) {
  const auto before = stream.in_place();
  if (!before || (*before && !index(stream))) return Tried::kInVain;
  const auto after = stream.in_place();
  if (!after) return Tried::kInVain;
  return *after ? Tried::kPut : Tried::kMovedAside;
}

/// Another process may have changed the settings and put them since this one looked: what is put is
/// looked at again afterwards, so that the last to put has the newest.
Result<void> put_settings(Stream& stream, catalog::Catalog& catalog) {
  std::string put;
  for (std::string now = to_json(stream.receiver()); now != put; now = to_json(stream.receiver())) {
    STRATA_RETURN_IF_ERROR(catalog.put_receiver({stream.id().str(), now}));
    put = std::move(now);
    STRATA_RETURN_IF_ERROR(stream.refresh_receiver());
  }
  return {};
}

}  // namespace

Result<void> index(Stream& stream) {
  STRATA_ASSIGN_OR_RETURN(const auto rows, stream.knowledgebase().catalog().manifest());
  return index_beside(stream, rows);
}

Result<void> index_beside(Stream& stream, const std::vector<catalog::ManifestRow>& rows) {
  catalog::Catalog& catalog = stream.knowledgebase().catalog();
  STRATA_RETURN_IF_ERROR(put_settings(stream, catalog));
  const auto row = std::ranges::find(rows, stream.table(), &catalog::ManifestRow::table);
  const bool there = row != rows.end();
  const bool ready = stream.view_ready();
  if (there && (!ready || row->state == "ready")) return {};
  return catalog.put_manifest(
      {stream.table(), "stream:" + stream.id().str(), std::nullopt, ready ? "ready" : "deferred"});
}

IndexJob::IndexJob() : thread_([this] { run(); }) {}

IndexJob::~IndexJob() { stop(); }

void IndexJob::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void IndexJob::want(Stream& stream) {
  const std::lock_guard lock(mutex_);
  wanted_.insert(&stream);
  changed_.notify_all();
}

void IndexJob::wait_for_tries() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || (wanted_.empty() && !trying_); });
}

std::set<kb::Knowledgebase*> IndexJob::take_unsettled() {
  const std::lock_guard lock(mutex_);
  return std::exchange(unsettled_, {});
}

void IndexJob::run() {
  std::unique_lock lock(mutex_);
  const auto has_work = [this] { return stopping_ || !wanted_.empty(); };
  while (true) {
    if (waiting_.empty()) {
      changed_.wait(lock, has_work);
    } else if (!changed_.wait_for(lock, kRetryPause, has_work)) {
      wanted_.swap(waiting_);
    }
    if (stopping_) return;
    Stream* const stream = *wanted_.begin();
    wanted_.erase(wanted_.begin());
    waiting_.erase(stream);
    trying_ = true;
    lock.unlock();
    const Tried tried = try_to_index(*stream);
    lock.lock();
    trying_ = false;
    if (tried == Tried::kInVain) waiting_.insert(stream);
    if (tried == Tried::kMovedAside) unsettled_.insert(&stream->knowledgebase());
    changed_.notify_all();
  }
}

}  // namespace strata::stream
