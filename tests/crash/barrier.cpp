#include "barrier.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/check.h"

namespace strata::crash {
namespace {

constexpr std::chrono::seconds kPatience{2};

}  // namespace

Barrier::Barrier(const std::string& file, int parties)
    : parties_(static_cast<std::uint64_t>(parties)) {
  if (file.empty()) return;
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  STRATA_CHECK(fd >= 0);
  void* mapped = ::mmap(nullptr, sizeof(*arrived_), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  STRATA_CHECK(mapped != MAP_FAILED);
  ::close(fd);
  arrived_ = static_cast<std::atomic<std::uint64_t>*>(mapped);
}

Barrier::~Barrier() {
  if (arrived_ != nullptr) ::munmap(arrived_, sizeof(*arrived_));
}

void Barrier::wait() {
  if (arrived_ == nullptr) return;
  ++round_;
  arrived_->fetch_add(1);
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (arrived_->load() < round_ * parties_ && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
  }
}

}  // namespace strata::crash
