#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/input.h"
#include "http/client.h"

/// What the tests of cli/ share. Part of no library.
namespace strata::cli::testing {

/// A text in pieces of `piece_bytes`, but for the first, which holds the 4 bytes a source promises.
class PiecewiseSource final : public ByteSource {
 public:
  PiecewiseSource(std::string_view text, std::size_t piece_bytes)
      : rest_(text), piece_bytes_(piece_bytes) {}
  Result<std::string_view> read() override {
    const std::size_t wanted = first_ ? std::max<std::size_t>(piece_bytes_, 4) : piece_bytes_;
    first_ = false;
    const std::string_view piece = rest_.substr(0, wanted);
    rest_.remove_prefix(piece.size());
    return piece;
  }

 private:
  std::string_view rest_;
  std::size_t piece_bytes_;
  bool first_ = true;
};

/// What answers instead of a server. Thread-safe as far as `answer` is: it is called under a lock.
struct FakeServer {
  std::function<Result<http::ClientResponse>(const http::ClientRequest&)> answer;
  /// For send_streaming: what arrives before `answer`'s result.
  std::vector<std::string> pieces;

  std::mutex mutex;
  std::vector<http::ClientRequest> requests;
  std::vector<std::string> urls;
};

class FakeClient final : public http::Client {
 public:
  explicit FakeClient(FakeServer& server) : server_(server) {}
  Result<http::ClientResponse> send(const http::ClientRequest& request) override {
    const std::lock_guard lock(server_.mutex);
    server_.requests.push_back(request);
    return server_.answer(request);
  }
  Result<http::ClientResponse> send_streaming(
      const http::ClientRequest& request,
      const std::function<void(std::string_view)>& on_body) override {
    for (const std::string& piece : server_.pieces) on_body(piece);
    return send(request);
  }

 private:
  FakeServer& server_;
};

inline std::string header_of(const http::ClientRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return {};
}

inline Error no_answer() { return make_error(Code::kIo, "connection refused"); }

inline http::ClientResponse reply(int status, std::string body, http::Headers headers = {}) {
  return {.status = status, .headers = std::move(headers), .body = std::move(body)};
}

inline http::ClientResponse problem(int status, const std::string& title,
                                    const std::string& detail) {
  return reply(status, R"({"type":"about:blank","title":")" + title + R"(","status":)" +
                           std::to_string(status) + R"(,"detail":")" + detail + R"("})");
}

/// A run of the whole program against a FakeServer.
struct ProgramRun {
  int exit_code = 0;
  std::string out;
  std::string err;
  std::chrono::milliseconds slept{0};
};

struct ProgramInput {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment{};
  std::string standard_input{};
  bool err_is_terminal = false;
};

ProgramRun run_program(FakeServer& server, const ProgramInput& input);

/// A folder of its own below the system's, gone with the object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  /// Writes `text` there; answers the path.
  std::string file(const std::string& name, std::string_view text) const;
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace strata::cli::testing
