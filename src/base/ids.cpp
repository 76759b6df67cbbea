#include "base/ids.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <span>

namespace strata {
namespace {

struct Grammar {
  std::string_view noun;
  std::string_view rule;
  std::size_t length_max;
  bool capitals;
  std::string_view punctuation;  // allowed after the first character
};

constexpr Grammar kKbGrammar{"knowledgebase id", "lower-case letters, digits, _ and -", 63, false,
                             "_-"};
constexpr Grammar kStreamGrammar{"stream id", "lower-case letters, digits and _", 63, false, "_"};
constexpr Grammar kBatchGrammar{"batch id", "letters, digits, '.', _ and -", 128, true, "._-"};

bool is_alphanumeric(char c, bool capitals) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (capitals && c >= 'A' && c <= 'Z');
}

bool legal(std::string_view text, const Grammar& grammar) {
  if (text.empty() || text.size() > grammar.length_max) return false;
  if (!is_alphanumeric(text.front(), grammar.capitals)) return false;
  return std::ranges::all_of(text, [&](char c) {
    return is_alphanumeric(c, grammar.capitals) || grammar.punctuation.contains(c);
  });
}

/// The nearest legal spelling, or nothing where no letter or digit is left.
std::optional<std::string> propose(std::string_view text, const Grammar& grammar) {
  std::string legal_text;
  for (const char raw : text) {
    const char c =
        !grammar.capitals && raw >= 'A' && raw <= 'Z' ? static_cast<char>(raw + 32) : raw;
    if (is_alphanumeric(c, grammar.capitals)) {
      legal_text += c;
    } else if (!legal_text.empty()) {
      const char stand_in = grammar.punctuation.contains(c) ? c : grammar.punctuation.back();
      if (legal_text.back() != stand_in) legal_text += stand_in;
    }
    if (legal_text.size() == grammar.length_max) break;
  }
  while (!legal_text.empty() && grammar.punctuation.contains(legal_text.back())) {
    legal_text.pop_back();
  }
  if (legal_text.empty()) return std::nullopt;
  return legal_text;
}

/// `text` cut and with its control characters replaced, fit for a message.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) {
    out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f ? '?' : c;
  }
  if (text.size() > 80) out += "...";
  return out;
}

Error bad_id(std::string_view text, const Grammar& grammar) {
  std::string message =
      fmt::format("'{}' is no {}: use {}, beginning with a letter or digit, at most {} characters.",
                  shown(text), grammar.noun, grammar.rule, grammar.length_max);
  if (const auto proposal = propose(text, grammar)) {
    message += fmt::format(" '{}' would do.", *proposal);
  }
  return make_error(Code::kBadId, std::move(message));
}

std::string uuid_text(std::span<const std::uint8_t, 16> b) {
  return fmt::format("{:02x}-{:02x}-{:02x}-{:02x}-{:02x}", fmt::join(b.subspan(0, 4), ""),
                     fmt::join(b.subspan(4, 2), ""), fmt::join(b.subspan(6, 2), ""),
                     fmt::join(b.subspan(8, 2), ""), fmt::join(b.subspan(10, 6), ""));
}

/// The 16 bytes of a UUID in its 36 characters; nothing if it is none.
std::optional<std::string> uuid_bytes(std::string_view text) {
  constexpr std::size_t kLength = 36;
  if (text.size() != kLength) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < kLength;) {
    if (at == 8 || at == 13 || at == 18 || at == 23) {
      if (text[at++] != '-') return std::nullopt;
      continue;
    }
    std::uint8_t byte = 0;
    const char* const begin = text.data() + at;
    if (std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
    at += 2;
  }
  return bytes;
}

void fill_random(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::getrandom(bytes.data(), bytes.size(), 0);
    STRATA_CHECK(n > 0 || errno == EINTR);
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace

Result<KbId> KbId::parse(std::string_view text) {
  if (!legal(text, kKbGrammar)) return bad_id(text, kKbGrammar);
  return KbId(std::string(text));
}

Result<StreamId> StreamId::parse(std::string_view text) {
  if (!legal(text, kStreamGrammar)) return bad_id(text, kStreamGrammar);
  return StreamId(std::string(text));
}

Result<BatchId> BatchId::parse(std::string_view text) {
  if (!legal(text, kBatchGrammar)) return bad_id(text, kBatchGrammar);
  return BatchId(std::string(text));
}

BatchId BatchId::generate(const Clock& clock) { return BatchId(uuid_v7(clock)); }

std::string uuid_v7(const Clock& clock) {
  std::array<std::uint8_t, 16> b{};
  fill_random(b);
  const auto ms = static_cast<std::uint64_t>(
      std::chrono::floor<std::chrono::milliseconds>(clock.wall()).time_since_epoch().count());
  for (std::size_t i = 0; i < 6; ++i) b[i] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
  b[6] = static_cast<std::uint8_t>((b[6] & 0x0fU) | 0x70U);
  b[8] = static_cast<std::uint8_t>((b[8] & 0x3fU) | 0x80U);
  return uuid_text(b);
}

std::string uuid_v4() {
  std::array<std::uint8_t, 16> b{};
  fill_random(b);
  b[6] = static_cast<std::uint8_t>((b[6] & 0x0fU) | 0x40U);
  b[8] = static_cast<std::uint8_t>((b[8] & 0x3fU) | 0x80U);
  return uuid_text(b);
}

Result<std::string> uuid_v5(std::string_view namespace_uuid, std::string_view name) {
  const auto space = uuid_bytes(namespace_uuid);
  if (!space) {
    return make_error(Code::kBadId, fmt::format("'{}' is no UUID.", shown(namespace_uuid)));
  }
  const std::string hashed = *space + std::string(name);
  std::array<std::uint8_t, 20> sha1{};  // not for secrecy: the RFC's choice of digest
  unsigned size = 0;
  STRATA_CHECK(EVP_Digest(hashed.data(), hashed.size(), sha1.data(), &size, EVP_sha1(), nullptr) ==
               1);
  STRATA_CHECK(size == sha1.size());
  sha1[6] = static_cast<std::uint8_t>((sha1[6] & 0x0fU) | 0x50U);
  sha1[8] = static_cast<std::uint8_t>((sha1[8] & 0x3fU) | 0x80U);
  return uuid_text(std::span(sha1).first<16>());
}

std::string random_hex(std::size_t bytes) {
  std::string raw(bytes, '\0');
  fill_random({reinterpret_cast<std::uint8_t*>(raw.data()), raw.size()});
  std::string hex;
  for (const char c : raw) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

}  // namespace strata
