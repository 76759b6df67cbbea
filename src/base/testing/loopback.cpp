#include "base/testing/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/check.h"

namespace strata {

LoopbackListener::LoopbackListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  STRATA_CHECK(::bind(socket_.get(), generic, size) == 0);
  STRATA_CHECK(::listen(socket_.get(), 8) == 0);
  STRATA_CHECK(::getsockname(socket_.get(), generic, &size) == 0);
  port_ = ntohs(address.sin_port);
}

UniqueFd LoopbackListener::accept() const {
  return UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

}  // namespace strata
