#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "io/batch_facts.h"
#include "io/file_system.h"

namespace strata::io {

/// The ids whose claim was folded away by compaction or retention: they stay this stream's for
/// ever. Whoever folds writes the ledger entry durably first, takes the data name away next and the
/// claim last. Thread-safe.
class Ledger {
 public:
  virtual ~Ledger() = default;
  virtual Result<std::optional<BatchFacts>> find(const BatchId& id) = 0;
};

/// The ledger of one stream: `ledger/000001.ids` and so on, immutable, published no-replace, never
/// freed (docs/adr/0005-ledger.md). What they hold is indexed in memory, 24 bytes an id. Every
/// find() looks whether the next number is there, so that what any process folded is known before
/// its claim goes; where it is not, that look is all a landing pays. Thread-safe.
class FileLedger final : public Ledger {
 public:
  /// Reads all of `folder`, which must exist. kIo: a file is damaged or missing; nothing may land
  /// then, for a folded id could land again.
  static Result<std::unique_ptr<FileLedger>> open(FileSystem& fs,
                                                  std::unique_ptr<Directory> folder);

  Result<std::optional<BatchFacts>> find(const BatchId& id) override;

  /// Adds `batches`; they are durable when it returns, and only then may their names and claims go.
  /// An id that is there already may be added again, with the same facts. `staging`: see
  /// publish_numbered. After an error some of them may be there. kConflict: two of one id.
  Result<void> add(std::vector<BatchFacts> batches, const Directory& staging);

  /// How many ids it knows of at the moment, those added twice counted twice.
  std::uint64_t size() const;

 private:
  struct OnlyOpen {};

 public:
  FileLedger(OnlyOpen, FileSystem& fs, std::unique_ptr<Directory> folder);

 private:
  /// Where an id's line is. Several ids may share a digest: the line tells.
  struct Place {
    std::uint64_t digest = 0;  // the first 8 bytes of SHA-256(id)
    std::uint32_t file = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };

  Result<void> refresh();
  Result<void> load(std::uint64_t number);
  Result<void> publish(const std::string& bytes, const Directory& staging);
  std::vector<Place> places_of(std::uint64_t digest) const;

  FileSystem& fs_;
  const std::unique_ptr<Directory> folder_;
  std::mutex load_mutex_;  // one thread reads new files
  std::atomic<std::uint64_t> next_ = 1;
  mutable std::shared_mutex mutex_;  // guards places_
  std::vector<Place> places_;        // by digest
};

/// One file's bytes: its lines sorted by id. `batches` must not be empty; each id once.
Result<std::string> ledger_file(std::vector<BatchFacts> batches);

}  // namespace strata::io
