#include "cli/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace strata::cli {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

Error read_failed(const std::string& name) {
  return make_error(Code::kIo, fmt::format("{} cannot be read: {}", name, std::strerror(errno)));
}

}  // namespace

Result<std::string_view> text_start(std::string_view piece) {
  if (piece.starts_with("\xff\xfe") || piece.starts_with("\xfe\xff")) {
    return make_error(Code::kBadRequest,
                      "the input is UTF-16, and Strata takes UTF-8: convert it with "
                      "iconv -f UTF-16 -t UTF-8");
  }
  if (piece.starts_with(kUtf8Mark)) piece.remove_prefix(kUtf8Mark.size());
  return piece;
}

InputFile::InputFile(File file, std::string name)
    : file_(std::move(file)), name_(std::move(name)), buffer_(kBufferBytes) {}

Result<InputFile> InputFile::open(const std::string& path, std::FILE* in) {
  if (path == "-") {
    const std::string name = "standard input";
    STRATA_ASSIGN_OR_RETURN(File spooled, spool(in, name));
    return InputFile(std::move(spooled), name);
  }
  File file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) {
    const Code code = errno == ENOENT ? Code::kNotFound : Code::kIo;
    return make_error(code, fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
  }
  struct stat status{};
  if (fstat(fileno(file.get()), &status) != 0) return read_failed(path);
  if (S_ISDIR(status.st_mode)) {
    return make_error(Code::kBadRequest, fmt::format("{} is a folder: name a file in it", path));
  }
  if (!S_ISREG(status.st_mode)) {
    STRATA_ASSIGN_OR_RETURN(file, spool(file.get(), path));
  }
  return InputFile(std::move(file), path);
}

Result<InputFile::File> InputFile::spool(std::FILE* from, const std::string& name) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  path += "/strata-send-XXXXXX";
  const int descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) {
    return make_error(Code::kIo, fmt::format("no temporary file for {}: {}; set TMPDIR to a "
                                             "folder that takes it",
                                             name, std::strerror(errno)));
  }
  // Without a name nobody else reads it, and it goes even when this process is killed.
  static_cast<void>(unlink(path.c_str()));
  File spooled(fdopen(descriptor, "w+b"));
  if (spooled == nullptr) {
    close(descriptor);
    return read_failed(name);
  }
  std::vector<char> buffer(kBufferBytes);
  const auto write_failed = [&name] {
    return make_error(Code::kDiskFull, fmt::format("no room for a copy of {}: {}; set TMPDIR to a "
                                                   "folder with more space",
                                                   name, std::strerror(errno)));
  };
  for (;;) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), from);
    if (got == 0) break;
    if (std::fwrite(buffer.data(), 1, got, spooled.get()) != got) return write_failed();
  }
  if (std::ferror(from) != 0) return read_failed(name);
  if (std::fflush(spooled.get()) != 0) return write_failed();
  std::rewind(spooled.get());
  return spooled;
}

Result<std::string_view> InputFile::read() {
  const std::size_t wanted =
      second_pass_ ? std::min<std::uint64_t>(remaining_, buffer_.size()) : buffer_.size();
  const std::size_t got = std::fread(buffer_.data(), 1, wanted, file_.get());
  if (got < wanted && std::ferror(file_.get()) != 0) return read_failed(name_);
  const std::string_view piece(buffer_.data(), got);
  digest_.update(piece);
  if (second_pass_) {
    remaining_ -= got;
  } else {
    bytes_ += got;
  }
  return piece;
}

Digest InputFile::finish_pass() { return digest_.finish(); }

Result<void> InputFile::rewind() {
  if (std::fseek(file_.get(), 0, SEEK_SET) != 0) return read_failed(name_);
  digest_ = Sha256();
  second_pass_ = true;
  remaining_ = bytes_;
  return {};
}

bool InputFile::grew() {
  struct stat status{};
  return fstat(fileno(file_.get()), &status) == 0 &&
         static_cast<std::uint64_t>(status.st_size) > bytes_;
}

}  // namespace strata::cli
