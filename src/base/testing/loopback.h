#pragma once

#include <cstdint>

#include "base/unique_fd.h"

namespace strata {

/// For tests: listens on a free port of 127.0.0.1, and takes nobody by itself.
class LoopbackListener {
 public:
  LoopbackListener();

  std::uint16_t port() const { return port_; }
  int fd() const { return socket_.get(); }
  /// The next who connects; waits for it.
  UniqueFd accept() const;
  void close() { socket_.reset(); }

 private:
  UniqueFd socket_;
  std::uint16_t port_ = 0;
};

/// A port that was free just now: somebody else may have it before a server does.
inline std::uint16_t free_port() { return LoopbackListener().port(); }

}  // namespace strata
