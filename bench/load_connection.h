#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"
#include "latencies.h"

namespace strata::bench {

/// One producer: a kept-alive connection over which one POST after the other goes, the next when
/// the answer to the last is there. Sockets do not block: the caller waits for the descriptor to be
/// ready, then calls advance(). Not thread-safe.
class LoadConnection {
 public:
  /// Connects to 127.0.0.1. kIo: nobody listens.
  static Result<LoadConnection> open(std::uint16_t port);

  int descriptor() const { return socket_.get(); }
  bool is_waiting() const { return waiting_; }

  /// Begins a POST of `body`, which must live until its answer is there.
  void begin(std::string_view path, std::string_view id, std::string_view body);

  struct Answer {
    bool landed = false;  // 200 and not replayed
    Latency latency{};    // from begin() to the answer's last byte
  };
  /// Sends and receives what can be without waiting. True: the answer is there, in `answer`.
  /// kIo: the connection ended, or what came is no answer.
  Result<bool> advance(Answer& answer);
  /// The whole of the last answer, for a message.
  const std::string& last_answer() const { return received_; }

 private:
  explicit LoadConnection(UniqueFd socket) : socket_(std::move(socket)) {}

  Result<void> send_rest();
  Result<bool> receive();

  UniqueFd socket_;
  bool waiting_ = false;
  std::string head_;
  std::string_view body_;
  std::size_t sent_ = 0;  // of head and body
  std::string received_;
  std::size_t answer_bytes_ = 0;  // 0: its head is not there yet
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace strata::bench
