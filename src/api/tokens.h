#pragma once

#include <string_view>

#include "base/error.h"
#include "http/message.h"
#include "kb/tokens.h"

/// What the routes of /tokens do, for a server's tokens and for those of a root without one: the
/// offline `strata token` answers the same bodies.
namespace strata::api {

/// 201 with the whole token, which is shown this once. The body's members: scopes, expires, name.
Result<http::Response> create_token(const http::Request& request, kb::Tokens& tokens);
Result<http::Response> list_tokens(kb::Tokens& tokens);
Result<http::Response> revoke_token(std::string_view id, kb::Tokens& tokens);

}  // namespace strata::api
