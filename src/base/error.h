#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace strata {

/// What a caller can do about a failure; never which library failed. Each has one HTTP status and
/// one name on the wire (api/problem.cpp maps them; interface.md lists them).
enum class Code : std::uint8_t {
  kBadRequest,            // 400 mend the request
  kBadBatch,              // 400 mend the records
  kBadId,                 // 400 spell the id otherwise; the message proposes one
  kBadEncoding,           // 400 compress the body again
  kNotYet,                // 400 asked for something a later version builds
  kSqlError,              // 400 mend the SQL
  kUnauthorized,          // 401 send a token that is valid
  kForbidden,             // 403
  kSqlRefused,            // 403 the statement is of a kind that is never run
  kNotFound,              // 404
  kUnknownKnowledgebase,  // 404
  kUnknownStream,         // 404
  kUnknownTable,          // 404
  kUnknownJob,            // 404
  kMethodNotAllowed,      // 405
  kNotAcceptable,         // 406
  kRequestTimeout,        // 408 send it again, same id
  kConflict,              // 409 something else stands under this name
  kViewDeferred,          // 409 nothing has landed yet
  kOntologyRunning,       // 409 wait for the application that is under way
  kBackendUnsupported,    // 409 move the kb to another backend first
  kEmptyStream,           // 409 send rows first
  kJobRunning,            // 409 wait for the job that is under way, or cancel it
  kJobEnded,              // 409 nothing is left to stop
  kLengthRequired,        // 411
  kBodyTooLarge,          // 413 split it
  kUriTooLong,            // 414
  kUnsupportedMediaType,  // 415
  kUnsupportedEncoding,   // 415
  kUnknownHost,           // 421
  kBatchIdReused,         // 422 same id, other content
  kOutOfMemory,           // 422 the query needs more memory than it may have
  kHeadersTooLarge,       // 431
  kCancelled,             // 499 nobody waits for the answer any more
  kBusy,                  // 503 try again soon, same id
  kMigrating,             // 503 the kb's catalog is being moved; batches land meanwhile
  kDegraded,              // 503 an operator has to look at the disk
  kIo,                    // 503 a read or write failed; the producer keeps the batch
  kTimeout,               // 504 the query overran its deadline
  kDiskFull,              // 507 free some space, then send it again
  kExists,                // a name is taken (file layer; callers turn it into one of the above)
  kInternal,              // 500 our bug
};

/// The constant's name without its `k`, for logs and test failures.
std::string_view code_name(Code code);

/// An expected failure. `message` is safe to show to anybody (no server path); `detail` is for the
/// log only.
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string detail;
};

/// Every fallible function answers one of these; ignoring one is a build error.
template <typename T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
  Result(const Error& error) : std::expected<T, Error>(std::unexpected(error)) {}
  Result(Error&& error) : std::expected<T, Error>(std::unexpected(std::move(error))) {}
};

inline Error make_error(Code code, std::string message, std::string detail = {}) {
  return Error{code, std::move(message), std::move(detail)};
}

/// The only way to drop a Result; `why` says what makes that safe, so that a grep finds every one.
template <typename T>
void ignore(const Result<T>& result, [[maybe_unused]] std::string_view why) {
  static_cast<void>(result.has_value());
}

}  // namespace strata

#define STRATA_CONCAT_INNER(a, b) a##b
#define STRATA_CONCAT(a, b) STRATA_CONCAT_INNER(a, b)

#define STRATA_RETURN_IF_ERROR(expression)                       \
  do {                                                           \
    auto strata_status = (expression);                           \
    if (!strata_status) return std::move(strata_status).error(); \
  } while (false)

#define STRATA_ASSIGN_OR_RETURN(declaration, expression) \
  STRATA_ASSIGN_OR_RETURN_INNER(STRATA_CONCAT(strata_result_, __LINE__), declaration, expression)
#define STRATA_ASSIGN_OR_RETURN_INNER(name, declaration, expression) \
  auto name = (expression);                                          \
  if (!name) return std::move(name).error();                         \
  declaration = std::move(name).value()
