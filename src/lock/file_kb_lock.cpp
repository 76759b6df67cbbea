#include "lock/file_kb_lock.h"

#include <fmt/format.h>

#include <utility>

#include "lock/waiting.h"

namespace strata::lock {
namespace {

constexpr std::string_view kLockFile = ".lock";
constexpr PauseRange kPauses{.min = std::chrono::milliseconds(1),
                             .max = std::chrono::milliseconds(20)};

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
    return wait_for_lease(clock_, request, kPauses, acquisitions_,
                          [this, &request] { return try_once(request.kb); });
  }

 private:
  Result<std::unique_ptr<Lease>> try_once(const std::string& kb) {
    auto lock = fs_.try_lock({kb_folder_, kLockFile});
    if (lock) return std::make_unique<FileLease>(std::move(lock).value());
    if (lock.error().code == Code::kBusy) return lock.error();
    return make_error(Code::kIo,
                      fmt::format("The lock of knowledgebase '{}' could not be taken; look at "
                                  "the disk that holds it.",
                                  kb),
                      lock.error().detail);
  }

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
