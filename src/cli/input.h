#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"

namespace strata::cli {

/// Bytes in pieces. The first piece holds at least 4 bytes unless the whole is shorter (a byte
/// order mark is never split).
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// The next piece, valid until the next call; empty at the end.
  virtual Result<std::string_view> read() = 0;
};

/// The first piece of a text without its UTF-8 byte order mark. kBadRequest: it is UTF-16.
Result<std::string_view> text_start(std::string_view piece);

/// What `strata send` reads, twice and as a stream: once to name it, once to send it. One thread.
class InputFile final : public ByteSource {
 public:
  /// `path` `-`: `in`. What cannot be read twice (standard input, a pipe) is first copied into a
  /// temporary file without a name, which goes with this object. kNotFound, kBadRequest (a
  /// folder), kIo, kDiskFull.
  static Result<InputFile> open(const std::string& path, std::FILE* in);

  /// After rewind, never past the bytes of the first pass: what is appended meanwhile is not sent
  /// under ids that do not cover it.
  Result<std::string_view> read() override;
  /// SHA-256 of what this pass read. Ends the pass.
  Digest finish_pass();
  /// Starts the second pass.
  Result<void> rewind();
  /// Whether there is more in the file than the first pass read.
  bool grew();

  std::uint64_t bytes() const { return bytes_; }
  /// For messages: the file's name, or `standard input`.
  const std::string& name() const { return name_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, CloseFile>;

  InputFile(File file, std::string name);
  static Result<File> spool(std::FILE* from, const std::string& name);

  File file_;
  std::string name_;
  std::vector<char> buffer_;
  Sha256 digest_;
  std::uint64_t bytes_ = 0;      // of the first pass
  std::uint64_t remaining_ = 0;  // of the second pass
  bool second_pass_ = false;
};

}  // namespace strata::cli
