#include "http/inflate.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <array>
#include <memory>

#include "http/chunked.h"
#include "http/text.h"

namespace strata::http {
namespace {

using namespace std::string_view_literals;

/// zlib's default window of 32 KiB; 16 stands for the gzip wrapper and no other.
constexpr int kGzipWindowBits = 15 + 16;
/// 8 MiB: what RFC 8878 asks of every reader, and what zstd's levels up to 19 use.
constexpr int kZstdWindowLogMax = 23;

Error bad(std::string message, std::string detail = {}) {
  return make_error(Code::kBadEncoding, std::move(message), std::move(detail));
}

Error damaged(std::string_view name, std::string_view reason) {
  return bad(fmt::format("The {} data is damaged: compress the body again.", name),
             std::string(reason));
}

Error cut(std::string_view name) {
  return bad(
      fmt::format("The {} data ends too early: send it whole, and close the compressor "
                  "before you send what it wrote.",
                  name));
}

Error no_memory() {
  return make_error(Code::kBusy,
                    "The server has no memory for a compressed body now; try again soon.");
}

/// What has been inflated so far.
class Inflated {
 public:
  Inflated(std::uint64_t bytes_max, BodyBudget::Share& share)
      : bytes_max_(bytes_max), share_(share) {}

  std::array<char, 64UL * 1024>& piece() { return piece_; }
  /// The first `count` bytes of piece() are the next of the body.
  Result<void> take(std::size_t count) {
    if (!share_.make_room(text_, count, bytes_max_)) return no_memory();
    text_.append(piece_.data(), count);
    if (text_.size() <= bytes_max_) return {};
    return body_too_large(bytes_max_, fmt::format("more than {} once inflated", bytes_max_));
  }
  std::string text() && { return std::move(text_); }

 private:
  const std::uint64_t bytes_max_;
  BodyBudget::Share& share_;
  std::string text_;
  std::array<char, 64UL * 1024> piece_;
};

/// One coding's decoder, at the start of a member or frame.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual std::string_view name() const = 0;
  /// Whether a member or frame begins with `bytes`.
  virtual bool begins(std::string_view bytes) const = 0;
  /// Takes one member or frame off the front of `in`.
  virtual Result<void> take_one(std::string_view& in, Inflated& out) = 0;
};

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() : ready_(::inflateInit2(&stream_, kGzipWindowBits) == Z_OK) {}
  ~GzipDecoder() override { ::inflateEnd(&stream_); }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  std::string_view name() const override { return "gzip"; }
  bool begins(std::string_view bytes) const override { return bytes.starts_with("\x1f\x8b"sv); }

  Result<void> take_one(std::string_view& in, Inflated& out) override {
    if (!ready_ || ::inflateReset(&stream_) != Z_OK) return no_memory();
    // zlib reads through it only, but says so only where ZLIB_CONST is defined.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    int code = Z_OK;
    while (code == Z_OK) {
      stream_.next_out = reinterpret_cast<Bytef*>(out.piece().data());
      stream_.avail_out = static_cast<uInt>(out.piece().size());
      code = ::inflate(&stream_, Z_NO_FLUSH);
      STRATA_RETURN_IF_ERROR(out.take(out.piece().size() - stream_.avail_out));
    }
    in.remove_prefix(in.size() - stream_.avail_in);
    if (code == Z_STREAM_END) return {};
    if (code == Z_BUF_ERROR) return cut(name());
    if (code == Z_MEM_ERROR) return no_memory();
    return damaged(name(), stream_.msg != nullptr ? stream_.msg : "");
  }

