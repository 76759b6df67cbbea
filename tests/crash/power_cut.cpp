// power_cut --work FOLDER --type ext4|xfs ...: publish_rig processes on a file system whose disk
// recfs logs; then, for cuts at random places of the log, the disk as the cut may have left it:
// mounted, recovered by the product's own code, read file by file, every batch sent again. One line
// of JSON per state; what it means is judged by tests/crash/rig.mjs. With --during-recovery the
// power is cut twice: what is recorded and cut again is the recovery of one such disk.
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "disk_states.h"
#include "io/posix_file_system.h"
#include "mounts.h"
#include "rig_stream.h"
#include "survey_json.h"

namespace strata::crash {
namespace {

namespace json = boost::json;

constexpr std::uintmax_t kDiskBytes = 64ULL * 1024 * 1024;
constexpr std::size_t kUnseenRetries = 12;
constexpr std::size_t kSeenRetries = 4;

struct Options {
  std::string work, rig, recfs;
  std::string type = "ext4";
  int states = 10;
  std::uint64_t seed = 1;
  int processes = 1;
  int threads = 1;
  int batches = 30;
  bool duplicates = false;
  bool exchange = false;
  bool during_recovery = false;
  std::string mutant = "none";
  std::string pause_us = "0";
  std::string fold_percent = "0";
};

struct Ack {
  std::string id, file_sha256;
  std::uint64_t position = 0;
};

class PowerCut {
 public:
  explicit PowerCut(const Options& options)
      : options_(options), random_(options.seed), fs_(io::make_posix_file_system()) {}

  void run() {
    make_disk();
    record([this] { run_rigs(); });
    read_acks();
    if (options_.during_recovery) record_recovery();
    replay();
  }

 private:
  std::string at(const std::string& name) const { return options_.work + "/" + name; }

  void make_disk() {
    for (const char* folder : {"fuse", "mount"}) ::mkdir(at(folder).c_str(), 0700);
    std::ofstream(at("disk")).close();
    std::filesystem::resize_file(at("disk"), kDiskBytes);
    // mkfs.xfs makes disks this small for its own tests only, which it knows by these names.
    for (const char* name : {"TEST_DIR", "TEST_DEV", "QA_CHECK_FS"}) ::setenv(name, "1", 1);
    const std::vector<std::string> command =
        options_.type == "ext4"
            ? std::vector<std::string>{"mkfs.ext4", "-q", "-F", "-E", "nodiscard", at("disk")}
            : std::vector<std::string>{"mkfs.xfs", "-q", "-f", "-K", at("disk")};
    if (wait_for(start(command)) != 0) die(command.front());
    std::filesystem::copy_file(at("disk"), at("stable"));
  }

