#include "lock/file_kb_lock.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

namespace strata::lock {
namespace {

constexpr std::string_view kLockFile = ".lock";
constexpr std::chrono::milliseconds kPollMin{1};
constexpr std::chrono::milliseconds kPollMax{20};

class FileLease final : public Lease {
 public:
  explicit FileLease(std::unique_ptr<io::FileLock> lock) : lock_(std::move(lock)) {}
  bool held() const override { return true; }

 private:
  std::unique_ptr<io::FileLock> lock_;
};

class FileKbLock final : public KbLock {
 public:
  FileKbLock(io::FileSystem& fs, const Clock& clock, const io::Directory& kb_folder,
             AcquisitionCounter& acquisitions)
      : fs_(fs), clock_(clock), kb_folder_(kb_folder), acquisitions_(acquisitions) {}

  Result<std::unique_ptr<Lease>> acquire(const LockRequest& request) override {
    const SteadyTime deadline = clock_.steady() + request.wait;
    // Jittered, so that waiters do not meet at every turn.
    std::minstd_rand random{std::random_device{}()};
    std::uniform_int_distribution<std::int64_t> pause_ms(kPollMin.count(), kPollMax.count());
    while (true) {
      auto lock = fs_.try_lock({kb_folder_, kLockFile});
      if (lock) {
        acquisitions_.add({request.kb, request.stream, request.purpose});
        return std::make_unique<FileLease>(std::move(lock).value());
      }
      if (lock.error().code != Code::kBusy) {
        return make_error(Code::kIo,
                          fmt::format("The lock of knowledgebase '{}' could not be taken; look at "
                                      "the disk that holds it.",
                                      request.kb),
                          lock.error().detail);
      }
      const auto left = deadline - clock_.steady();
      if (left <= SteadyTime::duration::zero()) {
        return make_error(Code::kBusy,
                          fmt::format("Somebody else is changing knowledgebase '{}'; try again in "
                                      "a moment.",
                                      request.kb),
                          lock.error().detail);
      }
      std::this_thread::sleep_for(
          std::min<SteadyTime::duration>(left, std::chrono::milliseconds(pause_ms(random))));
    }
  }

 private:
  io::FileSystem& fs_;
  const Clock& clock_;
  const io::Directory& kb_folder_;
  AcquisitionCounter& acquisitions_;
};

}  // namespace

std::unique_ptr<KbLock> make_file_kb_lock(io::FileSystem& fs, const Clock& clock,
                                          const io::Directory& kb_folder,
                                          AcquisitionCounter& acquisitions) {
  return std::make_unique<FileKbLock>(fs, clock, kb_folder, acquisitions);
}

}  // namespace strata::lock
