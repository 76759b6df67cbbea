#include "base/error.h"

#include <array>
#include <cstddef>

namespace strata {
namespace {

struct Named {
  Code code;
  std::string_view name;
};

/// One a code, in their order.
constexpr std::array kNames = {
    Named{Code::kBadRequest, "BadRequest"},
    Named{Code::kBadBatch, "BadBatch"},
    Named{Code::kBadId, "BadId"},
    Named{Code::kBadEncoding, "BadEncoding"},
    Named{Code::kNotYet, "NotYet"},
    Named{Code::kSqlError, "SqlError"},
    Named{Code::kUnauthorized, "Unauthorized"},
    Named{Code::kForbidden, "Forbidden"},
    Named{Code::kSqlRefused, "SqlRefused"},
    Named{Code::kNotFound, "NotFound"},
    Named{Code::kUnknownKnowledgebase, "UnknownKnowledgebase"},
    Named{Code::kUnknownStream, "UnknownStream"},
    Named{Code::kUnknownTable, "UnknownTable"},
    Named{Code::kUnknownJob, "UnknownJob"},
    Named{Code::kMethodNotAllowed, "MethodNotAllowed"},
    Named{Code::kNotAcceptable, "NotAcceptable"},
    Named{Code::kRequestTimeout, "RequestTimeout"},
    Named{Code::kConflict, "Conflict"},
    Named{Code::kViewDeferred, "ViewDeferred"},
    Named{Code::kOntologyRunning, "OntologyRunning"},
    Named{Code::kBackendUnsupported, "BackendUnsupported"},
    Named{Code::kEmptyStream, "EmptyStream"},
    Named{Code::kJobRunning, "JobRunning"},
    Named{Code::kJobEnded, "JobEnded"},
    Named{Code::kLengthRequired, "LengthRequired"},
    Named{Code::kBodyTooLarge, "BodyTooLarge"},
    Named{Code::kUriTooLong, "UriTooLong"},
    Named{Code::kUnsupportedMediaType, "UnsupportedMediaType"},
    Named{Code::kUnsupportedEncoding, "UnsupportedEncoding"},
    Named{Code::kUnknownHost, "UnknownHost"},
    Named{Code::kBatchIdReused, "BatchIdReused"},
    Named{Code::kOutOfMemory, "OutOfMemory"},
    Named{Code::kHeadersTooLarge, "HeadersTooLarge"},
    Named{Code::kCancelled, "Cancelled"},
    Named{Code::kBusy, "Busy"},
    Named{Code::kMigrating, "Migrating"},
    Named{Code::kDegraded, "Degraded"},
    Named{Code::kIo, "Io"},
    Named{Code::kTimeout, "Timeout"},
    Named{Code::kDiskFull, "DiskFull"},
    Named{Code::kExists, "Exists"},
    Named{Code::kInternal, "Internal"},
};

constexpr bool has_every_code() {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i].code != static_cast<Code>(i)) return false;
  }
  return kNames.back().code == Code::kInternal;
}
static_assert(has_every_code());

}  // namespace

std::string_view code_name(Code code) { return kNames.at(static_cast<std::size_t>(code)).name; }

}  // namespace strata
