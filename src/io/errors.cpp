#include "io/errors.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace strata::io {
namespace {

Code code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
      return Code::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
      return Code::kExists;
    case ENOSPC:
    case EDQUOT:
      return Code::kDiskFull;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:  // only a lock held elsewhere: no descriptor here waits for anything else
      return Code::kBusy;
    default:
      return Code::kIo;
  }
}

std::string_view message_of(Code code, int error_number) {
  switch (code) {
    case Code::kNotFound:
      return "A file or folder is not there.";
    case Code::kExists:
      return "A file or folder of this name is there already.";
    case Code::kDiskFull:
      return "The disk is full; free some space, then try again.";
    case Code::kBusy:
      return error_number == EAGAIN
                 ? "A lock is held elsewhere; try again soon."
                 : "The server is short of memory or open files; try again soon.";
    default:
      if (error_number == EXDEV) {
        return "A folder of the root is on another file system: take away what is mounted below "
               "the root, then restart Strata.";
      }
      return "The disk could not do what was asked; the server's log says why.";
  }
}

}  // namespace

Error failed(int error_number, std::string_view operation, std::string_view path) {
  const Code code = code_of(error_number);
  const char* const name = ::strerrorname_np(error_number);
  const char* const reason = ::strerrordesc_np(error_number);
  return make_error(
      code, std::string(message_of(code, error_number)),
      fmt::format("{} {}: {} ({})", operation, path, name != nullptr ? name : "unknown errno",
                  reason != nullptr ? reason : std::to_string(error_number)));
}

Error failed(int error_number, std::string_view operation, Entry entry) {
  return failed(error_number, operation, join_path(entry.directory.path(), entry.name));
}

Error failed(int error_number, std::string_view operation, Entry from, Entry to) {
  return failed(error_number, operation,
                fmt::format("{} to {}", join_path(from.directory.path(), from.name),
                            join_path(to.directory.path(), to.name)));
}

Result<void> check_name(std::string_view operation, Entry entry) {
  const std::string_view name = entry.name;
  const bool single = !name.empty() && name != "." && name != ".." &&
                      name.find('/') == std::string_view::npos &&
                      name.find('\0') == std::string_view::npos;
  if (!single) return failed(EINVAL, operation, entry);
  return {};
}

std::string join_path(std::string_view directory, std::string_view name) {
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

}  // namespace strata::io
