#include "load_connection.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace strata::bench {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;

Error failed(std::string_view what) {
  return Error{Code::kIo, fmt::format("{}: {}", what, std::generic_category().message(errno)), {}};
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/// Size of the answer whose head is complete in `received`; 0: not yet, or without a length.
std::size_t answer_size(std::string_view received) {
  const std::size_t head_end = received.find("\r\n\r\n");
  if (head_end == std::string_view::npos) return 0;
  std::string head(received.substr(0, head_end));
  std::ranges::transform(head, head.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kLength = "\r\ncontent-length:";
  const std::size_t at = head.find(kLength);
  if (at == std::string::npos) return 0;
  const std::size_t digits = head.find_first_not_of(' ', at + kLength.size());
  std::size_t length = 0;
  if (digits == std::string::npos) return 0;
  std::from_chars(head.data() + digits, head.data() + head.size(), length);
  return head_end + 4 + length;
}

}  // namespace

Result<LoadConnection> LoadConnection::open(std::uint16_t port) {
  UniqueFd descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!descriptor.valid()) return failed("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0) {
    return failed("connect");
  }
  const int on = 1;
  ::setsockopt(descriptor.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return LoadConnection(std::move(descriptor));
}

void LoadConnection::begin(std::string_view path, std::string_view id, std::string_view body) {
  head_.clear();
  fmt::format_to(std::back_inserter(head_),
                 "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
                 "Idempotency-Key: {}\r\nContent-Length: {}\r\n\r\n",
                 path, id, body.size());
  body_ = body;
  sent_ = 0;
  received_.clear();
  answer_bytes_ = 0;
  waiting_ = true;
  begun_ = std::chrono::steady_clock::now();
}

Result<bool> LoadConnection::advance(Answer& answer) {
  STRATA_RETURN_IF_ERROR(send_rest());
  STRATA_ASSIGN_OR_RETURN(const bool whole, receive());
  if (!whole) return false;
  answer.latency = std::chrono::steady_clock::now() - begun_;
  answer.landed = received_.starts_with("HTTP/1.1 200 ") &&
                  received_.find("\"replayed\":false") != std::string::npos;
  waiting_ = false;
  return true;
}

Result<void> LoadConnection::send_rest() {
  while (sent_ < head_.size() + body_.size()) {
    std::array<iovec, 2> pieces{};
    std::size_t count = 0;
    const auto add = [&](std::string_view bytes) {
      // sendmsg takes no const, and writes nothing.
      if (!bytes.empty()) pieces[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
    };
    add(std::string_view(head_).substr(std::min(sent_, head_.size())));
    add(body_.substr(sent_ - std::min(sent_, head_.size())));
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (would_block()) return {};
      return failed("send");
    }
    sent_ += static_cast<std::size_t>(sent);
  }
  return {};
}

Result<bool> LoadConnection::receive() {
  std::array<char, kReadBytes> buffer;
  const ssize_t got = ::recv(descriptor(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0) {
    if (would_block()) return false;
    return failed("receive");
  }
  if (got == 0) return make_error(Code::kIo, "the server closed the connection: " + received_);
  received_.append(buffer.data(), static_cast<std::size_t>(got));
  if (answer_bytes_ == 0) answer_bytes_ = answer_size(received_);
  return answer_bytes_ != 0 && received_.size() >= answer_bytes_;
}

}  // namespace strata::bench
