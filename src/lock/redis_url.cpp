#include "lock/redis_url.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>

#include "base/whole_number.h"

namespace strata::lock {
namespace {

constexpr std::string_view kScheme = "redis://";
constexpr std::string_view kTlsScheme = "rediss://";
constexpr std::size_t kHostBytesMax = 253;
constexpr std::uint64_t kPortMax = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kDatabaseMax = std::numeric_limits<int>::max();
/// Of user and password, beside letters and digits (RFC 3986: unreserved and sub-delims).
constexpr std::string_view kPlainInCredentials = "-._~!$&'()*+,;=";

Error bad_url(std::string_view why) {
  return make_error(Code::kBadRequest,
                    fmt::format("The Redis URL is not as "
                                "redis://[user:password@]host:port[/database]: {}.",
                                why));
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t max) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  const auto number = parse_whole_number(text);
  if (!number || *number > max) return std::nullopt;
  return number;
}

/// The character of `%XX` at the beginning of `text`.
std::optional<char> parse_escape(std::string_view text) {
  constexpr std::size_t kEscapeBytes = 3;
  if (text.size() < kEscapeBytes) return std::nullopt;
  std::uint8_t byte = 0;
  const char* const end = text.data() + kEscapeBytes;
  const auto [stop, error] = std::from_chars(text.data() + 1, end, byte, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return static_cast<char>(byte);
}

std::optional<std::string> unescape(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const char c = text.front();
    if (c == '%') {
      const auto escaped = parse_escape(text);
      if (!escaped) return std::nullopt;
      plain += *escaped;
      text.remove_prefix(3);
      continue;
    }
    if (!is_letter_or_digit(c) && !kPlainInCredentials.contains(c)) return std::nullopt;
    plain += c;
    text.remove_prefix(1);
  }
  return plain;
}

Result<void> read_credentials(std::string_view text, RedisAddress& address) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return bad_url("a colon is missing between user and password, before the @");
  }
  const auto user = unescape(text.substr(0, colon));
  const auto password = unescape(text.substr(colon + 1));
  if (!user || !password) {
    return bad_url(fmt::format(
        "in user and password every character but letters, digits and {} is written as %XX",
        kPlainInCredentials));
  }
  if (password->empty()) return bad_url("the password before the @ is empty");
  address.user = *user;
  address.password = *password;
  return {};
}

bool is_host_name(std::string_view text) {
  if (text.empty() || text.size() > kHostBytesMax) return false;
  for (const char c : text) {
    if (!is_letter_or_digit(c) && c != '.' && c != '-' && c != '_') return false;
  }
  return true;
}

bool is_ipv6(const std::string& text) {
  in6_addr parsed{};
  return ::inet_pton(AF_INET6, text.c_str(), &parsed) == 1;
}

/// Answers what stands behind the host.
Result<std::string_view> read_host(std::string_view text, RedisAddress& address) {
  if (const std::size_t end = text.find(']'); text.starts_with('[') && end != text.npos) {
    address.host = text.substr(1, end - 1);
    if (!is_ipv6(address.host)) return bad_url("in the brackets stands no IPv6 address");
    return text.substr(end + 1);
  }
  const std::string_view name = text.substr(0, text.find(':'));
  if (!is_host_name(name)) return bad_url("the host is no name and no address");
  address.host = name;
  return text.substr(name.size());
}

Result<void> read_host_and_port(std::string_view text, RedisAddress& address) {
  STRATA_ASSIGN_OR_RETURN(const std::string_view rest, read_host(text, address));
  const auto port = rest.starts_with(':') ? parse_number(rest.substr(1), kPortMax) : std::nullopt;
  if (!port || *port == 0) {
    return bad_url(fmt::format("after the host stands no port from 1 to {}", kPortMax));
  }
  address.port = static_cast<std::uint16_t>(*port);
  return {};
}

}  // namespace

Result<RedisAddress> parse_redis_url(std::string_view url) {
  if (url.starts_with(kTlsScheme)) {
    return bad_url(
        "rediss:// is TLS, which Strata does not speak to Redis; use redis:// within a private "
        "network, or to a TLS tunnel on this machine");
  }
  if (!url.starts_with(kScheme)) return bad_url("it does not begin with redis://");
  std::string_view rest = url.substr(kScheme.size());

  RedisAddress address;
  // The last one: an @ in a password is told how to be written.
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    STRATA_RETURN_IF_ERROR(read_credentials(rest.substr(0, at), address));
    rest.remove_prefix(at + 1);
  }
  const std::size_t slash = rest.find('/');
  STRATA_RETURN_IF_ERROR(read_host_and_port(rest.substr(0, slash), address));
  if (slash == std::string_view::npos) return address;
  const auto database = parse_number(rest.substr(slash + 1), kDatabaseMax);
  if (!database) return bad_url("after the last / stands no database number");
  address.database = static_cast<int>(*database);
  return address;
}

}  // namespace strata::lock
