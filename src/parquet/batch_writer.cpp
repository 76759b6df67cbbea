#include "parquet/batch_writer.h"

#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "parquet/file_encoder.h"

namespace strata::parquet {
namespace {

/// An encoder that has seen a larger batch is not kept: its buffers are as large as that batch.
constexpr std::size_t kFieldsKeptMax = 256UL * 1024;

/// Lends an encoder to each call, so that its buffers serve the next batch, whichever thread's.
class PooledBatchWriter final : public BatchWriter {
 public:
  Result<std::string> encode(const BatchFile& file) override {
    std::unique_ptr<FileEncoder> encoder = take();
    auto bytes = encoder->encode(file);
    if (file.cells.fields.size() <= kFieldsKeptMax) give_back(std::move(encoder));
    return bytes;
  }

  Result<std::string> encode_empty(std::span<const std::string> columns) override {
    return FileEncoder().encode_empty(columns);
  }

 private:
  std::unique_ptr<FileEncoder> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<FileEncoder>();
    std::unique_ptr<FileEncoder> encoder = std::move(idle_.back());
    idle_.pop_back();
    return encoder;
  }

  void give_back(std::unique_ptr<FileEncoder> encoder) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(encoder));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<FileEncoder>> idle_;  // by mutex_
};

}  // namespace

Error cannot_encode(std::string detail) {
  return make_error(Code::kInternal,
                    "The batch could not be encoded, nothing is stored; the server's log says "
                    "why.",
                    std::move(detail));
}

Result<void> check_column_names(std::span<const std::string_view> names) {
  std::set<std::string> seen;
  for (const std::string_view name : names) {
    if (name.empty() || name.find('\0') != std::string_view::npos) {
      return cannot_encode("a column name is empty or holds a NUL");
    }
    if (!seen.insert(ascii_lower(name)).second) {
      return cannot_encode("two columns are named " + std::string(name));
    }
  }
  if (seen.empty()) return cannot_encode("a file without columns");
  return {};
}

std::unique_ptr<BatchWriter> make_batch_writer() { return std::make_unique<PooledBatchWriter>(); }

}  // namespace strata::parquet
