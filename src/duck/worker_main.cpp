#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "duck/answer_file.h"
#include "duck/workbench_session.h"
#include "duck/worker_limits.h"
#include "duck/worker_pool.h"
#include "duck/worker_sandbox.h"
#include "duck/worker_session.h"
#include "duck/worker_watch.h"
#include "duck/worker_wire.h"

namespace strata::duck {
namespace {

constexpr int kSocket = 3;
constexpr int kExitUsage = 2;
/// More than a thread can burn in the longest query, its kill included.
constexpr std::chrono::seconds kCpuTimePerRequest{180};

bool is_socket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof(type);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

std::vector<std::string> folders_to_read(const SetUpRequest& set_up) {
  switch (set_up.use) {
    case WorkerUse::kQueries:
      return readable_folders(set_up.kb_folder);
    case WorkerUse::kDdl:
    case WorkerUse::kWorkbench:
      return table_folders(set_up.kb_folder);
  }
  return {};
}

SandboxRules sandbox_rules(const SetUpRequest& set_up) {
  return {.readable_folders = folders_to_read(set_up),
          .listed_path = set_up.kb_folder,
          .writable_folder = set_up.writable_folder};
}

/// Rights go by what a path leads to now: a worker that came before the generations would be
/// refused them for life, so it ends, and the next one is asked.
Result<void> check_generations(const SetUpRequest& set_up) {
  std::error_code ignored;
  if (set_up.use != WorkerUse::kQueries ||
      std::filesystem::is_directory(set_up.kb_folder + "/generations", ignored)) {
    return {};
  }
  return make_error(Code::kNotFound, "the knowledgebase has no generations there");
}

/// The worker's end of the conversation. Every answer closes with an end that says whether this
/// process may be asked again.
class Answering {
 public:
  explicit Answering(WorkerSession& session) : session_(&session) {}

  Result<void> send_error(const Error& error) {
    STRATA_RETURN_IF_ERROR(send(FrameKind::kError, encode(error)));
    // After these two the engine holds, or may hold, what the next statement would miss.
    return send_end(error.code == Code::kTimeout || error.code == Code::kOutOfMemory);
  }

  Result<void> send_whole(FrameKind kind, std::string_view payload) {
    STRATA_RETURN_IF_ERROR(send(kind, payload));
    return send_end(false);
  }

  /// Empties the answer file, if that is where the rows are.
  Result<void> send_rows(QueryAnswer answer) {
    STRATA_RETURN_IF_ERROR(send(FrameKind::kHead, encode(answer.head)));
    for (; !answer.pieces.empty(); answer.pieces.pop_front()) {
      std::string_view left = answer.pieces.front();
      while (!left.empty()) {
        const std::string_view frame = left.substr(0, kRowsFrameBytes);
        STRATA_RETURN_IF_ERROR(send(FrameKind::kRows, frame));
        left.remove_prefix(frame.size());
      }
    }
    STRATA_RETURN_IF_ERROR(send_file(answer.file_bytes));
    return send_end(false);
  }

 private:
  Result<void> send_file(std::uint64_t size) {
    AnswerFile& file = session_->answer_file();
    for (std::uint64_t sent = 0; sent < size;) {
      STRATA_ASSIGN_OR_RETURN(const std::string frame, file.read(sent, kRowsFrameBytes));
      if (frame.empty()) return make_error(Code::kInternal, "the answer file is cut");
      STRATA_RETURN_IF_ERROR(send(FrameKind::kRows, frame));
      sent += frame.size();
    }
    if (size != 0) file.clear();
    return {};
  }

  Result<void> send(FrameKind kind, std::string_view payload) {
    // Without a deadline: a reader that takes its time is the server's business.
    return send_frame(kSocket, kind, payload, {});
  }
  Result<void> send_end(bool worn) {
    worn = worn || session_->broken() || address_space_is_half_used();
    return send(FrameKind::kEnd, encode(AnswerEnd{.worn = worn}));
  }

