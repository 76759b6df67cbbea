#include "io/probe.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "base/ids.h"

namespace strata::io {
namespace {

constexpr std::string_view kContentA = "a";
constexpr std::string_view kContentB = "b";

/// kIo is how a file system says "I have no such call"; anything else that fails (full, no
/// descriptors) says nothing about the call.
Result<bool> can(const Result<void>& tried) {
  if (tried) return true;
  if (tried.error().code == Code::kIo) return false;
  return tried.error();
}

Error broken(std::string_view what) {
  return make_error(Code::kIo,
                    fmt::format("The file system under the root is not usable: {}. Put the root on "
                                "another one.",
                                what),
                    "probe");
}

/// A folder moves without replacing only where renameat2 knows the flag: the stand-in, link +
/// unlink, cannot move one.
Result<bool> probe_no_replace(FileSystem& fs, const Directory& folder) {
  STRATA_RETURN_IF_ERROR(fs.make_directory({folder, "folder"}));
  STRATA_ASSIGN_OR_RETURN(const bool native,
                          can(fs.rename_no_replace({folder, "folder"}, {folder, "moved"})));
  // With the flag or without, a name that is taken stays as it is: ids stand on that.
  const Result<void> onto_taken = fs.rename_no_replace({folder, "a"}, {folder, "b"});
  STRATA_ASSIGN_OR_RETURN(const std::string kept, fs.read({folder, "b"}, kContentB.size()));
  if (onto_taken || kept != kContentB) return broken("it replaces a file though told not to");
  if (onto_taken.error().code == Code::kExists) return native;
  STRATA_RETURN_IF_ERROR(can(onto_taken));
  return false;
}

Result<bool> probe_exchange(FileSystem& fs, const Directory& folder) {
  STRATA_ASSIGN_OR_RETURN(const bool answered,
                          can(fs.rename_exchange({folder, "a"}, {folder, "b"})));
  if (!answered) return false;
  STRATA_ASSIGN_OR_RETURN(const std::string a, fs.read({folder, "a"}, kContentB.size()));
  STRATA_ASSIGN_OR_RETURN(const std::string b, fs.read({folder, "b"}, kContentA.size()));
  return a == kContentB && b == kContentA;
}

Result<bool> probe_hard_links(FileSystem& fs, const Directory& folder) {
  STRATA_ASSIGN_OR_RETURN(const bool answered, can(fs.link({folder, "a"}, {folder, "link"})));
  if (!answered) return false;
  STRATA_ASSIGN_OR_RETURN(const FileStat file, fs.stat({folder, "a"}));
  STRATA_ASSIGN_OR_RETURN(const FileStat link, fs.stat({folder, "link"}));
  // A claim is told from a stranger's file by its inode.
  return file.id == link.id && link.links == 2;
}

Result<ProbeReport> probe_in(FileSystem& fs, const Directory& folder) {
  STRATA_RETURN_IF_ERROR(fs.write_new({folder, "a"}, kContentA));
  STRATA_RETURN_IF_ERROR(fs.write_new({folder, "b"}, kContentB));
  STRATA_RETURN_IF_ERROR(fs.sync_file({folder, "a"}));
  ProbeReport report;
  STRATA_ASSIGN_OR_RETURN(report.hard_links, probe_hard_links(fs, folder));
  STRATA_ASSIGN_OR_RETURN(report.no_replace, probe_no_replace(fs, folder));
  STRATA_ASSIGN_OR_RETURN(report.exchange, probe_exchange(fs, folder));
  STRATA_ASSIGN_OR_RETURN(report.directory_sync, can(fs.sync_directory(folder)));
  return report;
}

}  // namespace

Result<ProbeReport> probe(FileSystem& fs, const Directory& root) {
  const std::string name = fmt::format("_probe.{}", random_hex(8));
  const Entry entry{root, name};
  STRATA_RETURN_IF_ERROR(fs.make_directory(entry));
  auto folder = fs.open_directory_at(entry);
  Result<ProbeReport> report =
      folder ? probe_in(fs, **folder) : Result<ProbeReport>(folder.error());
  if (folder) {
    for (const std::string_view file : {"a", "b", "link"}) {
      ignore(fs.unlink({**folder, file}), "not there if the probe ended early; the rmdir tells");
    }
    for (const std::string_view below : {"folder", "moved"}) {
      ignore(fs.remove_directory({**folder, below}),
             "one of the two is not there; the rmdir tells");
    }
  }
  const Result<void> removed = fs.remove_directory(entry);
  if (report && !removed) return removed.error();
  return report;
}

}  // namespace strata::io
