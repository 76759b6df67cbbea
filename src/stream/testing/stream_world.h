#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "io/posix_file_system.h"
#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/temp_dir.h"
#include "kb/testing/fake_worker_pool.h"
#include "stream/landing.h"
#include "stream/streams.h"

namespace strata::stream {

/// Memory where there is some to write to: the sweeps sync thousands of times, and what a sync
/// saves is not their subject.
inline std::string fast_folder() {
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

/// What the processes of one test share: a root on the real disk, a clock that stands still.
struct World {
  io::TempDir temp{fast_folder()};
  std::string root = std::filesystem::canonical(temp.path()).string() + "/root";
  FakeClock clock{std::chrono::sys_days(std::chrono::year(2026) / 6 / 29)};
};

/// One server process without its sockets. Ended without close(), as by a kill, unless closed.
class Process {
 public:
  explicit Process(World& world, const std::string& node = "n",
                   const kb::SharedServices& shared = {})
      : world_(world) {
    root = kb::Root::open(faults, world.clock, {.path = world.root, .node = node, .shared = shared})
               .value();
    writer = parquet::make_batch_writer();
    kbs = kb::Knowledgebases::create({faults, world.clock, *root, workers, acquisitions});
    services = std::make_unique<StreamServices>(faults, world.clock, *root, *writer);
    indexes = std::make_unique<IndexJob>();
    views = std::make_unique<ViewJob>(*indexes);
    streams = std::make_unique<Streams>(*services, *kbs, *indexes, *views);
    if (!kbs->find(kb_id())) {
      EXPECT_OK(kbs->create(kb_id(), "file"));
    }
    EXPECT_OK(streams->open_all());
  }

  /// The jobs' threads work on streams.
  ~Process() {
    views->stop();
    indexes->stop();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  static KbId kb_id() { return KbId::parse("demo").value(); }
  kb::Knowledgebase& knowledgebase() { return *kbs->find(kb_id()).value(); }

  Stream& stream(const std::string& name, Receiver settings = {}) {
    const StreamId id = StreamId::parse(name).value();
    if (const auto found = streams->find(knowledgebase(), id)) return **found;
    return *streams->create(knowledgebase(), id, std::move(settings)).value().stream;
  }

  std::expected<Landed, Refusal> land(Stream& stream, const std::string& id,
                                      const std::string& body) {
    return stream::land(
        *services, stream,
        {.body = body, .id = BatchId::parse(id).value(), .arrived_at = world_.clock.wall()});
  }

 private:
  World& world_;
  std::unique_ptr<io::FileSystem> disk_ = io::make_posix_file_system();

 public:
  io::FaultyFileSystem faults{*disk_};
  kb::FakeWorkerPool workers{*disk_};
  lock::AcquisitionCounter acquisitions;
  std::unique_ptr<kb::Root> root;
  std::unique_ptr<parquet::BatchWriter> writer;
  std::unique_ptr<kb::Knowledgebases> kbs;
  std::unique_ptr<StreamServices> services;
  std::unique_ptr<IndexJob> indexes;
  std::unique_ptr<ViewJob> views;
  std::unique_ptr<Streams> streams;
};

}  // namespace strata::stream
