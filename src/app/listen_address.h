#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace strata::app {

struct ListenAddress {
  std::string host;  // an IP address, without brackets
  std::uint16_t port = 0;

  /// Whether only this machine can reach it.
  bool is_loopback() const;
  /// As it stands in a Host header: IPv6 in brackets.
  std::string host_name() const;
};

/// Of `--listen`: HOST:PORT, HOST being an IP address or `localhost`. kBadRequest.
Result<ListenAddress> parse_listen_address(const std::string& text);

}  // namespace strata::app
