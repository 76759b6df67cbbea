#include "app/listen_address.h"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace strata::app {

bool ListenAddress::is_loopback() const {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  return !error && address.is_loopback();
}

std::string ListenAddress::host_name() const {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

Result<ListenAddress> parse_listen_address(const std::string& text) {
  const Error bad = make_error(
      Code::kBadRequest,
      fmt::format("--listen takes HOST:PORT, HOST being an IP address or localhost, such "
                  "as 127.0.0.1:8080, not '{}'.",
                  text));
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad;
  ListenAddress address{.host = text.substr(0, colon)};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || stop != end) return bad;
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  boost::system::error_code no_address;
  boost::asio::ip::make_address(address.host, no_address);
  if (no_address) return bad;
  return address;
}

}  // namespace strata::app
