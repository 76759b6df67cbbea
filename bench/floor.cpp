// The floor: files that Strata wrote, put on the disk again with the same names and the same syncs
// and nothing else, by threads that do nothing but that. One line of JSON. No server that keeps the
// promise of a 200 file by file can be faster on this disk.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "latencies.h"

namespace strata::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kShards = 256;
constexpr mode_t kFileMode = 0640;

struct Options {
  std::string files;   // the folder they come from
  std::string folder;  // where they go; made here
  std::size_t threads = 1;
  double warm_up_seconds = 0.2;
  double seconds = 1;
  std::uint64_t acks_max = 1'000'000;
};

/// A failing call ends the program: there is no figure then.
int must(int result, const char* call) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), call);
  return result;
}

UniqueFd open_folder(const std::string& path) {
  std::filesystem::create_directories(path);
  return UniqueFd(must(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open"));
}

std::vector<std::string> read_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(".") || !name.ends_with(".parquet")) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (files.empty()) throw std::runtime_error("no .parquet files below " + folder);
  return files;
}

/// The folders of a stream, all there and synced, as after a stream's first batches.
struct Layout {
  explicit Layout(const std::string& folder)
      : staging(open_folder(folder + "/_tmp/floor")), data(open_folder(folder + "/data")) {
    for (std::size_t shard = 0; shard < kShards; ++shard) {
      shards.push_back(open_folder(fmt::format("{}/ids/{:02x}", folder, shard)));
    }
    must(::fsync(open_folder(folder + "/ids").get()), "fsync");
  }
  UniqueFd staging, data;
  std::vector<UniqueFd> shards;
};

/// Steps 0 to 6 of publish (docs/ARCHITECTURE.md) without what only decides.
void land(const Layout& layout, const std::string& name, const std::string& bytes) {
  const std::string data_name = name + ".parquet";
  const int shard = layout.shards[std::hash<std::string>{}(name) % kShards].get();
  UniqueFd file(must(::openat(layout.staging.get(), data_name.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode),
                     "openat"));
  if (::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("write was short");
  }
  must(::fsync(file.get()), "fsync");
  must(::close(file.release()), "close");
  must(::linkat(layout.staging.get(), data_name.c_str(), shard, name.c_str(), 0), "linkat");
  must(::fsync(shard), "fsync");
  must(::renameat2(layout.staging.get(), data_name.c_str(), layout.data.get(), data_name.c_str(),
                   RENAME_NOREPLACE),
       "renameat2");
  must(::fsync(layout.data.get()), "fsync");
}

class Floor {
 public:
  explicit Floor(const Options& options)
      : options_(options), files_(read_files(options.files)), layout_(options.folder) {}

  std::string run();

 private:
  void work(std::size_t thread, std::vector<Latency>& latencies);

  const Options& options_;
  const std::vector<std::string> files_;
  const Layout layout_;
  std::atomic<std::uint64_t> counted_ = 0;
  std::atomic<bool> counts_ = false;
  std::atomic<bool> over_ = false;
};

void Floor::work(std::size_t thread, std::vector<Latency>& latencies) {
  for (std::uint64_t number = 0; !over_; ++number) {
    const auto begun = SteadyClock::now();
    land(layout_, fmt::format("floor-{:02}-{:08}", thread, number), files_[number % files_.size()]);
    if (!counts_ || over_) continue;
    latencies.push_back(SteadyClock::now() - begun);
    if (counted_.fetch_add(1) + 1 >= options_.acks_max) over_ = true;
  }
}

std::string Floor::run() {
  std::vector<std::vector<Latency>> latencies(options_.threads);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < options_.threads; ++thread) {
    threads.emplace_back([this, thread, &latencies] {
      try {
        work(thread, latencies[thread]);
      } catch (const std::exception& error) {
        fmt::print(stderr, "floor: {}\n", error.what());
        std::_Exit(1);
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(options_.warm_up_seconds));
  counts_ = true;
  const auto begun = SteadyClock::now();
  const auto end = begun + std::chrono::duration<double>(options_.seconds);
  constexpr std::chrono::milliseconds kLook{1};
  while (!over_ && SteadyClock::now() < end) std::this_thread::sleep_for(kLook);
  over_ = true;
  const std::chrono::duration<double> seconds = SteadyClock::now() - begun;
  for (std::thread& thread : threads) thread.join();
  std::vector<Latency> all;
  for (const auto& some : latencies) all.insert(all.end(), some.begin(), some.end());
  const std::size_t count = all.size();
  return fmt::format(R"({{"threads":{},"file_bytes":{},"acks":{},"acks_per_s":{:.1f},{}}})",
                     options_.threads, files_.front().size(), count,
                     static_cast<double>(count) / seconds.count(),
                     percentiles_json(std::move(all)));
}

int main_of_floor(int argc, char** argv) {
  CLI::App app("Writes, links, renames and syncs files as a landing does, and nothing else.");
  Options options;
  app.add_option("--files", options.files, "a data/ folder of Strata's")->required();
  app.add_option("--folder", options.folder, "a fresh one to write below")->required();
  app.add_option("--threads", options.threads, "that land side by side");
  app.add_option("--warm-up", options.warm_up_seconds, "seconds that do not count");
  app.add_option("--seconds", options.seconds, "that count");
  app.add_option("--acks", options.acks_max, "the window ends after so many");
  CLI11_PARSE(app, argc, argv);
  fmt::print("{}\n", Floor(options).run());
  return 0;
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) {
  try {
    return strata::bench::main_of_floor(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "floor: {}\n", error.what());
    return 1;
  }
}
