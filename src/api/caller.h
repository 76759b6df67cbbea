#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/operations.h"
#include "api/services.h"
#include "base/error.h"
#include "http/message.h"
#include "kb/tokens.h"

/// Who asks and what that allows: the only place that decides it (interface.md "Security").
namespace strata::api {

/// A request's rights: those of its token, or all of them where no token is asked for.
class Caller {
 public:
  static Caller with_all_rights() { return {}; }
  explicit Caller(kb::Token token) : token_(std::move(token)) {}

  /// Nothing: all rights, without a token.
  const std::optional<kb::Token>& token() const { return token_; }
  bool is_admin() const;
  /// Any scope of the kb shows that it is there.
  bool sees(std::string_view kb) const;
  /// read and model of a kb show all of its streams, an ingest scope its own only.
  bool sees_every_stream_of(std::string_view kb) const;
  bool sees(std::string_view kb, std::string_view stream) const;
  /// Without a stream kIngestOrRead is met by ingest of any stream of the kb.
  bool may(Access access, std::string_view kb, std::string_view stream) const;

  /// Of those it has scopes of; for hints.
  std::vector<std::string> kbs() const;
  std::vector<std::string> streams_of(std::string_view kb) const;

 private:
  Caller() = default;
  std::optional<kb::Token> token_;
};

/// kUnauthorized, with one text for no, an unknown, a wrong, an expired and a revoked token, so
/// that nobody learns which it was. kBadRequest: several Authorization headers. kIo, kBusy: the
/// tokens could not be looked at.
Result<Caller> caller_of(const http::Request& request, Services& services);

bool needs_token(const Operation& operation, const Services& services);

/// Whether the caller may do this to the kb and stream that the route names. Goes by the names
/// alone, so an answer says nothing about what is there: kUnknownKnowledgebase or kUnknownStream
/// for what the caller does not see, kForbidden for what it sees and may not, else as caller_of().
Result<void> authorize(const Operation& operation, const http::Request& head, Services& services);

/// An error as this caller may read it: of names that it does not see none stands in a hint.
Error as_seen_by(const Caller& caller, Error error, const http::Request& request);

}  // namespace strata::api
