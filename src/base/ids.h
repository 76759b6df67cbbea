#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace strata {

/// Names that become paths and SQL. A value of these types is always legal, so no caller checks
/// again. Grammars: architecture.md "Settled". Parsing a bad one answers kBadId with a legal
/// spelling proposed where one can be made.

/// `[a-z0-9][a-z0-9_-]{0,62}`
class KbId {
 public:
  static Result<KbId> parse(std::string_view text);
  const std::string& str() const { return text_; }
  auto operator<=>(const KbId&) const = default;

 private:
  explicit KbId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// `[a-z0-9][a-z0-9_]{0,62}`; becomes the SQL name `raw_extracted.stream_<id>`.
class StreamId {
 public:
  static Result<StreamId> parse(std::string_view text);
  const std::string& str() const { return text_; }
  auto operator<=>(const StreamId&) const = default;

 private:
  explicit StreamId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`; becomes `data/<id>.parquet`.
class BatchId {
 public:
  static Result<BatchId> parse(std::string_view text);
  /// A UUIDv7 for a POST that named none.
  static BatchId generate(const Clock& clock);
  const std::string& str() const { return text_; }
  auto operator<=>(const BatchId&) const = default;

 private:
  explicit BatchId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// A time-ordered UUID (RFC 9562, version 7): 48 bits of milliseconds, then random bits.
std::string uuid_v7(const Clock& clock);
/// A random UUID (RFC 9562, version 4).
std::string uuid_v4();
/// The UUID of a name below `namespace_uuid` (RFC 9562, version 5): the same for the same two, on
/// every machine. kBadId: the namespace is no UUID of 36 characters.
Result<std::string> uuid_v5(std::string_view namespace_uuid, std::string_view name);
/// `bytes` random bytes as lower-case hex, from the kernel.
std::string random_hex(std::size_t bytes);

}  // namespace strata
