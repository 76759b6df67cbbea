#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/file_system.h"
#include "io/publish.h"
#include "parquet/batch_writer.h"

namespace strata::stream {

/// What a registry file lists. kIo: it is none of ours.
Result<std::vector<std::string>> columns_from_json(const std::string& text);

/// A stream's column registry (`columns/<n>.json`: order and first spelling; numbers and columns
/// are never freed) and the anchor `data/.schema.parquet` that shows it to readers.
/// I4: before a batch is published, the registry and the anchor hold every column of it.
/// Thread-safe; several processes may extend one registry.
class Columns {
 public:
  /// Loads what is there and repairs the anchor. `publisher` and the others outlive it.
  static Result<std::unique_ptr<Columns>> open(io::FileSystem& fs, io::Publisher& publisher,
                                               parquet::BatchWriter& writer);

  /// The name each of `names` is stored by: the first spelling this stream saw. Unknown ones are
  /// added first, durably. kBadBatch: the stream would pass its cap of columns.
  Result<std::vector<std::string>> store(std::span<const std::string> names);

  /// What store() would answer now, without adding: for what is only checked.
  Result<std::vector<std::string>> foresee(std::span<const std::string> names);

  /// The same as store() without adding: nothing where a name is unknown.
  Result<std::optional<std::vector<std::string>>> lookup(std::span<const std::string> names);

  /// In order, as far as this process knows.
  std::vector<std::string> list() const;
  /// As the folder has them now; they are not taken over.
  Result<std::vector<std::string>> newest();
  /// Takes over what other processes added, once the anchor shows it.
  Result<void> reload();

  /// What is wrong with the anchor, compared with what the registry asks for now; nothing: it is
  /// right. While columns are added the anchor may lag for a moment.
  Result<std::optional<std::string>> anchor_problem();
  /// Makes the anchor again, whatever stands there. Durable when it returns.
  Result<void> renew_anchor();

  Columns(io::FileSystem& fs, io::Publisher& publisher, parquet::BatchWriter& writer,
          std::unique_ptr<io::Directory> folder);

 private:
  struct List {
    std::uint64_t number = 0;
    std::vector<std::string> names;
    std::map<std::string, std::size_t> by_folded;  // ASCII lower case, as DuckDB folds

    /// Nothing where a name is unknown.
    std::optional<std::vector<std::string>> stored(std::span<const std::string> wanted) const;
    void add(const std::string& name);
    /// kBadBatch: more than the cap.
    Result<void> extend(std::span<const std::string> wanted);
  };

  Result<List> read_newest();
  Result<void> publish(const List& list);
  Result<void> adopt(List list);
  Result<void> settle_anchor();
  Result<void> replace_anchor(io::Entry anchor, const std::vector<std::string>& names);

  io::FileSystem& fs_;
  io::Publisher& publisher_;
  parquet::BatchWriter& writer_;
  const std::unique_ptr<io::Directory> folder_;
  std::mutex extend_mutex_;        // one extension at a time in this process
  mutable std::mutex list_mutex_;  // guards list_
  List list_;
};

}  // namespace strata::stream
