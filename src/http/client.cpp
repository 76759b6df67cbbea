#include "http/client.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include "http/text.h"

namespace strata::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint32_t kAnswerHeaderBytesMax = 64U * 1024;
constexpr std::size_t kReadBytes = 64UL * 1024;

struct Address {
  std::string host;  // without the brackets of an IPv6 address
  std::string port = "80";
  std::string authority;  // for the Host header
};

Result<Address> parse_url(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  const Error bad = make_error(
      Code::kBadRequest,
      fmt::format("'{}' is no server address; write http://host:port, without a path.", url));
  std::string_view rest = url;
  if (!equals_ignoring_case(rest.substr(0, kScheme.size()), kScheme)) return bad;
  rest.remove_prefix(kScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (!is_authority(rest)) return bad;
  Address address;
  address.authority = rest;
  const std::size_t bracket = rest.find(']');
  const std::size_t colon = rest.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string_view host = rest.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  address.host = host;
  if (colon != std::string_view::npos) {
    const std::string_view port = rest.substr(colon + 1);
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc{} || end != port.data() + port.size() || number == 0) return bad;
    address.port = port;
  }
  return address;
}

class ClientImpl final : public Client {
 public:
  ClientImpl(Address address, std::chrono::milliseconds timeout)
      : address_(std::move(address)), timeout_(timeout), stream_(io_) {}

  Result<ClientResponse> send(const ClientRequest& request) override {
    return send_streaming(request, nullptr);
  }
  Result<ClientResponse> send_streaming(
      const ClientRequest& request, const std::function<void(std::string_view)>& on_body) override;

 private:
  using Parser = beast::http::response_parser<beast::http::buffer_body>;
  struct Attempt {
    error_code error;
    bool answer_began = false;
    ClientResponse response;
  };

  Result<std::string> render(const ClientRequest& request) const;
  Result<void> connect();
  Attempt attempt(const ClientRequest& request, const std::string& head,
                  const std::function<void(std::string_view)>& on_body);
  error_code write(const ClientRequest& request, const std::string& head);
  error_code read_header(std::optional<Parser>& parser, bool head_only, bool& answer_began);
  error_code read_body(Parser& parser, ClientResponse& response,
                       const std::function<void(std::string_view)>& on_body);
  /// Runs the one operation that is under way to its end, which the deadline may bring.
  error_code finish(const error_code& result);
  /// Whether the server has closed a kept connection, or said what nobody asked for.
  bool stale();
  void close();
  Error failed(error_code error) const;

  const Address address_;
  const std::chrono::milliseconds timeout_;
  asio::io_context io_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  bool connected_ = false;
};

Result<ClientResponse> ClientImpl::send_streaming(
    const ClientRequest& request, const std::function<void(std::string_view)>& on_body) {
  try {
    STRATA_ASSIGN_OR_RETURN(const std::string head, render(request));
    stream_.expires_after(timeout_);  // for all of it: connect, write, read
    if (connected_ && stale()) close();
    const bool kept = connected_;
    if (!connected_) STRATA_RETURN_IF_ERROR(connect());
    Attempt one = attempt(request, head, on_body);
    if (one.error && kept && !one.answer_began && request.method == "GET" &&
        one.error != beast::error::timeout) {
      STRATA_RETURN_IF_ERROR(connect());
      one = attempt(request, head, on_body);
    }
    if (one.error) return failed(one.error);
    return std::move(one.response);
  } catch (const std::exception& exception) {
    close();
    return make_error(Code::kInternal, "The request could not be sent.", exception.what());
  }
}

Result<std::string> ClientImpl::render(const ClientRequest& request) const {
  const bool target_sound =
      request.target.starts_with('/') &&
      std::ranges::all_of(request.target, [](char c) { return c > 0x20 && c < 0x7f; });
  if (!is_token(request.method) || !target_sound) {
    return make_error(Code::kBadRequest,
                      "The request's address must begin with '/' and be percent-encoded.");
  }
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: strata\r\n",
                                 request.method, request.target, address_.authority);
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name) || !is_field_value(value)) {
      return make_error(Code::kBadRequest,
                        fmt::format("The header '{}' has a character in it that no header may "
                                    "have.",
                                    name));
    }
    head += fmt::format("{}: {}\r\n", name, value);
  }
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT" ||
      request.method == "PATCH") {
    head += fmt::format("Content-Length: {}\r\n", request.body.size());
  }
  return head + "\r\n";
}

