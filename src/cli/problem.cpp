#include "cli/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/json.h"
#include "cli/text.h"

namespace strata::cli {

Problem read_problem(const http::ClientResponse& response) {
  Problem problem;
  problem.status = response.status;
  const auto object = parse_object(response.body);
  if (object) {
    problem.title = text_member(*object, "title");
    problem.detail = text_member(*object, "detail");
    problem.code = text_member(*object, "code");
    problem.request_id = text_member(*object, "request_id");
    problem.error_count = count_member(*object, "error_count");
    const auto* errors = object->if_contains("errors");
    if (errors != nullptr && errors->is_array()) {
      for (const auto& entry : errors->get_array()) {
        if (!entry.is_object()) continue;
        const auto& error = entry.get_object();
        problem.errors.push_back({.line = count_member(error, "line"),
                                  .column = text_member(error, "column"),
                                  .reason = text_member(error, "reason")});
      }
    }
  }
  problem.error_count = std::max<std::uint64_t>(problem.error_count, problem.errors.size());
  if (problem.title.empty()) {
    problem.title = fmt::format("status {} without a reason", response.status);
    if (problem.detail.empty()) problem.detail = "is this a Strata server?";
  }
  return problem;
}

std::string describe(const Problem& problem) {
  std::string text = printable(problem.title);
  if (!problem.detail.empty()) text += ": " + printable_lines(problem.detail);
  if (problem.status == 500 && !problem.request_id.empty()) {
    text += fmt::format(" (request {})", printable(problem.request_id));
  }
  return text;
}

std::string describe(const Problem::LineError& error) {
  std::string text = fmt::format("line {}", error.line);
  if (!error.column.empty()) text += ", column " + printable(error.column);
  return text + ": " + printable(error.reason);
}

}  // namespace strata::cli
