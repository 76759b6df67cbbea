#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "http/message.h"

namespace strata::http {

struct ClientRequest {
  std::string method = "GET";
  std::string target;  // path and query, already encoded
  Headers headers;
  std::string body;
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;

  std::optional<std::string_view> header(std::string_view name) const;
};

/// A blocking HTTP/1.1 client of one server, one connection kept alive and made anew when the
/// server closed it. For the command line. One thread at a time. No redirects.
class Client {
 public:
  virtual ~Client() = default;
  /// `url`: `http://host:port`. kBadRequest: not such a URL.
  static Result<std::unique_ptr<Client>> create(const std::string& url,
                                                std::chrono::milliseconds timeout);
  /// kIo: no connection, or no whole answer within the timeout; the request may have been carried
  /// out. Never retries by itself, except that a kept-alive connection found closed before the
  /// first byte of an answer is opened anew once for a GET.
  virtual Result<ClientResponse> send(const ClientRequest& request) = 0;
  /// The same, handing the body on piece by piece (a 2xx body only; others are in the response).
  virtual Result<ClientResponse> send_streaming(
      const ClientRequest& request, const std::function<void(std::string_view)>& on_body) = 0;
};

/// Percent-encodes one path segment or query value.
std::string percent_encode(std::string_view text);

}  // namespace strata::http
