#include "api/caller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/cells.h"
#include "base/nearest.h"

namespace strata::api {
namespace {

using Kind = kb::Scope::Kind;

/// Nothing: the header is no `Bearer <token>`. The scheme's case is free (RFC 7235).
std::optional<std::string_view> bearer_token(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (ascii_lower(header.substr(0, kScheme.size())) != kScheme) return std::nullopt;
  header.remove_prefix(kScheme.size());
  while (header.starts_with(' ')) header.remove_prefix(1);
  return header;
}

std::string_view param(const http::Request& request, const std::string& name) {
  const auto found = request.params.find(name);
  return found == request.params.end() ? std::string_view() : std::string_view(found->second);
}

/// A name that is spelled right and not there is no slip for itself.
std::string hint(std::string_view typed, std::vector<std::string> names) {
  std::erase(names, typed);
  const auto nearest = nearest_name(typed, names);
  return nearest ? fmt::format(" Did you mean '{}'?", *nearest) : std::string();
}

/// The same for a kb that is not there and for one the caller may not see.
Error unseen_knowledgebase(const Caller& caller, std::string_view typed) {
  return make_error(Code::kUnknownKnowledgebase,
                    fmt::format("There is no knowledgebase '{:.80}' that this token may see.{}",
                                typed, hint(typed, caller.kbs())));
}

Error unseen_stream(const Caller& caller, std::string_view kb, std::string_view typed) {
  return make_error(Code::kUnknownStream,
                    fmt::format("There is no receiver '{:.80}' that this token may see.{}", typed,
                                hint(typed, caller.streams_of(kb))));
}

std::string scope_wanted(Access access, std::string_view kb, std::string_view stream) {
  switch (access) {
    case Access::kIngest:
      return fmt::format("ingest:{}/{}", kb, stream);
    case Access::kRead:
    case Access::kIngestOrRead:
      return fmt::format("read:{}", kb);
    case Access::kModel:
      return fmt::format("model:{}", kb);
    default:
      return "admin";
  }
}

}  // namespace

bool Caller::is_admin() const {
  return !token_ || std::ranges::any_of(token_->scopes, [](const kb::Scope& scope) {
    return scope.kind == Kind::kAdmin;
  });
}

bool Caller::sees(std::string_view kb) const {
  return is_admin() || std::ranges::any_of(token_->scopes,
                                           [&](const kb::Scope& scope) { return scope.kb == kb; });
}

bool Caller::sees_every_stream_of(std::string_view kb) const { return may(Access::kRead, kb, {}); }

bool Caller::sees(std::string_view kb, std::string_view stream) const {
  return may(Access::kIngestOrRead, kb, stream);
}

bool Caller::may(Access access, std::string_view kb, std::string_view stream) const {
  if (is_admin()) return true;
  const auto has = [&](Kind kind) {
    return std::ranges::any_of(token_->scopes, [&](const kb::Scope& scope) {
      return scope.kind == kind && scope.kb == kb;
    });
  };
  const auto has_ingest = [&] {
    return std::ranges::any_of(token_->scopes, [&](const kb::Scope& scope) {
      const bool of_stream =
          stream.empty() ? access == Access::kIngestOrRead : scope.stream == stream;
      return scope.kind == Kind::kIngest && scope.kb == kb && of_stream;
    });
  };
  switch (access) {
    case Access::kOpen:
    case Access::kAnyToken:
      return true;
    case Access::kIngest:
      return has_ingest();
    case Access::kIngestOrRead:
      return has_ingest() || has(Kind::kRead) || has(Kind::kModel);
    case Access::kRead:
      return has(Kind::kRead) || has(Kind::kModel);
    case Access::kModel:
      return has(Kind::kModel);
    case Access::kAdmin:
      return false;
  }
  return false;
}

std::vector<std::string> Caller::kbs() const {
  std::vector<std::string> names;
  for (const kb::Scope& scope : token_->scopes) names.push_back(scope.kb);
  return names;
}

std::vector<std::string> Caller::streams_of(std::string_view kb) const {
  std::vector<std::string> names;
  for (const kb::Scope& scope : token_->scopes) {
    if (scope.kind == Kind::kIngest && scope.kb == kb) names.push_back(scope.stream);
  }
  return names;
}

Result<Caller> caller_of(const http::Request& request, Services& services) {
  if (!services.auth.required) return Caller::with_all_rights();
  if (request.header_count("Authorization") > 1) {
    return make_error(Code::kBadRequest, "Authorization is sent more than once; send one.");
  }
  const auto header = request.header("Authorization");
  const auto presented = header ? bearer_token(*header) : std::nullopt;
  if (presented) {
    STRATA_ASSIGN_OR_RETURN(auto token, services.tokens.check(*presented));
    if (token) return Caller(*std::move(token));
  }
  return make_error(Code::kUnauthorized,
                    "This needs a token that is valid now: send the header `Authorization: Bearer "
                    "strata_...`. Whoever runs this server makes one with `strata token create`.");
}

bool needs_token(const Operation& operation, const Services& services) {
  if (!services.auth.required) return false;
  return operation.access != Access::kOpen || services.auth.metrics_too;
}

Result<void> authorize(const Operation& operation, const http::Request& head, Services& services) {
  if (!needs_token(operation, services)) return {};
  STRATA_ASSIGN_OR_RETURN(const Caller caller, caller_of(head, services));
  const std::string_view kb = param(head, "kb");
  const std::string_view stream = param(head, "stream");
  if (!kb.empty() && !caller.sees(kb)) return unseen_knowledgebase(caller, kb);
  if (!stream.empty() && !caller.sees(kb, stream)) return unseen_stream(caller, kb, stream);
  if (caller.may(operation.access, kb, stream)) return {};
  return make_error(Code::kForbidden,
                    fmt::format("This token may not do that: it takes one with the scope {}.",
                                scope_wanted(operation.access, kb, stream)));
}

Error as_seen_by(const Caller& caller, Error error, const http::Request& request) {
  if (caller.is_admin()) return error;
  const std::string_view kb = param(request, "kb");
  if (error.code == Code::kUnknownKnowledgebase) return unseen_knowledgebase(caller, kb);
  if (error.code == Code::kUnknownStream && !caller.sees_every_stream_of(kb)) {
    return unseen_stream(caller, kb, param(request, "stream"));
  }
  return error;
}

}  // namespace strata::api