  WorkerSession* session_;
};

Result<void> answer_query(WorkerSession& session, QueryWatch& watch, const Frame& frame) {
  Answering answering(session);
  STRATA_ASSIGN_OR_RETURN(const QueryRequest request, decode_query(frame.payload));
  auto answer = session.query(request, watch);
  if (!answer) return answering.send_error(answer.error());
  return answering.send_rows(std::move(answer).value());
}

Result<void> answer_views(WorkerSession& session, const Frame& frame) {
  Answering answering(session);
  STRATA_ASSIGN_OR_RETURN(const Source source, decode_source(frame.payload));
  const auto views = session.views(source);
  if (!views) return answering.send_error(views.error());
  return answering.send_whole(FrameKind::kViewList, encode(*views));
}

Result<void> answer_ddl(WorkerSession& session, const Frame& frame) {
  Answering answering(session);
  STRATA_ASSIGN_OR_RETURN(const DdlRequest request, decode_ddl(frame.payload));
  const auto done = session.run_ddl(request);
  if (!done) return answering.send_error(done.error());
  return answering.send_whole(FrameKind::kDone, {});
}

Result<void> serve() {
  STRATA_ASSIGN_OR_RETURN(const Frame first, receive_frame(kSocket, {}));
  STRATA_ASSIGN_OR_RETURN(const SetUpRequest set_up, decode_set_up(first.payload));
  if (first.kind != FrameKind::kSetUp) return make_error(Code::kInternal, "set-up comes first");
  apply_process_limits({.address_space_bytes = set_up.address_space_bytes,
                        .use = set_up.use,
                        .answer_bytes = set_up.memory_bytes});
  allow_cpu_time(kCpuTimePerRequest);
  if (set_up.use == WorkerUse::kWorkbench) {
    STRATA_RETURN_IF_ERROR(enter_sandbox(sandbox_rules(set_up)));
    return serve_workbench(kSocket, set_up);
  }
  STRATA_RETURN_IF_ERROR(check_generations(set_up));
  STRATA_ASSIGN_OR_RETURN(AnswerFile answer_file, AnswerFile::make());
  STRATA_RETURN_IF_ERROR(enter_sandbox(sandbox_rules(set_up)));
  STRATA_ASSIGN_OR_RETURN(const auto session,
                          WorkerSession::open(set_up.memory_bytes, std::move(answer_file)));
  QueryWatch watch(kSocket);
  STRATA_RETURN_IF_ERROR(Answering(*session).send_whole(FrameKind::kDone, {}));
  for (;;) {
    STRATA_ASSIGN_OR_RETURN(const Frame frame, receive_frame(kSocket, {}));
    allow_cpu_time(kCpuTimePerRequest);
    if (set_up.use == WorkerUse::kDdl) {
      // One job in a life: what may write a file never runs a reader's SQL.
      if (frame.kind == FrameKind::kDdl) return answer_ddl(*session, frame);
      return make_error(Code::kInternal, "this worker runs DDL only");
    }
    if (frame.kind == FrameKind::kPing) {
      STRATA_RETURN_IF_ERROR(Answering(*session).send_whole(FrameKind::kDone, {}));
    } else if (frame.kind == FrameKind::kQuery) {
      STRATA_RETURN_IF_ERROR(answer_query(*session, watch, frame));
    } else if (frame.kind == FrameKind::kViews) {
      STRATA_RETURN_IF_ERROR(answer_views(*session, frame));
    } else {
      return make_error(Code::kInternal, "not a request");
    }
  }
}

}  // namespace

int worker_main() {
  if (!is_socket(kSocket)) {
    std::fputs("strata worker is started by `strata serve`, not by hand.\n", stderr);
    return kExitUsage;
  }
  try {
    const auto served = serve();
    // The server closed the socket: that is how a worker's life ends.
    if (served || served.error().code == Code::kIo) return EXIT_SUCCESS;
    std::fprintf(stderr, "strata worker: %s (%s)\n", served.error().message.c_str(),
                 served.error().detail.c_str());
  } catch (const std::bad_alloc&) {
    return kExitOutOfMemory;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "strata worker: %s\n", exception.what());
  }
  return EXIT_FAILURE;
}

}  // namespace strata::duck
