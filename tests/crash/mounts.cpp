#include "mounts.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace strata::crash {
namespace {

constexpr int kTries = 500;
void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

/// Another process may take the free device first.
UniqueFd attach(const std::string& file) {
  const UniqueFd backing(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!backing.valid() || !control.valid()) die("no loop device for " + file);
  for (int i = 0; i < kTries; ++i) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) die("no free loop device");
    UniqueFd device(::open(("/dev/loop" + std::to_string(number)).c_str(), O_RDWR | O_CLOEXEC));
    loop_config config{};
    config.fd = static_cast<__u32>(backing.get());
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (device.valid() && ::ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) return device;
    rest();
  }
  die("no loop device could be attached");
}

}  // namespace

void die(const std::string& sentence) {
  std::perror(sentence.c_str());
  std::exit(9);
}

void enter_private_mounts() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) die("pdeathsig");
  if (::unshare(CLONE_NEWNS) != 0) die("no mount namespace of its own");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) die("private mounts");
}

LoopMount::LoopMount(const std::string& file, const std::string& type,
                     const std::string& mountpoint)
    : device_(attach(file)), mountpoint_(mountpoint) {
  const std::string device = "/proc/self/fd/" + std::to_string(device_.get());
  mounted_ = ::mount(device.c_str(), mountpoint.c_str(), type.c_str(), 0, nullptr) == 0;
  if (!mounted_) std::perror("mount");
}

LoopMount::~LoopMount() {
  if (!mounted_) return;
  for (int i = 0; i < kTries; ++i) {
    if (::umount2(mountpoint_.c_str(), 0) == 0) return;
    rest();
  }
  die("unmount " + mountpoint_);
}

pid_t start(const std::vector<std::string>& command) {
  std::vector<std::string> all{"setpriv", "--pdeathsig", "KILL", "--"};
  all.insert(all.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  for (std::string& text : all) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  if (::posix_spawnp(&pid, "setpriv", nullptr, nullptr, arguments.data(), environ) != 0) {
    die("start " + command.front());
  }
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) die("waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace strata::crash