/// Looking up a name is the system's and not under the deadline.
Result<void> ClientImpl::connect() {
  close();
  error_code error;
  tcp::resolver resolver(io_);
  const auto endpoints = resolver.resolve(address_.host, address_.port, error);
  if (!error) {
    stream_.async_connect(endpoints,
                          [&error](error_code result, const tcp::endpoint&) { error = result; });
    finish(error);
  }
  if (error) {
    return make_error(
        Code::kIo,
        fmt::format("No connection to {}; is a server running there?", address_.authority),
        error.message());
  }
  error_code ignored;  // slower without it, no more
  stream_.socket().set_option(tcp::no_delay(true), ignored);
  connected_ = true;
  return {};
}

ClientImpl::Attempt ClientImpl::attempt(const ClientRequest& request, const std::string& head,
                                        const std::function<void(std::string_view)>& on_body) {
  Attempt attempt;
  // A server that refuses a body answers before it has read all of it; that answer may be here
  // though the rest could not be written.
  const error_code write_error = write(request, head);
  std::optional<Parser> parser;
  attempt.error = write_error == beast::error::timeout
                      ? write_error
                      : read_header(parser, request.method == "HEAD", attempt.answer_began);
  if (!attempt.error) {
    attempt.response.status = parser->get().result_int();
    for (const auto& field : parser->get()) {
      attempt.response.headers.emplace_back(field.name_string(), field.value());
    }
    attempt.error = read_body(*parser, attempt.response, on_body);
  } else if (write_error) {
    attempt.error = write_error;
  }
  if (attempt.error || write_error || !parser->keep_alive()) close();
  return attempt;
}

error_code ClientImpl::write(const ClientRequest& request, const std::string& head) {
  error_code error;
  const std::array<asio::const_buffer, 2> buffers = {asio::buffer(head),
                                                     asio::buffer(request.body)};
  asio::async_write(stream_, buffers, [&error](error_code result, std::size_t) { error = result; });
  return finish(error);
}

error_code ClientImpl::read_header(std::optional<Parser>& parser, bool head_only,
                                   bool& answer_began) {
  error_code error;
  do {  // past interim answers
    parser.emplace();
    parser->header_limit(kAnswerHeaderBytesMax);
    parser->body_limit(boost::none);
    parser->skip(head_only);
    beast::http::async_read_header(stream_, buffer_, *parser,
                                   [&error](error_code result, std::size_t) { error = result; });
    finish(error);
    answer_began = answer_began || parser->got_some();
  } while (!error && parser->get().result_int() / 100 == 1);
  return error;
}

error_code ClientImpl::read_body(Parser& parser, ClientResponse& response,
                                 const std::function<void(std::string_view)>& on_body) {
  const bool streamed = on_body && response.status / 100 == 2;
  std::string piece(kReadBytes, '\0');
  while (!parser.is_done()) {
    auto& body = parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    error_code error;
    beast::http::async_read_some(stream_, buffer_, parser,
                                 [&error](error_code result, std::size_t) { error = result; });
    finish(error);
    if (error == beast::http::error::need_buffer) error = {};
    const std::string_view content(piece.data(), piece.size() - body.size);
    if (streamed) {
      on_body(content);
    } else {
      response.body += content;
    }
    if (error) return error;
  }
  return {};
}

error_code ClientImpl::finish(const error_code& result) {
  io_.restart();
  io_.run();
  return result;
}

bool ClientImpl::stale() {
  char byte = 0;
  const ssize_t seen =
      ::recv(stream_.socket().native_handle(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
  return seen >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

void ClientImpl::close() {
  error_code ignored;  // what it had to say was said, or is lost either way
  stream_.socket().close(ignored);
  buffer_.clear();
  connected_ = false;
}

Error ClientImpl::failed(error_code error) const {
  if (error == beast::error::timeout) {
    return make_error(Code::kIo,
                      fmt::format("No whole answer from {} within {} ms; the request may have been "
                                  "carried out.",
                                  address_.authority, timeout_.count()),
                      error.message());
  }
  return make_error(
      Code::kIo,
      fmt::format("The connection to {} broke before the whole answer was there; the request may "
                  "have been carried out.",
                  address_.authority),
      error.message());
}

}  // namespace

Result<std::unique_ptr<Client>> Client::create(const std::string& url,
                                               std::chrono::milliseconds timeout) {
  STRATA_ASSIGN_OR_RETURN(Address address, parse_url(url));
  return std::make_unique<ClientImpl>(std::move(address), timeout);
}

}  // namespace strata::http
