#include "stream/quarantine.h"

#include <fmt/format.h>

#include "io/kill_point.h"
#include "io/numbered.h"
#include "stream/stream.h"

namespace strata::stream {
namespace {

/// Of how many files of one name there is a place for.
constexpr int kNamesMax = 1000;

std::string numbered(std::string_view name, int n) {
  return n == 1 ? std::string(name) : fmt::format("{}.{}", name, n);
}

std::string told(const std::string& name) { return fmt::format("{}/{}", kQuarantineFolder, name); }

Error no_name() {
  return make_error(Code::kIo,
                    "quarantine/ holds too many files of this name; move them elsewhere");
}

}  // namespace

Result<void> Quarantine::open() {
  if (folder_) return {};
  STRATA_ASSIGN_OR_RETURN(folder_, io::ensure_directory(fs_, {stream_, kQuarantineFolder}));
  return {};
}

Result<std::string> Quarantine::take(io::Entry from, const io::FileId& expected,
                                     std::string_view name) {
  STRATA_RETURN_IF_ERROR(open());
  STRATA_ASSIGN_OR_RETURN(const io::FileStat there, fs_.stat(from));
  if (there.id != expected) {
    return make_error(Code::kConflict, "another file has taken its place meanwhile; verify again");
  }
  for (int n = 1; n <= kNamesMax; ++n) {
    const std::string target = numbered(name, n);
    const auto moved = fs_.rename_no_replace(from, {*folder_, target});
    if (!moved && moved.error().code == Code::kExists) continue;
    if (!moved) return moved.error();
    STRATA_RETURN_IF_ERROR(give_back_other(from, expected, target));
    io::kill_point("quarantine:after_move");
    // The new name first: a power cut must not leave neither.
    STRATA_RETURN_IF_ERROR(fs_.sync_directory(*folder_));
    STRATA_RETURN_IF_ERROR(fs_.sync_directory(from.directory));
    io::kill_point("quarantine:after_sync");
    return told(target);
  }
  return no_name();
}

/// Between the look and the move a batch may have landed under that name.
Result<void> Quarantine::give_back_other(io::Entry from, const io::FileId& expected,
                                         const std::string& target) {
  STRATA_ASSIGN_OR_RETURN(const io::FileStat taken, fs_.stat({*folder_, target}));
  if (taken.id == expected) return {};
  STRATA_RETURN_IF_ERROR(fs_.rename_no_replace({*folder_, target}, from));
  // Whoever landed it synced the name that it has again, but maybe before it was away.
  STRATA_RETURN_IF_ERROR(fs_.sync_directory(from.directory));
  return make_error(Code::kConflict, "another file took its place meanwhile; verify again");
}

Result<std::string> Quarantine::replace(io::Entry bad, io::Entry good, std::string_view name) {
  STRATA_RETURN_IF_ERROR(open());
  for (int n = 1; n <= kNamesMax; ++n) {
    const std::string target = numbered(name, n);
    const io::Entry kept{*folder_, target};
    const auto linked = fs_.link(good, kept);
    if (!linked && linked.error().code == Code::kExists) continue;
    if (!linked) return linked.error();
    io::kill_point("quarantine:after_link");
    if (const auto exchanged = fs_.rename_exchange(kept, bad); !exchanged) {
      ignore(fs_.unlink(kept), "a second name of a file that has its own");
      return exchanged.error();
    }
    io::kill_point("quarantine:after_exchange");
    STRATA_RETURN_IF_ERROR(fs_.sync_directory(*folder_));
    STRATA_RETURN_IF_ERROR(fs_.sync_directory(bad.directory));
    return told(target);
  }
  return no_name();
}

}  // namespace strata::stream
