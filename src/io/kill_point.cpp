#include "io/kill_point.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string>

namespace strata::io {
namespace {

struct Target {
  std::string name;
  int occurrence = 1;
};

Target read_target() {
  Target target;
  const char* text = std::getenv("STRATA_CRASH_AT");
  if (text == nullptr) return target;
  const std::string_view whole(text);
  const auto mark = whole.find('#');
  target.name = whole.substr(0, mark);
  if (mark != std::string_view::npos) {
    std::from_chars(whole.data() + mark + 1, whole.data() + whole.size(), target.occurrence);
  }
  return target;
}

}  // namespace

void kill_point(std::string_view name) {
  static const Target target = read_target();
  static std::atomic<int> reached = 0;
  if (target.name.empty() || target.name != name) return;
  if (++reached == target.occurrence) ::_exit(kKillPointExit);
}

}  // namespace strata::io