 private:
  z_stream stream_{};
  const bool ready_;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : context_(::ZSTD_createDCtx(), ::ZSTD_freeDCtx) {
    if (!context_) return;
    ready_ = ::ZSTD_isError(::ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax,
                                                     kZstdWindowLogMax)) == 0;
  }

  std::string_view name() const override { return "zstd"; }
  /// Of the formats before 1.0, which the library may know too, nothing bounds the memory.
  bool begins(std::string_view bytes) const override {
    const bool skippable = bytes.size() >= 4 && (bytes[0] & '\xf0') == '\x50' &&
                           bytes.substr(1).starts_with("\x2a\x4d\x18"sv);
    return skippable || bytes.starts_with("\x28\xb5\x2f\xfd"sv);
  }

  Result<void> take_one(std::string_view& in, Inflated& out) override {
    if (!ready_) return no_memory();
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    while (true) {
      ZSTD_outBuffer output{out.piece().data(), out.piece().size(), 0};
      const std::size_t wanted = ::ZSTD_decompressStream(context_.get(), &output, &input);
      if (::ZSTD_isError(wanted) != 0) return error_of(wanted);
      STRATA_RETURN_IF_ERROR(out.take(output.pos));
      if (wanted == 0) break;
      if (input.pos == input.size && output.pos < output.size) return cut(name());
    }
    in.remove_prefix(input.pos);
    return {};
  }

 private:
  Error error_of(std::size_t result) const {
    const std::string detail = ::ZSTD_getErrorName(result);
    switch (::ZSTD_getErrorCode(result)) {
      case ZSTD_error_memory_allocation:
        return no_memory();
      case ZSTD_error_frameParameter_windowTooLarge:
        return bad(
            "The zstd data needs a window of more than 8 MiB: compress the body at level 19 "
            "or lower, without --long and --ultra.",
            detail);
      case ZSTD_error_dictionary_wrong:
        return bad("The zstd data needs a dictionary: compress the body without one.", detail);
      default:
        return damaged(name(), detail);
    }
  }

  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_;
  bool ready_ = false;
};

Result<std::string> inflate_with(Decoder& decoder, std::string_view body, std::uint64_t bytes_max,
                                 BodyBudget::Share& share) {
  const std::string_view name = decoder.name();
  // Its piece is large for a stack.
  const auto out = std::make_unique<Inflated>(bytes_max, share);
  std::string_view rest = body;
  do {
    if (rest.empty()) return cut(name);
    if (!decoder.begins(rest) && rest.size() == body.size()) {
      return bad(
          fmt::format("The body is no {0} data, though Content-Encoding says {0}: compress "
                      "it, or send it without that header.",
                      name));
    }
    if (!decoder.begins(rest)) {
      return bad(
          fmt::format("Behind the {} data stand {} bytes that do not belong to it: send the "
                      "compressed data alone.",
                      name, rest.size()));
    }
    STRATA_RETURN_IF_ERROR(decoder.take_one(rest, *out));
  } while (!rest.empty());
  return std::move(*out).text();
}

}  // namespace

Result<ContentCoding> content_coding(const Request& head) {
  const std::size_t count = head.header_count("Content-Encoding");
  if (count == 0) return ContentCoding::kIdentity;
  const std::string_view name = *head.header("Content-Encoding");
  if (count == 1) {
    if (equals_ignoring_case(name, "identity")) return ContentCoding::kIdentity;
    if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) {
      return ContentCoding::kGzip;  // RFC 9110 8.4.1.3: equal
    }
    if (equals_ignoring_case(name, "zstd")) return ContentCoding::kZstd;
  }
  return make_error(Code::kUnsupportedEncoding,
                    "A body is compressed with gzip or with zstd, once, or not at all: send one of "
                    "Content-Encoding: gzip, Content-Encoding: zstd, or neither.");
}

Result<std::string> inflate_body(ContentCoding coding, std::string_view body,
                                 std::uint64_t bytes_max, BodyBudget::Share& share) {
  if (coding == ContentCoding::kGzip) {
    GzipDecoder decoder;
    return inflate_with(decoder, body, bytes_max, share);
  }
  STRATA_CHECK(coding == ContentCoding::kZstd);
  ZstdDecoder decoder;
  return inflate_with(decoder, body, bytes_max, share);
}

}  // namespace strata::http
