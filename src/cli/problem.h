#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http/client.h"

namespace strata::cli {

/// What a server's refusal says (RFC 9457 and interface.md "Errors").
struct Problem {
  struct LineError {
    std::uint64_t line = 0;  // of the body, from 1
    std::string column;
    std::string reason;
  };
  int status = 0;
  std::string title;
  std::string detail;
  std::string code;
  std::string request_id;
  std::vector<LineError> errors;
  std::uint64_t error_count = 0;
};

/// Reads any answer that is not 2xx. One that is no problem+json gets a title that says so: perhaps
/// no Strata listens there.
Problem read_problem(const http::ClientResponse& response);

/// `<title>: <detail>`, for a 500 with the request id; safe for a terminal.
std::string describe(const Problem& problem);

/// `line 3, column price: <reason>`; `column` is left out where it is not known.
std::string describe(const Problem::LineError& error);

}  // namespace strata::cli
