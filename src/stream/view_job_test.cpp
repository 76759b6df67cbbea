#include "stream/view_job.h"

#include <gtest/gtest.h>

#include "stream/testing/stream_world.h"

namespace strata::stream {
namespace {

/// A process whose views are made by real workers.
struct RealProcess {
  explicit RealProcess(World& world) {
    root = kb::Root::open(*disk, world.clock, {.path = world.root}).value();
    workers = duck::make_worker_pool({.program = STRATA_WORKER_STUB, .workers_max = 1});
    writer = parquet::make_batch_writer();
    kbs = kb::Knowledgebases::create({*disk, world.clock, *root, *workers, acquisitions});
    services = std::make_unique<StreamServices>(*disk, world.clock, *root, *writer);
    indexes = std::make_unique<IndexJob>();
    views = std::make_unique<ViewJob>(*indexes);
    streams = std::make_unique<Streams>(*services, *kbs, *indexes, *views);
    const KbId id = KbId::parse("demo").value();
    if (!kbs->find(id)) {
      EXPECT_OK(kbs->create(id, "file"));
    }
    knowledgebase = kbs->find(id).value();
    EXPECT_OK(streams->open_all());
  }
  ~RealProcess() {
    views->stop();
    indexes->stop();
  }
  RealProcess(const RealProcess&) = delete;
  RealProcess& operator=(const RealProcess&) = delete;

  Stream& landed(const World& world, const std::string& name) {
    Stream& stream =
        *streams->create(*knowledgebase, StreamId::parse(name).value(), {}).value().stream;
    EXPECT_TRUE(land(*services, stream,
                     {.body = "{\"a\":1}\n",
                      .id = BatchId::parse("b").value(),
                      .arrived_at = world.clock.wall()}));
    return stream;
  }
  std::uint64_t acquired(const std::string& stream, kb::Purpose purpose) const {
    const auto counts = acquisitions.snapshot();
    const auto found = counts.find({"demo", stream, purpose});
    return found == counts.end() ? 0 : found->second;
  }

  std::unique_ptr<io::FileSystem> disk = io::make_posix_file_system();
  lock::AcquisitionCounter acquisitions;
  std::unique_ptr<kb::Root> root;
  std::unique_ptr<duck::WorkerPool> workers;
  std::unique_ptr<parquet::BatchWriter> writer;
  std::unique_ptr<kb::Knowledgebases> kbs;
  std::unique_ptr<StreamServices> services;
  std::unique_ptr<IndexJob> indexes;
  std::unique_ptr<ViewJob> views;
  std::unique_ptr<Streams> streams;
  kb::Knowledgebase* knowledgebase = nullptr;
};

constexpr std::chrono::seconds kLong{60};

TEST(ViewJob, OneLockAndOneGenerationAStreamForEver) {
  World world;
  {
    RealProcess process(world);
    Stream& stream = process.landed(world, "s");
    EXPECT_TRUE(process.views->want_and_wait(stream, kLong));
    EXPECT_EQ(process.knowledgebase->generations().newest().value().number, 2U);
    EXPECT_TRUE(process.views->want_and_wait(stream, kLong));
    EXPECT_OK(process.views->resync(stream));
    EXPECT_EQ(process.acquired("s", kb::Purpose::kView), 1U);
    EXPECT_EQ(process.acquired("s", kb::Purpose::kResync), 0U);
    EXPECT_EQ(process.knowledgebase->generations().newest().value().number, 2U);
  }
  RealProcess next(world);
  Stream& stream = next.landed(world, "s");
  EXPECT_TRUE(next.views->want_and_wait(stream, kLong));
  EXPECT_EQ(next.acquired("s", kb::Purpose::kView), 0U);
  EXPECT_EQ(next.knowledgebase->generations().newest().value().number, 2U);
}

TEST(ViewJob, AViewThatTheLocksHolderMakesNeedsNoSecondLock) {
  World world;
  RealProcess holder(world);
  Stream& made = holder.landed(world, "s");
  RealProcess waiter(world);
  Stream& wanted = waiter.landed(world, "s");
  const auto lease = holder.knowledgebase->lock().acquire(
      {.kb = "demo", .stream = "s", .purpose = kb::Purpose::kView});
  ASSERT_OK(lease);
  waiter.views->want(wanted);
  ASSERT_OK(holder.knowledgebase->generations().publish({view_ddl(made)}));
  EXPECT_TRUE(waiter.views->want_and_wait(wanted, kLong));
  EXPECT_EQ(waiter.acquired("s", kb::Purpose::kView), 0U);
  EXPECT_EQ(waiter.knowledgebase->generations().newest().value().number, 2U);
}

TEST(ViewJob, AMovedFolderGetsItsViewsAgain) {
  World world;
  {
    RealProcess process(world);
    EXPECT_TRUE(process.views->want_and_wait(process.landed(world, "s"), kLong));
  }
  const std::string moved = world.root + " moved";
  std::filesystem::rename(world.root, moved);
  world.root = moved;
  RealProcess process(world);
  Stream& stream = process.landed(world, "s");
  EXPECT_TRUE(process.views->want_and_wait(stream, kLong));
  EXPECT_EQ(process.acquired("s", kb::Purpose::kRelocate), 1U);
  EXPECT_EQ(process.acquired("s", kb::Purpose::kView), 0U);
  const auto newest = process.knowledgebase->generations().newest();
  ASSERT_OK(newest);
  EXPECT_EQ(newest->number, 3U);
  ASSERT_OK_AND_ASSIGN(const auto views, process.knowledgebase->generations().views(*newest));
  ASSERT_EQ(views.size(), 1U);
  EXPECT_NE(views.front().sql.find(moved + "/kb/demo"), std::string::npos) << views.front().sql;
}

TEST(ViewJob, AnErrorIsToldAndTheNextWishTriesAgain) {
  World world;
  RealProcess process(world);
  Stream& stream = process.landed(world, "s");
  const std::string generations = process.knowledgebase->folder() + "/generations";
  std::filesystem::rename(generations, generations + ".away");
  EXPECT_FALSE(process.views->want_and_wait(stream, kLong));
  EXPECT_EQ(stream.view_state(), ViewState::kError);
  EXPECT_FALSE(stream.view_error().empty());
  std::filesystem::rename(generations + ".away", generations);
  EXPECT_TRUE(process.views->want_and_wait(stream, kLong));
  EXPECT_EQ(stream.view_state(), ViewState::kReady);
  EXPECT_EQ(stream.view_error(), "");
}

}  // namespace
}  // namespace strata::stream
