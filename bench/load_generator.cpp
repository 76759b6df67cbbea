// Producers that POST batches as fast as they are acknowledged, and what that came to: one line of
// JSON. One thread and epoll, so that the generator takes little of the cores it shares with the
// server. Bounded in time and in number; 127.0.0.1 only.
#include <fmt/format.h>
#include <sys/epoll.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "bodies.h"
#include "latencies.h"
#include "load_connection.h"
#include "processes.h"

namespace strata::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint32_t kBodies = 16;  // different ones, each sent many times under new ids
constexpr std::chrono::seconds kAnswerPatience{60};

struct Options {
  std::uint16_t port = 0;
  std::string path;
  std::string id_prefix = "bench";
  std::size_t producers = 1;
  std::uint64_t rows = 100;
  double warm_up_seconds = 0.3;
  double seconds = 2;
  std::uint64_t acks_max = 1'000'000;
  std::uint64_t posts_max = 10'000'000;
  pid_t server = 0;
};

SteadyClock::duration to_duration(double seconds) {
  return std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
}

/// Warm-up, then a window in which answers count, then the answers still owed.
class Load {
 public:
  explicit Load(const Options& options) : options_(options) {
    for (std::uint32_t seed = 0; seed < kBodies; ++seed) {
      bodies_.push_back(make_body(options.rows, seed));
    }
  }

  Result<void> run();
  std::string report() const;

 private:
  Result<void> connect_all();
  Result<void> advance(LoadConnection& connection);
  void begin(LoadConnection& connection);
  void look_at_clock();
  void begin_window();
  void end_window();

  enum class Phase : std::uint8_t { kWarmUp, kWindow, kOver };

  const Options& options_;
  std::vector<std::string> bodies_;
  UniqueFd poll_;
  std::vector<LoadConnection> connections_;
  std::uint64_t next_id_ = 0;
  std::size_t owed_ = 0;
  Phase phase_ = Phase::kWarmUp;
  SteadyClock::time_point begun_, window_begun_, window_ended_;
  std::vector<Latency> latencies_;
  double server_cpu_ = 0;
  double own_cpu_ = 0;
};

Result<void> Load::connect_all() {
  poll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  for (std::size_t producer = 0; producer < options_.producers; ++producer) {
    STRATA_ASSIGN_OR_RETURN(LoadConnection connection, LoadConnection::open(options_.port));
    connections_.push_back(std::move(connection));
    epoll_event event{};
    // Edge-triggered: advance() goes on until the socket would block.
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.u64 = producer;
    if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, connections_.back().descriptor(), &event) != 0) {
      return make_error(Code::kInternal, "epoll_ctl failed");
    }
  }
  return {};
}

Result<void> Load::run() {
  STRATA_RETURN_IF_ERROR(connect_all());
  begun_ = SteadyClock::now();
  for (LoadConnection& connection : connections_) {
    begin(connection);
    STRATA_RETURN_IF_ERROR(advance(connection));
  }
  std::array<epoll_event, 64> events{};
  constexpr auto kPatience = std::chrono::duration_cast<std::chrono::milliseconds>(kAnswerPatience);
  while (owed_ > 0) {
    const int count = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()),
                                   static_cast<int>(kPatience.count()));
    if (count == 0) return make_error(Code::kTimeout, "the server answers no more");
    for (int index = 0; index < count; ++index) {
      LoadConnection& connection = connections_[events[static_cast<std::size_t>(index)].data.u64];
      if (connection.is_waiting()) STRATA_RETURN_IF_ERROR(advance(connection));
    }
  }
  if (phase_ == Phase::kWarmUp) begin_window();
  if (phase_ == Phase::kWindow) end_window();
  return {};
}

void Load::begin(LoadConnection& connection) {
  const std::uint64_t number = next_id_++;
  connection.begin(options_.path, fmt::format("{}-{:08}", options_.id_prefix, number),
                   bodies_[number % kBodies]);
  ++owed_;
}

Result<void> Load::advance(LoadConnection& connection) {
  while (true) {
    LoadConnection::Answer answer;
    STRATA_ASSIGN_OR_RETURN(const bool is_there, connection.advance(answer));
    if (!is_there) return {};
    --owed_;
    if (!answer.landed) {
      return make_error(Code::kInternal, "not landed: " + connection.last_answer());
    }
    look_at_clock();
    if (phase_ == Phase::kWindow) latencies_.push_back(answer.latency);
    if (phase_ == Phase::kOver || next_id_ >= options_.posts_max) return {};
    begin(connection);
  }
}

/// An answer counts for the phase in which it came.
void Load::look_at_clock() {
  const auto now = SteadyClock::now();
  if (phase_ == Phase::kWarmUp && now - begun_ >= to_duration(options_.warm_up_seconds)) {
    begin_window();
  } else if (phase_ == Phase::kWindow && (now - window_begun_ >= to_duration(options_.seconds) ||
                                          latencies_.size() >= options_.acks_max)) {
    end_window();
  }
}

void Load::begin_window() {
  phase_ = Phase::kWindow;
  server_cpu_ = cpu_seconds(options_.server);
  own_cpu_ = own_cpu_seconds();
  window_begun_ = SteadyClock::now();
}

void Load::end_window() {
  phase_ = Phase::kOver;
  window_ended_ = SteadyClock::now();
  server_cpu_ = cpu_seconds(options_.server) - server_cpu_;
  own_cpu_ = own_cpu_seconds() - own_cpu_;
}

std::string Load::report() const {
  const double seconds = std::chrono::duration<double>(window_ended_ - window_begun_).count();
  const double acks_per_second = static_cast<double>(latencies_.size()) / seconds;
  return fmt::format(
      R"({{"producers":{},"batch_rows":{},"body_bytes":{},"seconds":{:.3f},"acks":{},)"
      R"("acks_per_s":{:.1f},"rows_per_s":{:.0f},{},"cpu_s":{:.3f},"generator_cpu_s":{:.3f}}})",
      options_.producers, options_.rows, bodies_.front().size(), seconds, latencies_.size(),
      acks_per_second, acks_per_second * static_cast<double>(options_.rows),
      percentiles_json(latencies_), server_cpu_, own_cpu_);
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--port", options.port, "of the server on 127.0.0.1")->required();
  app.add_option("--path", options.path, "to POST to")->required();
  app.add_option("--id-prefix", options.id_prefix, "ids are <prefix>-<number>");
  app.add_option("--producers", options.producers, "connections, one POST at a time on each");
  app.add_option("--rows", options.rows, "records of a batch");
  app.add_option("--warm-up", options.warm_up_seconds, "seconds that do not count");
  app.add_option("--seconds", options.seconds, "that count");
  app.add_option("--acks", options.acks_max, "the window ends after so many");
  app.add_option("--posts", options.posts_max, "POSTs at most, those that do not count included");
  app.add_option("--server", options.server, "process whose processor time is told");
}

int main_of_load_generator(int argc, char** argv) {
  CLI::App app("POSTs batches to a server on this machine and measures the answers.");
  Options options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  Load load(options);
  if (const auto ran = load.run(); !ran) {
    fmt::print(stderr, "load_generator: {}\n", ran.error().message);
    return 1;
  }
  fmt::print("{}\n", load.report());
  return 0;
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) {
  try {
    return strata::bench::main_of_load_generator(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "load_generator: {}\n", error.what());
    return 1;
  }
}
