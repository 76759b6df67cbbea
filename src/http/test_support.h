#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "http/server.h"
#include "http/text.h"

/// A raw client and a small server for the tests of this folder. The raw client shares no parsing
/// with the code under test.
namespace strata::http::test {

struct RawReply {
  int status = 0;  // 0: none came
  std::string head;
  std::string body;
  bool whole = false;  // its framing says that it came to its end

  std::string header(std::string_view name) const {
    std::string_view rest = head;
    while (!rest.empty()) {
      std::string_view line = take_until(rest, '\n');
      const std::string_view field = take_until(line, ':');
      if (equals_ignoring_case(field, name)) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        return std::string(trim(line));
      }
    }
    return "";
  }
};

/// One TCP connection to loopback. Every wait ends after a generous 20 s.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{20, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const int yes = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }

  /// False: the server does not take any more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// The next reply, interim ones included. `head_only`: the answer to a HEAD.
  RawReply read(bool head_only = false) {
    RawReply reply;
    std::size_t end = std::string::npos;
    while ((end = inbox_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return reply;
    }
    reply.head = take(end + 4);
    reply.status = std::atoi(reply.head.c_str() + sizeof "HTTP/1.1");
    const bool bodiless = head_only || reply.status / 100 == 1 || reply.status == 204;
    if (bodiless) {
      reply.whole = true;
    } else if (reply.header("Transfer-Encoding") == "chunked") {
      read_chunks(reply);
    } else if (!reply.header("Content-Length").empty()) {
      const std::size_t length = std::stoul(reply.header("Content-Length"));
      while (inbox_.size() < length && receive()) {
      }
      reply.whole = inbox_.size() >= length;
      reply.body = take(length);
    } else {
      while (receive()) {
      }
      reply.body = take(inbox_.size());
      reply.whole = ended_;
    }
    return reply;
  }

  /// Until `text` has come; takes nothing.
  bool wait_for(std::string_view text) {
    while (!inbox_.contains(text)) {
      if (!receive()) return false;
    }
    return true;
  }

  RawReply ask(std::string_view bytes) {
    send(bytes);
    return read();
  }

  /// Waits for the server to end the connection; false: it said more, or nothing for too long.
  bool ended() {
    if (!inbox_.empty()) return false;
    return !receive() && (ended_ || broken_);
  }

  void end_sending() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }

 private:
  bool receive() {
    char bytes[16384];
    const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (got > 0) inbox_.append(bytes, static_cast<std::size_t>(got));
    ended_ = got == 0;
    broken_ = got < 0 && errno == ECONNRESET;
    return got > 0;
  }

  std::string take(std::size_t length) {
    std::string taken = inbox_.substr(0, length);
    inbox_.erase(0, length);
    return taken;
  }

  void read_chunks(RawReply& reply) {
    while (true) {
      std::size_t end = std::string::npos;
      while ((end = inbox_.find("\r\n")) == std::string::npos) {
        if (!receive()) return;
      }
      const std::size_t size = std::stoul(take(end + 2), nullptr, 16);
      while (inbox_.size() < size + 2) {
        if (!receive()) return;
      }
      reply.body += take(size);
      take(2);
      if (size == 0) {
        reply.whole = true;
        return;
      }
    }
  }

  UniqueFd fd_;
  bool connected_ = false;
  bool ended_ = false;
  bool broken_ = false;
  std::string inbox_;
};

inline int status_of(Code code) {
  switch (code) {
    case Code::kBadRequest:
    case Code::kBadEncoding:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kMethodNotAllowed:
      return 405;
    case Code::kRequestTimeout:
      return 408;
    case Code::kBodyTooLarge:
      return 413;
    case Code::kUriTooLong:
      return 414;
    case Code::kUnsupportedEncoding:
      return 415;
    case Code::kHeadersTooLarge:
      return 431;
    case Code::kBusy:
      return 503;
    default:
      return 500;
  }
}

inline Response text(std::string body, int status = 200) {
  Response response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "text/plain");
  response.body = std::move(body);
  return response;
}

inline Response error_page(const Error& error, const Request& head) {
  Response response = text(error.message, status_of(error.code));
  response.headers.emplace_back("Test-Detail", error.detail);
  response.headers.emplace_back("Test-Id", head.request_id);
  return response;
}

inline ServerOptions test_options() {
  ServerOptions options;
  options.port = 0;
  options.error_page = error_page;
  return options;
}

inline Route route(std::string method, std::string pattern, Handler handler,
                   Lane lane = Lane::kControl, Admit admit = nullptr) {
  return Route{std::move(method), std::move(pattern), lane, std::move(admit), std::move(handler)};
}

inline std::unique_ptr<Server> start(ServerOptions options, std::vector<Route> routes) {
  auto server = Server::start(std::move(options), std::move(routes));
  if (!server) {
    ADD_FAILURE() << server.error().message << " " << server.error().detail;
    std::abort();
  }
  return std::move(*server);
}

}  // namespace strata::http::test
