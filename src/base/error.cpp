#include "base/error.h"

namespace strata {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kBadRequest:
      return "BadRequest";
    case Code::kBadBatch:
      return "BadBatch";
    case Code::kBadId:
      return "BadId";
    case Code::kNotYet:
      return "NotYet";
    case Code::kSqlError:
      return "SqlError";
    case Code::kUnauthorized:
      return "Unauthorized";
    case Code::kForbidden:
      return "Forbidden";
    case Code::kSqlRefused:
      return "SqlRefused";
    case Code::kNotFound:
      return "NotFound";
    case Code::kUnknownKnowledgebase:
      return "UnknownKnowledgebase";
    case Code::kUnknownStream:
      return "UnknownStream";
    case Code::kUnknownTable:
      return "UnknownTable";
    case Code::kMethodNotAllowed:
      return "MethodNotAllowed";
    case Code::kNotAcceptable:
      return "NotAcceptable";
    case Code::kRequestTimeout:
      return "RequestTimeout";
    case Code::kConflict:
      return "Conflict";
    case Code::kViewDeferred:
      return "ViewDeferred";
    case Code::kLengthRequired:
      return "LengthRequired";
    case Code::kBodyTooLarge:
      return "BodyTooLarge";
    case Code::kUriTooLong:
      return "UriTooLong";
    case Code::kUnsupportedMediaType:
      return "UnsupportedMediaType";
    case Code::kUnsupportedEncoding:
      return "UnsupportedEncoding";
    case Code::kUnknownHost:
      return "UnknownHost";
    case Code::kBatchIdReused:
      return "BatchIdReused";
    case Code::kOutOfMemory:
      return "OutOfMemory";
    case Code::kHeadersTooLarge:
      return "HeadersTooLarge";
    case Code::kBusy:
      return "Busy";
    case Code::kDegraded:
      return "Degraded";
    case Code::kIo:
      return "Io";
    case Code::kTimeout:
      return "Timeout";
    case Code::kDiskFull:
      return "DiskFull";
    case Code::kExists:
      return "Exists";
    case Code::kInternal:
      return "Internal";
  }
  return "Unknown";
}

}  // namespace strata
