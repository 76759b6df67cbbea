// publish_rig MODE ROOT [options]: one of several processes on one stream folder, which lands small
// batches through the product's own publisher and ledger, whole or with a mutant built in.
//   land         lands --ids PREFIX:FIRST:COUNT and writes `ack ID FILE_SHA256 LANDING POSITION` to
//                --acks as each is acknowledged; POSITION is the size of the file --position
//   recover      the product's recovery, nothing else
//   survey       recovery without a mutant, then one line of JSON: what is there; with --as-it-is
//                without recovery, for where nobody died it has nothing to mend
//   generations  publishes COUNT changes through the product's generations, `ack NAME - - 0`
//   newest       prints the newest generation's changes, one a line
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "barrier.h"
#include "io/numbered.h"
#include "io/posix_file_system.h"
#include "kb/file_generations.h"
#include "kb/testing/fake_worker_pool.h"
#include "rig_stream.h"
#include "survey_json.h"

namespace strata::crash {
namespace {

struct Options {
  std::string root;
  std::string process;
  std::string mutant = "none";
  std::string ids = "b:0:10";
  std::string acks;
  std::string position;
  std::string barrier;
  int parties = 1;
  int threads = 1;
  std::uint64_t seed = 0;
  std::uint64_t pause_us_max = 0;
  int fold_percent = 0;
  bool exchange = false;
  bool as_it_is = false;
};

constexpr int kTries = 20;
constexpr std::string_view kGenerationSuffix = ".duckdb";
constexpr std::uint64_t kGenerationBytesMax = 1 << 20;

/// Once it is late every generation is old enough to be collected, however young its file. Not
/// before: who opens sweeps the staging folder by age, and others are at work in it.
class LateClock final : public Clock {
 public:
  WallTime wall() const override { return clock_.wall() + std::chrono::hours(late_ ? 3 : 0); }
  SteadyTime steady() const override { return clock_.steady(); }
  void be_late() { late_ = true; }

 private:
  SystemClock clock_;
  bool late_ = false;
};

/// Written and flushed line by line: what is in the file was acknowledged.
class Acks {
 public:
  Acks(const std::string& path, std::string position)
      : out_(path, std::ios::app), position_(std::move(position)) {}
  void write(const std::string& id, const std::string& digest, std::string_view landing) {
    std::uint64_t at = 0;
    if (!position_.empty()) at = std::filesystem::file_size(position_);
    const std::lock_guard lock(mutex_);
    out_ << fmt::format("ack {} {} {} {}\n", id, digest, landing, at) << std::flush;
  }

 private:
  std::mutex mutex_;
  std::ofstream out_;
  const std::string position_;
};

std::string_view name_of(io::Landing landing) {
  switch (landing) {
    case io::Landing::kLanded:
      return "landed";
    case io::Landing::kTaken:
      return "taken";
    case io::Landing::kFolded:
      return "folded";
  }
  return "";
}

std::vector<BatchId> parse_ids(const std::string& text) {
  const auto first = text.find(':');
  const auto second = text.find(':', first + 1);
  STRATA_CHECK(first != std::string::npos && second != std::string::npos);
  const int from = std::stoi(text.substr(first + 1, second - first - 1));
  const int count = std::stoi(text.substr(second + 1));
  std::vector<BatchId> ids;
  for (int n = from; n < from + count; ++n) {
    ids.push_back(BatchId::parse(fmt::format("{}{}", text.substr(0, first), n)).value());
  }
  return ids;
}

void say(const std::string& what, const Error& error) {
  std::cerr << what << ": " << code_name(error.code) << ' ' << error.message << ' ' << error.detail
            << '\n';
}

class Lander {
 public:
  Lander(RigStream& stream, const Options& options)
      : stream_(stream),
        options_(options),
        acks_(options.acks, options.position),
        barrier_(options.barrier, options.parties) {}

  int run() {
    const std::vector<BatchId> ids = parse_ids(options_.ids);
    std::vector<std::thread> threads;
    for (int n = 0; n < options_.threads; ++n)
      threads.emplace_back([this, n, &ids] { land(n, ids); });
    std::thread exchanger([this] { exchange(); });
    for (std::thread& thread : threads) thread.join();
    done_ = true;
    exchanger.join();
    return status_;
  }

 private:
  void land(int thread, const std::vector<BatchId>& ids) {
    std::mt19937_64 random(options_.seed * 31 + static_cast<std::uint64_t>(thread));
    const auto step = static_cast<std::size_t>(options_.threads);
    for (auto i = static_cast<std::size_t>(thread); i < ids.size() && status_ == 0; i += step) {
      barrier_.wait();
      const bool late = random() % 2 == 0;
      if (late && options_.pause_us_max > 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % options_.pause_us_max));
      }
      const bool won = land_one(ids[i], !late);
      if (won && static_cast<int>(random() % 100) < options_.fold_percent) fold(ids[i]);
    }
  }

