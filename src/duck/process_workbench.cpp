#include "duck/process_workbench.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "duck/worker_wire.h"

namespace strata::duck {
namespace {

using std::chrono::milliseconds;

/// From the interrupt at the deadline to the kill: a statement that writes takes a while to stop.
constexpr milliseconds kKillGrace{2'000};
/// For a worker whose socket closed to become a process that ended.
constexpr milliseconds kEndPatience{1'000};

SteadyTime now() { return SystemClock().steady(); }

Error ended_error(std::string detail) {
  return make_error(Code::kBusy, "the worker of this job ended: start the job again",
                    std::move(detail));
}

Error timeout_error(milliseconds limit, std::string detail) {
  return make_error(Code::kTimeout,
                    fmt::format("a step of this job ran longer than {} s",
                                std::chrono::ceil<std::chrono::seconds>(limit).count()),
                    std::move(detail));
}

Error memory_error(std::string detail) {
  return make_error(Code::kOutOfMemory,
                    "a step of this job needs more memory than it may have: fewer rows or columns "
                    "need less",
                    std::move(detail));
}

/// What a worker said to one step.
struct Reply {
  std::optional<Error> error;
  std::string rows;  // as pieces of what encode(std::vector<TextRow>) made
  bool worn = false;
};

class ProcessWorkbench final : public Workbench {
 public:
  ProcessWorkbench(std::unique_ptr<WorkerProcess> process, std::stop_token cancel,
                   std::function<void(std::string_view)> count_death)
      : process_(std::move(process)),
        cancel_(std::move(cancel)),
        count_death_(std::move(count_death)) {}

  Result<void> run(const Sql& statement, milliseconds limit) override {
    STRATA_RETURN_IF_ERROR(
        ask({.sql = statement.str(), .wants_rows = false, .rows_max = 0}, limit));
    return {};
  }

  Result<std::vector<TextRow>> rows(const Sql& select, std::size_t rows_max,
                                    milliseconds limit) override {
    STRATA_ASSIGN_OR_RETURN(
        const std::string encoded,
        ask({.sql = select.str(), .wants_rows = true, .rows_max = rows_max}, limit));
    auto rows = decode_text_rows(encoded);
    if (!rows) end(kCrashedReason);
    return rows;
  }

 private:
  Result<std::string> ask(StepRequest request, milliseconds limit);
  Result<Reply> converse(const StepRequest& request, SteadyTime give_up);
  Error lost(const Error& cause, milliseconds limit);
  void end(std::string_view reason) {
    process_.reset();
    count_death_(reason);
  }

  std::unique_ptr<WorkerProcess> process_;  // until it ended
  const std::stop_token cancel_;
  const std::function<void(std::string_view)> count_death_;
};

Result<Reply> ProcessWorkbench::converse(const StepRequest& request, SteadyTime give_up) {
  const int socket = process_->socket();
  // Ends the waits below; the worker itself is ended by lost().
  const std::stop_callback hang_up(cancel_, [socket] { ::shutdown(socket, SHUT_RDWR); });
  STRATA_RETURN_IF_ERROR(send_frame(socket, FrameKind::kStep, encode(request), give_up));
  Reply reply;
  while (true) {
    STRATA_ASSIGN_OR_RETURN(const Frame frame, receive_frame(socket, give_up));
    if (frame.kind == FrameKind::kEnd) {
      STRATA_ASSIGN_OR_RETURN(const AnswerEnd answer_end, decode_end(frame.payload));
      reply.worn = answer_end.worn;
      return reply;
    }
    if (frame.kind == FrameKind::kError) {
      reply.error = decode_error(frame.payload);
    } else if (frame.kind == FrameKind::kRows &&
               reply.rows.size() + frame.payload.size() <= kTextRowsBytesMax) {
      reply.rows += frame.payload;
    } else if (frame.kind != FrameKind::kDone) {
      return make_error(Code::kInternal, "", "an answer of no kind");
    }
  }
}

Error ProcessWorkbench::lost(const Error& cause, milliseconds limit) {
  const auto process = std::move(process_);
  if (cancel_.stop_requested()) {
    return make_error(Code::kCancelled, "the job was cancelled");
  }
  if (cause.code == Code::kTimeout) {
    count_death_(kTimeoutReason);
    return timeout_error(limit, "killed");
  }
  const Ending ending = process->end(kEndPatience);
  if (ending == Ending::kOutOfMemory) {
    count_death_(kOutOfMemoryReason);
    return memory_error("the worker died of it");
  }
  if (ending == Ending::kCpuTime) {
    count_death_(kTimeoutReason);
    return timeout_error(limit, "over its CPU time");
  }
  count_death_(ending == Ending::kKilled ? kKilledReason : kCrashedReason);
  return ended_error(cause.detail);
}

Result<std::string> ProcessWorkbench::ask(StepRequest request, milliseconds limit) {
  if (!process_) return ended_error("before");
  if (cancel_.stop_requested()) return lost({}, limit);
  request.timeout_ms = static_cast<std::uint64_t>(limit.count());
  auto reply = converse(request, now() + limit + kKillGrace);
  if (!reply || cancel_.stop_requested()) return lost(reply ? Error{} : reply.error(), limit);
  if (!reply->error) return std::move(reply->rows);
  Error error = std::move(*reply->error);
  if (error.code == Code::kTimeout) {
    end(kTimeoutReason);
    return timeout_error(limit, std::move(error.detail));
  }
  if (error.code == Code::kOutOfMemory) {
    end(kOutOfMemoryReason);
    return memory_error(std::move(error.detail));
  }
  if (reply->worn) end(kCrashedReason);
  return error;
}

}  // namespace

std::unique_ptr<Workbench> make_workbench(std::unique_ptr<WorkerProcess> process,
                                          std::stop_token cancel,
                                          std::function<void(std::string_view)> count_death) {
  return std::make_unique<ProcessWorkbench>(std::move(process), std::move(cancel),
                                            std::move(count_death));
}

}  // namespace strata::duck
