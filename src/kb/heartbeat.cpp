#include "kb/heartbeat.h"

#include <string_view>

namespace strata::kb {

Heartbeat::Heartbeat(const Options& options)
    : options_(options),
      row_{.node = options.root.node(),
           .process = options.root.process(),
           .started_at = format_iso8601(options.clock.wall()),
           .version = options.version} {
  beat();
  thread_ = std::thread([this, interval = heartbeat_interval(options_.root.catalog_kind())] {
    std::unique_lock lock(mutex_);
    while (!stop_.wait_for(lock, interval, [this] { return stopping_; })) {
      lock.unlock();
      beat();
      lock.lock();
    }
  });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void Heartbeat::beat() {
  constexpr std::string_view kNextBeat = "the next beat tries again; nothing waits for it";
  ignore(options_.root.catalog().put_node(row_), kNextBeat);
  if (options_.check != nullptr) ignore(options_.check->compare(), kNextBeat);
}

}  // namespace strata::kb
