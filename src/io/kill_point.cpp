#include "io/kill_point.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string>

namespace strata::io {
namespace {

/// What an environment variable names: a point, and which time it is reached.
class Target {
 public:
  explicit Target(const char* variable) {
    const char* text = std::getenv(variable);
    if (text == nullptr) return;
    const std::string_view whole(text);
    const auto mark = whole.find('#');
    name_ = whole.substr(0, mark);
    if (mark != std::string_view::npos) {
      std::from_chars(whole.data() + mark + 1, whole.data() + whole.size(), occurrence_);
    }
  }
  bool is_reached(std::string_view name) {
    return !name_.empty() && name_ == name && ++reached_ == occurrence_;
  }

 private:
  std::string name_;
  int occurrence_ = 1;
  std::atomic<int> reached_ = 0;
};

}  // namespace

void kill_point(std::string_view name) {
  static Target crash("STRATA_CRASH_AT");
  static Target stop("STRATA_STOP_AT");
  if (crash.is_reached(name)) ::_exit(kKillPointExit);
  // To this thread: one to the process goes to any, and this one runs on until that has it.
  if (stop.is_reached(name)) static_cast<void>(::raise(SIGSTOP));
}

}  // namespace strata::io
