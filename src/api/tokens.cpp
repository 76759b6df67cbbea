#include "api/tokens.h"

#include "api/caller.h"
#include "api/handlers.h"
#include "api/json.h"

namespace strata::api {
namespace {

namespace json = boost::json;

json::value time_or_null(const std::optional<WallTime>& time) {
  return time ? json::value(format_iso8601(*time)) : json::value();
}

json::array scopes_of(const kb::Token& token) {
  json::array scopes;
  for (const kb::Scope& scope : token.scopes) scopes.emplace_back(scope.str());
  return scopes;
}

json::object render(const kb::Token& token) {
  return {{"id", token.id},
          {"name", token.name.empty() ? json::value() : json::value(token.name)},
          {"scopes", scopes_of(token)},
          {"created_at", format_iso8601(token.created_at)},
          {"expires_at", time_or_null(token.expires_at)}};
}

Result<std::string> text_of(const json::value& value, std::string_view what) {
  if (value.is_string()) return std::string(value.as_string());
  return make_error(Code::kBadRequest, std::string(what) + " is text.");
}

Result<kb::Tokens::Wanted> read_wanted(const json::object& body) {
  kb::Tokens::Wanted wanted;
  const json::value* scopes = body.if_contains("scopes");
  if (scopes == nullptr || !scopes->is_array()) {
    return make_error(Code::kBadRequest,
                      R"(Say what the token allows: {"scopes":["read:demo"],"expires":"90d"}.)");
  }
  for (const json::value& text : scopes->as_array()) {
    STRATA_ASSIGN_OR_RETURN(const std::string scope, text_of(text, "A scope"));
    STRATA_ASSIGN_OR_RETURN(kb::Scope parsed, kb::Scope::parse(scope));
    wanted.scopes.push_back(std::move(parsed));
  }
  const json::value* expires = body.if_contains("expires");
  if (expires != nullptr && !expires->is_null()) {
    STRATA_ASSIGN_OR_RETURN(const std::string text, text_of(*expires, "expires"));
    STRATA_ASSIGN_OR_RETURN(wanted.lifetime, kb::parse_lifetime(text));
  }
  const json::value* name = body.if_contains("name");
  if (name != nullptr && !name->is_null()) {
    STRATA_ASSIGN_OR_RETURN(wanted.name, text_of(*name, "name"));
  }
  return wanted;
}

}  // namespace

Result<http::Response> create_token(const http::Request& request, kb::Tokens& tokens) {
  STRATA_ASSIGN_OR_RETURN(const json::object body,
                          read_json_body(request, {"scopes", "expires", "name"}));
  STRATA_ASSIGN_OR_RETURN(const auto wanted, read_wanted(body));
  STRATA_ASSIGN_OR_RETURN(const auto made, tokens.create(wanted));
  json::object answer = render(made.token);
  answer["token"] = made.text;
  http::Response response = json_response(201, answer);
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

Result<http::Response> list_tokens(kb::Tokens& tokens) {
  STRATA_ASSIGN_OR_RETURN(const auto all, tokens.list());
  json::array list;
  for (const kb::Token& token : all) list.push_back(render(token));
  return json_response(200, json::object{{"tokens", std::move(list)}});
}

Result<http::Response> revoke_token(std::string_view id, kb::Tokens& tokens) {
  STRATA_RETURN_IF_ERROR(tokens.revoke(id));
  return json_response(200, json::object{{"id", id}, {"revoked", true}});
}

Result<http::Response> post_token(const http::Request& request, Services& services) {
  return create_token(request, services.tokens);
}

Result<http::Response> get_tokens(const http::Request&, Services& services) {
  return list_tokens(services.tokens);
}

Result<http::Response> delete_token(const http::Request& request, Services& services) {
  return revoke_token(request.params.at("token"), services.tokens);
}

Result<http::Response> get_whoami(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(const Caller caller, caller_of(request, services));
  const auto& token = caller.token();
  return json_response(
      200, json::object{
               {"auth", services.auth.required ? "required" : "off"},
               {"token", token ? json::value(token->id) : json::value()},
               {"name", token && !token->name.empty() ? json::value(token->name) : json::value()},
               {"scopes", token ? scopes_of(*token) : json::array{"admin"}},
               {"expires_at", token ? time_or_null(token->expires_at) : json::value()}});
}

}  // namespace strata::api
