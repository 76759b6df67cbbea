#include "duck/write_error.h"

#include <string>

namespace strata::duck {

bool is_disk_full(std::string_view text) {
  // strerror(ENOSPC) and strerror(EDQUOT): DuckDB passes on the text only, not errno.
  return text.find("No space left on device") != std::string_view::npos ||
         text.find("Disk quota exceeded") != std::string_view::npos;
}

Error write_error(duckdb_error_type type, std::string_view text) {
  std::string detail(text);
  if (is_disk_full(text)) {
    return make_error(Code::kDiskFull,
                      "The disk is full, the batch is not stored; free some space, then send it "
                      "again with the same id.",
                      std::move(detail));
  }
  if (type == DUCKDB_ERROR_IO) {
    return make_error(Code::kIo,
                      "The disk did not take the batch, nothing is stored; send it again with the "
                      "same id.",
                      std::move(detail));
  }
  if (type == DUCKDB_ERROR_OUT_OF_MEMORY) {
    // Other batches' memory, most likely: the same batch fits when they are done.
    return make_error(Code::kIo,
                      "The memory for encoding batches is used up, nothing is stored; send it "
                      "again with the same id.",
                      std::move(detail));
  }
  return make_error(Code::kInternal,
                    "The batch could not be encoded, nothing is stored; the server's log says "
                    "why.",
                    std::move(detail));
}

bool is_fatal(duckdb_error_type type) {
  return type == DUCKDB_ERROR_FATAL || type == DUCKDB_ERROR_INTERNAL;
}

}  // namespace strata::duck
