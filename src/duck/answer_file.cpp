#include "duck/answer_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace strata::duck {
namespace {

Error failed(const char* step) {
  return make_error(Code::kInternal, "the answer's memory could not be used",
                    fmt::format("{}: {}", step, std::strerror(errno)));
}

}  // namespace

Result<AnswerFile> AnswerFile::make() {
  // Kernels that want to be told know the flag (6.3), older ones do not.
  constexpr unsigned kNoExec = 0x0008U;  // MFD_NOEXEC_SEAL
  UniqueFd fd(::memfd_create("answer", MFD_CLOEXEC | kNoExec));
  if (!fd.valid() && errno == EINVAL) fd.reset(::memfd_create("answer", MFD_CLOEXEC));
  if (!fd.valid()) return failed("memfd_create");
  return AnswerFile(std::move(fd));
}

std::string AnswerFile::path() const { return fmt::format("/proc/self/fd/{}", fd_.get()); }

Result<std::uint64_t> AnswerFile::size() const {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) return failed("fstat");
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::string> AnswerFile::read(std::uint64_t offset, std::size_t size) const {
  std::string bytes(size, '\0');
  // From memory: nothing to be interrupted at.
  const ssize_t got = ::pread(fd_.get(), bytes.data(), size, static_cast<off_t>(offset));
  if (got < 0) return failed("pread");
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

void AnswerFile::clear() { static_cast<void>(::ftruncate(fd_.get(), 0)); }

}  // namespace strata::duck
