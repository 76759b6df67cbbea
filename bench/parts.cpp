// The parts of a landing by themselves, on one thread: Google Benchmark's own options and output.
// The argument is the number of rows of five columns.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "base/sha256.h"
#include "bodies.h"
#include "duck/copy_batch_writer.h"
#include "ndjson/parse.h"
#include "parquet/file_encoder.h"
#include "parquet/footer.h"
#include "stream/batch_file.h"

namespace strata::bench {
namespace {

/// A parsed batch and what its file is made of besides the cells.
class Batch {
 public:
  explicit Batch(benchmark::State& state)
      : body_(make_body(static_cast<std::uint64_t>(state.range(0)), 1)),
        cells_(ndjson::parse(body_, {}).value()) {}

  std::string_view body() const { return body_; }
  const CellTable& cells() const { return cells_; }
  parquet::BatchFile file() const {
    return {.cells = cells_,
            .stored_names = cells_.columns,
            .batch_id = "bench-00000001",
            .key_values = key_values_};
  }

 private:
  const std::string body_;
  const CellTable cells_;
  // As long as a landing's own: seven short texts and three digests.
  const parquet::KeyValues key_values_ = {
      {"batch_id", "bench-00000001"},
      {"kb", "bench"},
      {"stream", "s"},
      {"attempt", "node-0123456789abcdef-1234/1.parquet"},
      {"arrived_at", "2026-06-29T00:00:00.000000Z"},
      {"rows", "100"},
      {"columns", "5"},
      {"body_sha256", parquet::file_sha256_placeholder()},
      {"content_sha256", parquet::file_sha256_placeholder()},
      {"file_sha256", parquet::file_sha256_placeholder()},
  };
};

void count_rows(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void count_file(benchmark::State& state, std::uint64_t bytes) {
  count_rows(state);
  state.counters["file_bytes"] = static_cast<double>(bytes);
}

void encode(benchmark::State& state) {
  const Batch batch(state);
  parquet::FileEncoder encoder;
  std::size_t bytes = 0;
  for (auto iteration : state) {
    auto file = encoder.encode(batch.file());
    STRATA_CHECK(file.has_value());
    bytes = file->size();
    benchmark::DoNotOptimize(file->data());
  }
  count_file(state, bytes);
}

/// A fresh name in a folder that is memory, so that the disk takes no part.
class ScratchFile {
 public:
  ScratchFile()
      : path_(std::string(std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp") +
              "/strata-bench-" + random_hex(16) + ".parquet") {}
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() { remove(); }

  const std::string& path() const { return path_; }
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  const std::string path_;
};

void copy(benchmark::State& state) {
  const Batch batch(state);
  auto writer = duck::make_copy_batch_writer({});
  STRATA_CHECK(writer.has_value());
  const ScratchFile scratch;
  for (auto iteration : state) {
    state.PauseTiming();
    scratch.remove();
    state.ResumeTiming();
    const auto written = (*writer)->write(batch.file(), scratch.path());
    STRATA_CHECK(written.has_value());
  }
  count_file(state, std::filesystem::file_size(scratch.path()));
}

void parse(benchmark::State& state) {
  const Batch batch(state);
  for (auto iteration : state) {
    auto cells = ndjson::parse(batch.body(), {});
    STRATA_CHECK(cells.has_value());
    benchmark::DoNotOptimize(cells->fields.data());
  }
  count_rows(state);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(batch.body().size()));
}

void body_digest(benchmark::State& state) {
  const Batch batch(state);
  for (auto iteration : state) benchmark::DoNotOptimize(sha256_hex(batch.body()));
  count_rows(state);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(batch.body().size()));
}

void content_digest(benchmark::State& state) {
  const Batch batch(state);
  for (auto iteration : state) {
    benchmark::DoNotOptimize(stream::content_sha256(batch.cells(), batch.cells().columns));
  }
  count_rows(state);
}

/// COPY may hand work to DuckDB's threads: the processor time is that of the whole process.
void for_all_sizes(benchmark::internal::Benchmark* part) {
  part->Arg(1)->Arg(100)->Arg(10'000)->MeasureProcessCPUTime();
}

BENCHMARK(encode)->Apply(for_all_sizes);
BENCHMARK(copy)->Apply(for_all_sizes);
BENCHMARK(parse)->Apply(for_all_sizes);
BENCHMARK(body_digest)->Apply(for_all_sizes);
BENCHMARK(content_digest)->Apply(for_all_sizes);

}  // namespace
}  // namespace strata::bench

BENCHMARK_MAIN();
