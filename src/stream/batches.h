#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "io/batch_facts.h"
#include "io/file_system.h"
#include "stream/stream.h"

/// Looking at what has landed: for people, never on the way of a landing.
namespace strata::stream {

/// One file of `data/` by its name and age; whether it is a batch is in its footer.
struct DataFile {
  std::string batch_id;
  std::int64_t modified_ns = 0;
  std::uint64_t bytes = 0;
  auto operator<=>(const DataFile& other) const {
    return std::pair(modified_ns, batch_id) <=> std::pair(other.modified_ns, other.batch_id);
  }
  bool operator==(const DataFile& other) const { return (*this <=> other) == 0; }
};

/// The files of `data/` whose names are those of batches, in no order; the anchor is none. One
/// listing and one look at each name.
Result<std::vector<DataFile>> list_data(io::FileSystem& fs, const io::Directory& data);

/// Whether a batch lies in `data/` now, whichever process landed it: the numbers of others come up
/// to a second later.
Result<bool> has_batches(io::FileSystem& fs, Stream& stream);

/// Where a batch is in a stream's folder.
std::string batch_file_name(const std::string& batch_id);

struct BatchPage {
  std::vector<io::BatchFacts> batches;  // newest first, by the age of their files
  std::optional<std::string> next;      // `before` of the next page; nothing: that was the last
};
/// Reads the footers of the page alone. `before`: only batches older than that one; kNotFound: it
/// is not there.
Result<BatchPage> list_batches(io::FileSystem& fs, Stream& stream, std::size_t limit,
                               const std::optional<BatchId>& before);

struct FoundBatch {
  io::BatchFacts facts;
  /// The file that holds its rows now, relative to the stream's folder; nothing: no file of
  /// `data/` does, as when its file was taken away.
  std::optional<std::string> where;
};
/// By its claim. kNotFound: nothing landed under this id.
Result<FoundBatch> find_batch(io::FileSystem& fs, Stream& stream, const BatchId& id);

}  // namespace strata::stream
