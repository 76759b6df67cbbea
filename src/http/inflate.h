#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "http/body_budget.h"
#include "http/message.h"

/// Takes the content coding off a request body (RFC 9110 8.4). No socket, no state: any thread.
namespace strata::http {

enum class ContentCoding : std::uint8_t { kIdentity, kGzip, kZstd };

/// What content_coding() knows, for the Accept-Encoding of a 415.
inline constexpr std::string_view kCodingsTaken = "gzip, zstd";

/// What Content-Encoding says. One coding is taken: several, one on top of the other, and any but
/// these are kUnsupportedEncoding.
Result<ContentCoding> content_coding(const Request& head);

/// The body behind its coding; several gzip members or zstd frames, one after the other, are one
/// body. `coding` is not kIdentity. kBadEncoding: damaged, cut, with other bytes behind it, or
/// something else than the coding says; kBodyTooLarge: it is longer than `bytes_max`; kBusy: no
/// memory, or `share` gets no more for the result. Works through the body as a stream and needs,
/// whatever that says of itself, no more than 9 MiB besides the result, which passes `bytes_max` by
/// 64 KiB at most: a zstd frame that asks for a larger window than 8 MiB is kBadEncoding.
Result<std::string> inflate_body(ContentCoding coding, std::string_view body,
                                 std::uint64_t bytes_max, BodyBudget::Share& share);

}  // namespace strata::http