  /// Whether it was landed here. `at_once`: straight to the claim, as somebody does who saw the id
  /// free a moment ago.
  bool land_one(const BatchId& id, bool at_once) {
    for (int i = 0; i < kTries; ++i) {
      const auto published = at_once && i == 0 ? stream_.publish(id) : stream_.land(id);
      if (published) {
        acks_.write(id.str(), published->facts.file_sha256, name_of(published->landing));
        return published->landing == io::Landing::kLanded;
      }
      if (published.error().code == Code::kDegraded || i + 1 == kTries) {
        say(id.str(), published.error());
        status_ = 3;
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  void fold(const BatchId& id) {
    if (const auto folded = stream_.fold({id}); !folded) {
      say("fold " + id.str(), folded.error());
      status_ = 4;
    }
  }

  void exchange() {
    MutantFileSystem::hurry();
    for (int n = 0; options_.exchange && !done_ && status_ == 0; ++n) {
      const auto exchanged = stream_.exchange(fmt::format("old-{}", n));
      if (!exchanged) {
        say("exchange", exchanged.error());
        status_ = 5;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  RigStream& stream_;
  const Options& options_;
  Acks acks_;
  Barrier barrier_;
  std::atomic<bool> done_ = false;
  std::atomic<int> status_ = 0;
};

int publish_generations(io::FileSystem& disk, io::FileSystem& fs, const Options& options) {
  LateClock clock;
  kb::FakeWorkerPool workers(disk);
  std::mt19937_64 random(options.seed);
  // Now and then a writer sleeps through all that the others publish.
  workers.on_ddl = [&](const duck::DdlSpec&) -> Result<void> {
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    return {};
  };
  const auto root = disk.open_directory(options.root);
  const auto generations = kb::open_generations({.fs = fs,
                                                 .clock = clock,
                                                 .workers = workers,
                                                 .kb_folder = **root,
                                                 .process = options.process});
  if (!generations) {
    say("open", generations.error());
    return 3;
  }
  clock.be_late();
  Acks acks(options.acks, "");
  Barrier(options.barrier, options.parties).wait();
  for (const BatchId& id : parse_ids(options.ids)) {
    duck::Sql sql("CREATE VIEW ");
    sql.ident(id.str());
    const auto published = (*generations)->publish({sql});
    if (!published) {
      say(id.str(), published.error());
      return 3;
    }
    acks.write(id.str(), "-", "-");
  }
  return 0;
}

int print_newest(io::FileSystem& fs, const std::string& root) {
  const auto folder = fs.open_directory(root + "/generations");
  const auto entries = fs.list(**folder);
  std::uint64_t newest = 0;
  for (const io::DirEntry& entry : *entries) {
    const auto size = fs.stat({**folder, entry.name})->size_bytes;
    const auto number = io::parse_numbered(entry.name, kGenerationSuffix);
    if (number && size > 0) newest = std::max(newest, *number);
  }
  std::cout << fs.read({**folder, io::numbered_name(newest, kGenerationSuffix)},
                       kGenerationBytesMax)
                   .value();
  return 0;
}

int run(const std::string& mode, const Options& options, Mutant mutant) {
  const auto disk = io::make_posix_file_system();
  MutantFileSystem fs(
      *disk, {.mutant = mutant, .seed = options.seed, .pause_us_max = options.pause_us_max});
  if (mode == "generations") return publish_generations(*disk, fs, options);
  if (mode == "newest") return print_newest(fs, options.root);
  const std::string process =
      options.process.empty() ? fmt::format("rig-{}", ::getpid()) : options.process;
  const auto stream =
      RigStream::open(fs, {.root = options.root, .process = process, .mutant = mutant});
  if (!stream) {
    say("open", stream.error());
    return 3;
  }
  if (mode == "land") return Lander(**stream, options).run();
  const auto recovered = options.as_it_is ? Result<void>() : (*stream)->recover();
  if (!recovered) say("recover", recovered.error());
  if (!recovered || mode == "recover") return recovered ? 0 : 3;
  const auto survey = (*stream)->survey();
  if (!survey) {
    say("survey", survey.error());
    return 3;
  }
  std::cout << boost::json::serialize(survey_json(*survey)) << '\n';
  return 0;
}

}  // namespace
}  // namespace strata::crash

int main(int argc, char** argv) {
  strata::crash::Options options;
  std::string mode;
  CLI::App app("One process of the crash suites");
  app.add_option("mode", mode)->required();
  app.add_option("root", options.root)->required();
  app.add_option("--process", options.process);
  app.add_option("--mutant", options.mutant);
  app.add_option("--ids", options.ids);
  app.add_option("--acks", options.acks);
  app.add_option("--position", options.position);
  app.add_option("--barrier", options.barrier);
  app.add_option("--parties", options.parties);
  app.add_option("--threads", options.threads);
  app.add_option("--seed", options.seed);
  app.add_option("--pause-us", options.pause_us_max);
  app.add_option("--fold-percent", options.fold_percent);
  app.add_flag("--exchange", options.exchange);
  app.add_flag("--as-it-is", options.as_it_is);
  CLI11_PARSE(app, argc, argv);
  const auto mutant = strata::crash::parse_mutant(options.mutant);
  if (!mutant) {
    std::cerr << "publish_rig: no mutant is called " << options.mutant << '\n';
    return 2;
  }
  return strata::crash::run(mode, options, *mutant);
}
