#include "cli/job_watch.h"

#include <chrono>
#include <ostream>

#include "cli/json.h"
#include "cli/listing.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

constexpr std::chrono::milliseconds kLookPause{1'000};
/// Looks in a row that a server may answer with 503 before it is given up: it does not know the
/// job's state while its catalog is away, and the job goes on.
constexpr int kUnknownLooksMax = 60;

}  // namespace

std::string of_job(const std::string& kb, const std::string& job) {
  return strata_path(kb, "/jobs/" + http::percent_encode(job));
}

ExitCode watch_job(CommandContext& context, const ControlCommand& command,
                   const std::string& target, const RenderJob& render) {
  std::string told;
  int unknown = 0;
  while (true) {
    const auto response = ask(context, command.connection, {.target = target});
    if (!response) return response.error();
    unknown = response->status == 503 ? unknown + 1 : 0;
    const bool is_answer = response->status >= 200 && response->status < 300;
    if (!is_answer && (unknown == 0 || unknown > kUnknownLooksMax)) {
      return report_refused(context, *response);
    }
    if (is_answer) {
      const auto job = parse_object(response->body);
      const std::string state = job ? text_member(*job, "state") : "";
      if (state == "done") return print_answer(context, command, *response, render);
      if (state != "queued" && state != "running") {
        const ExitCode printed = print_answer(context, command, *response, render_object);
        return printed == ExitCode::kDone ? ExitCode::kRefused : printed;
      }
      const std::string step = text_member(*job, "step");
      if (!step.empty() && step != told) *context.err << printable(step) << '\n' << std::flush;
      told = step;
    }
    context.sleep(kLookPause);
  }
}

ExitCode watch_started_job(CommandContext& context, const ControlCommand& command,
                           const std::string& kb, const http::ClientResponse& response,
                           const RenderJob& render) {
  const auto started = parse_object(response.body);
  return watch_job(context, command, of_job(kb, started ? text_member(*started, "job") : ""),
                   render);
}

}  // namespace strata::cli