  void record(const std::function<void()>& work) {
    const pid_t recfs = start({options_.recfs, at("disk"), at("log"), at("fuse")});
    for (int i = 0; i < 1000 && ::access(at("fuse/disk").c_str(), F_OK) != 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    {
      const LoopMount disk(at("fuse/disk"), options_.type, at("mount"));
      if (!disk.mounted()) die("mount the disk");
      work();
    }
    for (int i = 0; i < 500 && ::umount2(at("fuse").c_str(), 0) != 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the loop device lets go
    }
    wait_for(recfs);
  }

  /// Cuts once; from here on the log is that of the recovery, to which every batch that had been
  /// acknowledged is an old one.
  void record_recovery() {
    DiskStates states;
    if (!states.open(at("log"), at("stable"))) die("read the log");
    const Cut cut{some_ack(), static_cast<Survivors>(random_() % 4)};
    if (!states.make(cut, random_, at("disk"))) die("make a state");
    std::filesystem::copy_file(at("disk"), at("stable"),
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::remove(at("log"));
    std::erase_if(acks_, [&](const Ack& ack) { return ack.position > cut.position; });
    for (Ack& ack : acks_) ack.position = 0;
    record([this] {
      const int code = wait_for(start({options_.rig, "recover", at("mount"), "--process", "again",
                                       "--seed", fmt::format("{}", options_.seed)}));
      if (code != 0) die(fmt::format("the recovery ended with {}", code));
    });
  }

  std::string ids(int process) const {
    const int first = options_.duplicates ? 0 : process * options_.batches;
    return fmt::format("b:{}:{}", first, options_.batches);
  }

  void run_rigs() {
    std::ofstream(at("barrier")) << std::string(8, '\0') << std::flush;
    std::vector<pid_t> rigs;
    for (int n = 0; n < options_.processes; ++n) {
      std::vector<std::string> command{
          options_.rig,
          "land",
          at("mount"),
          "--process",
          fmt::format("rig-{}", n),
          "--ids",
          ids(n),
          "--acks",
          at(fmt::format("acks-{}", n)),
          "--position",
          at("log"),
          "--threads",
          fmt::format("{}", options_.threads),
          "--seed",
          fmt::format("{}", options_.seed * 10 + static_cast<std::uint64_t>(n)),
          "--mutant",
          options_.mutant,
          "--pause-us",
          options_.pause_us,
          "--fold-percent",
          options_.fold_percent};
      // One process exchanges, as one compacts.
      if (options_.exchange && n == 0) command.emplace_back("--exchange");
      if (options_.duplicates) {
        for (const std::string& word :
             {std::string("--barrier"), at("barrier"), std::string("--parties"),
              fmt::format("{}", options_.processes)}) {
          command.push_back(word);
        }
      }
      rigs.push_back(start(command));
    }
    for (const pid_t rig : rigs) {
      const int code = wait_for(rig);
      // A mutant may end in an error that the product notices.
      if (code != 0 && options_.mutant == "none")
        die(fmt::format("publish_rig ended with {}", code));
    }
  }

  void read_acks() {
    for (int n = 0; n < options_.processes; ++n) {
      std::ifstream in(at(fmt::format("acks-{}", n)));
      std::string word, landing;
      Ack ack;
      while (in >> word >> ack.id >> ack.file_sha256 >> landing >> ack.position) {
        acks_.push_back(ack);
        if (landing != "landed") replays_.push_back(ack);
      }
    }
    if (acks_.empty()) die("nothing was acknowledged");
  }

  /// Half of them right after an acknowledgement, where the most is at stake; a recovery
  /// acknowledges nothing.
  std::vector<Cut> cuts(std::uint64_t end) {
    std::vector<Cut> cuts;
    for (int n = 0; n < options_.states; ++n) {
      const bool after_ack = n % 2 == 0 && !options_.during_recovery;
      const std::uint64_t position = after_ack ? some_ack() : random_() % (end + 1);
      const bool hardest = after_ack && random_() % 2 == 0;
      cuts.push_back(
          {position, hardest ? Survivors::kNone : static_cast<Survivors>(random_() % 4)});
    }
    std::ranges::sort(cuts, {}, &Cut::position);
    return cuts;
  }

  /// As often after a replay, if there were any, as after a landing.
  std::uint64_t some_ack() {
    const auto& acks = replays_.empty() || random_() % 2 == 0 ? acks_ : replays_;
    return acks[random_() % acks.size()].position;
  }

  void replay() {
    DiskStates states;
    if (!states.open(at("log"), at("stable"))) die("read the log");
    for (const Cut& cut : cuts(states.log_size())) {
      if (!states.make(cut, random_, at("state"))) die("make a state");
      json::object line{{"cut", cut.position}, {"survivors", survivors_name(cut.survivors)}};
      json::array acked;
      for (const Ack& ack : acks_) {
        if (ack.position <= cut.position) acked.push_back(json::array{ack.id, ack.file_sha256});
      }
      line["acked"] = std::move(acked);
      {
        const LoopMount disk(at("state"), options_.type, at("mount"));
        if (disk.mounted()) look(line);
        line["error"] = disk.mounted() ? error_ : "the disk could not be mounted";
      }
      std::cout << json::serialize(line) << '\n' << std::flush;
    }
  }

  void look(json::object& line) {
    const auto looked = survey_and_retry(line);
    error_ = looked ? ""
                    : fmt::format("{} {} {}", code_name(looked.error().code),
                                  looked.error().message, looked.error().detail);
  }

  Result<void> survey_and_retry(json::object& line) {
    STRATA_ASSIGN_OR_RETURN(const auto stream,
                            RigStream::open(*fs_, {.root = at("mount"), .process = "after-cut"}));
    STRATA_RETURN_IF_ERROR(stream->recover());
    STRATA_ASSIGN_OR_RETURN(const Survey first, stream->survey());
    line["first"] = survey_json(first);
    json::array retries;
    for (const std::string& id : retried(first)) {
      const auto landed = stream->land(BatchId::parse(id).value());
      retries.push_back(
          json::array{id, landed ? landing_name(landed->landing) : code_name(landed.error().code)});
    }
    line["retries"] = std::move(retries);
    STRATA_ASSIGN_OR_RETURN(const Survey after, stream->survey());
    line["after"] = survey_json(after);
    return {};
  }

  static std::string_view landing_name(io::Landing landing) {
    return landing == io::Landing::kLanded ? "landed" : "replayed";
  }

  std::vector<std::string> retried(const Survey& survey) {
    std::map<std::string, bool> seen;
    for (int n = 0; n < options_.batches * (options_.duplicates ? 1 : options_.processes); ++n) {
      seen[fmt::format("b{}", n)] = false;
    }
    for (const Survey::Batch& batch : survey.batches) seen[batch.id] = true;
    std::vector<std::string> unseen_ids, seen_ids;
    for (const auto& [id, is_seen] : seen) (is_seen ? seen_ids : unseen_ids).push_back(id);
    unseen_ids.resize(std::min(unseen_ids.size(), kUnseenRetries));
    std::ranges::shuffle(seen_ids, random_);
    seen_ids.resize(std::min(seen_ids.size(), kSeenRetries));
    unseen_ids.insert(unseen_ids.end(), seen_ids.begin(), seen_ids.end());
    return unseen_ids;
  }

  const Options& options_;
  std::mt19937_64 random_;
  const std::unique_ptr<io::FileSystem> fs_;
  std::vector<Ack> acks_;
  std::vector<Ack> replays_;  // of them, those of an id that somebody else had landed
  std::string error_;
};

}  // namespace
}  // namespace strata::crash

int main(int argc, char** argv) {
  strata::crash::Options options;
  CLI::App app("Power cuts under the product's publish code");
  app.add_option("--work", options.work)->required();
  app.add_option("--rig", options.rig)->required();
  app.add_option("--recfs", options.recfs)->required();
  app.add_option("--type", options.type);
  app.add_option("--states", options.states);
  app.add_option("--seed", options.seed);
  app.add_option("--processes", options.processes);
  app.add_option("--threads", options.threads);
  app.add_option("--batches", options.batches);
  app.add_flag("--duplicates", options.duplicates);
  app.add_flag("--exchange", options.exchange);
  app.add_flag("--during-recovery", options.during_recovery);
  app.add_option("--mutant", options.mutant);
  app.add_option("--pause-us", options.pause_us);
  app.add_option("--fold-percent", options.fold_percent);
  CLI11_PARSE(app, argc, argv);
  strata::crash::enter_private_mounts();
  strata::crash::PowerCut(options).run();
  return 0;
}
