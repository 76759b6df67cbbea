#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

/// Takes the chunked coding off a request body (RFC 9112 7.1). No socket.
namespace strata::http {

class ChunkedDecoder {
 public:
  explicit ChunkedDecoder(std::uint64_t body_bytes_max) : body_bytes_max_(body_bytes_max) {}

  /// Appends the content of `in` to `body` and returns how many bytes of `in` were the body's:
  /// fewer than all only once it is done. Extensions and trailers are checked and dropped.
  /// kBadRequest: broken framing; kBodyTooLarge: as soon as a chunk's size says so. After an error
  /// the decoder is of no more use.
  Result<std::size_t> feed(std::string_view in, std::string& body);
  bool done() const { return state_ == State::kDone; }

 private:
  enum class State : std::uint8_t { kSize, kData, kDataEnd, kTrailer, kDone };

  Result<void> end_line();
  Result<void> begin_chunk();

  const std::uint64_t body_bytes_max_;
  State state_ = State::kSize;
  std::string line_;  // of framing, as far as it is here
  std::uint64_t body_bytes_ = 0;
  std::uint64_t chunk_bytes_left_ = 0;
  std::size_t overhead_bytes_ = 0;  // extensions and trailers
};

/// kBodyTooLarge, with the limit and what is known of the body.
Error body_too_large(std::uint64_t limit, std::string_view received);

}  // namespace strata::http
