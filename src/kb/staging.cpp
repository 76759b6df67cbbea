#include "kb/staging.h"

#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "base/ids.h"

namespace strata::kb {
namespace {

constexpr std::chrono::hours kLeftoverAge{1};
constexpr std::size_t kRandomBytes = 8;

/// Best effort.
void remove_with_files(io::FileSystem& fs, io::Entry folder) {
  if (const auto directory = fs.open_directory_at(folder)) {
    const auto entries = fs.list(**directory);
    for (const io::DirEntry& entry : entries ? *entries : std::vector<io::DirEntry>()) {
      ignore(fs.unlink({**directory, entry.name}), "then the folder stays, and is swept later");
    }
  }
  ignore(fs.remove_directory(folder), "it is swept later");
}

}  // namespace

std::string staged_name(const StagedName& name) {
  return fmt::format("{}{}.{}.{}", name.prefix, name.process, random_hex(kRandomBytes), name.kind);
}

StagedFile::~StagedFile() {
  if (!renamed_) ignore(fs_.unlink(entry()), "it may never have been made; else it is swept later");
}

Result<std::unique_ptr<StagedFolder>> StagedFolder::make(io::FileSystem& fs,
                                                         const io::Directory& staging,
                                                         std::string name) {
  STRATA_RETURN_IF_ERROR(fs.make_directory({staging, name}));
  auto made = std::unique_ptr<StagedFolder>(new StagedFolder(fs, staging, std::move(name)));
  STRATA_ASSIGN_OR_RETURN(made->directory_, fs.open_directory_at({staging, made->name_}));
  return made;
}

StagedFolder::~StagedFolder() { remove_with_files(fs_, {staging_, name_}); }

Result<bool> publish_once(io::FileSystem& fs, const OncePublish& publish) {
  StagedFile staged(fs, publish.staging, publish.staged);
  STRATA_RETURN_IF_ERROR(fs.write_new(staged.entry(), publish.bytes));
  STRATA_RETURN_IF_ERROR(fs.sync_file(staged.entry()));
  const auto published = fs.rename_no_replace(staged.entry(), publish.to);
  if (!published && published.error().code != Code::kExists) return published.error();
  if (published) staged.renamed();
  // The loser too: the winner may not have come to its own sync yet.
  STRATA_RETURN_IF_ERROR(fs.sync_directory(publish.to.directory));
  return published.has_value();
}

void sweep_staging(io::FileSystem& fs, const Sweep& sweep) {
  const auto now = sweep.clock.trusted_wall();
  if (!now) return;
  const auto entries = fs.list(sweep.staging);
  if (!entries) return;
  for (const io::DirEntry& entry : *entries) {
    if (!entry.name.starts_with(sweep.prefix)) continue;
    const auto stat = fs.stat({sweep.staging, entry.name});
    if (!stat || stat->type == io::FileType::kOther) continue;
    const WallTime modified{std::chrono::nanoseconds(stat->modified_ns)};
    if (*now - modified <= kLeftoverAge) continue;
    if (stat->type == io::FileType::kDirectory) {
      remove_with_files(fs, {sweep.staging, entry.name});
    } else {
      ignore(fs.unlink({sweep.staging, entry.name}), "another process may sweep too");
    }
  }
}

}  // namespace strata::kb
