#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/unique_fd.h"

namespace strata::duck {

/// Where an answer is written that cannot be made piece by piece (Parquet's lengths stand at its
/// end): memory with a path, because DuckDB writes to paths only. Nothing of it is on a disk or in
/// a folder, so it needs no right to write any, and it goes with the process.
class AnswerFile {
 public:
  /// Before enter_sandbox, which refuses such files from then on. kInternal: the kernel refused.
  static Result<AnswerFile> make();

  /// Under which this process, and no other, opens it.
  std::string path() const;
  /// kInternal: the kernel cannot say.
  Result<std::uint64_t> size() const;
  /// Up to `size` bytes from `offset`; none only at the end.
  Result<std::string> read(std::uint64_t offset, std::size_t size) const;
  /// Gives the memory back.
  void clear();

 private:
  explicit AnswerFile(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace strata::duck
