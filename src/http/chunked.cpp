#include "http/chunked.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/limits.h"
#include "http/text.h"

namespace strata::http {
namespace {

constexpr std::size_t kLineBytesMax = 256;
constexpr std::size_t kSizeDigitsMax = 16;
/// A body of many small chunks must not cost much more to read than its limit allows.
constexpr std::size_t kOverheadBytesMax = limits::kHeaderBytesMax;

Error bad(std::string message) { return make_error(Code::kBadRequest, std::move(message)); }

}  // namespace

Error body_too_large(std::uint64_t limit, std::string_view received) {
  return make_error(Code::kBodyTooLarge,
                    fmt::format("The body is larger than {} bytes ({}).", limit, received));
}

Result<std::size_t> ChunkedDecoder::feed(std::string_view in, std::string& body) {
  std::size_t used = 0;
  while (used < in.size() && state_ != State::kDone) {
    if (state_ == State::kData) {
      const std::size_t take =
          static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes_left_, in.size() - used));
      body.append(in, used, take);
      used += take;
      chunk_bytes_left_ -= take;
      if (chunk_bytes_left_ == 0) state_ = State::kDataEnd;
      continue;
    }
    const char c = in[used++];
    const bool after_return = line_.ends_with('\r');
    if (c == '\0' || (c == '\n') != after_return) {
      return bad("A line of the chunked coding does not end with CR LF.");
    }
    line_ += c;
    if (line_.size() > kLineBytesMax) return bad("A line of the chunked coding is too long.");
    if (c != '\n') continue;
    line_.resize(line_.size() - 2);
    STRATA_RETURN_IF_ERROR(end_line());
    line_.clear();
  }
  return used;
}

Result<void> ChunkedDecoder::end_line() {
  switch (state_) {
    case State::kSize:
      return begin_chunk();
    case State::kDataEnd:
      if (!line_.empty()) return bad("A chunk is longer than its size says.");
      state_ = State::kSize;
      return {};
    case State::kTrailer:
      if (line_.empty()) {
        state_ = State::kDone;
        return {};
      }
      overhead_bytes_ += line_.size();
      if (overhead_bytes_ > kOverheadBytesMax) return bad("The trailers are too many.");
      if (!is_token(std::string_view(line_).substr(0, line_.find(':'))) || !line_.contains(':') ||
          !is_field_value(line_)) {
        return bad("A trailer is not a name, a colon and a value.");
      }
      return {};
    case State::kData:
    case State::kDone:
      break;
  }
  return {};
}

Result<void> ChunkedDecoder::begin_chunk() {
  const char* const begin = line_.data();
  const char* const end = begin + line_.size();
  std::uint64_t size = 0;
  const auto [digits_end, error] = std::from_chars(begin, end, size, 16);
  if (error != std::errc{} || static_cast<std::size_t>(digits_end - begin) > kSizeDigitsMax) {
    return bad("A chunk's size is not a hexadecimal number.");
  }
  const std::string_view extension(digits_end, static_cast<std::size_t>(end - digits_end));
  if (!extension.empty() && (!trim(extension).starts_with(';') || !is_field_value(extension))) {
    return bad("A chunk's size is not a hexadecimal number.");
  }
  overhead_bytes_ += extension.size();
  if (overhead_bytes_ > kOverheadBytesMax) return bad("The chunk extensions are too many.");
  if (size > body_bytes_max_ - body_bytes_) {
    return body_too_large(body_bytes_max_, fmt::format("more than {} received", body_bytes_max_));
  }
  body_bytes_ += size;
  chunk_bytes_left_ = size;
  state_ = size == 0 ? State::kTrailer : State::kData;
  return {};
}

}  // namespace strata::http
