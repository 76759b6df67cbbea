#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "api/services.h"
#include "base/error.h"
#include "http/message.h"
#include "http/server.h"

namespace strata::api {

/// What a token must allow. A scope of the kb or stream that the route names is meant; `admin`
/// allows everything, `model` of a kb includes `read` of it. interface.md "Security".
enum class Access : std::uint8_t {
  kOpen,          // no token
  kAnyToken,      // any that is valid; the answer shows only what it may see
  kIngest,        // ingest of the stream
  kIngestOrRead,  // ingest of the stream (named none: of any), or read of the kb
  kRead,          // read of the kb
  kModel,         // model of the kb
  kAdmin,
};

/// Runs before the body is read: the body's limit, or why it will not be read.
using AdmitFunction = Result<std::uint64_t> (*)(const http::Request& head, Services& services);
using HandleFunction = Result<http::Response> (*)(const http::Request& request, Services& services);

/// One method of one path: what the router, the token check and openapi.json are made from.
struct Operation {
  std::string_view id;  // operationId, for ever
  std::string_view method;
  std::string_view pattern;
  http::Lane lane;
  Access access;
  HandleFunction handle;
  std::string_view summary;
  AdmitFunction admit = nullptr;  // none: kControlBodyBytesMax
  bool takes_encodings = false;   // http::Route's
};

/// Every route there is.
std::span<const Operation> operations();

}  // namespace strata::api
