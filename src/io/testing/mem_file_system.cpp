#include "io/testing/mem_file_system.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <random>
#include <utility>

#include "base/check.h"
#include "io/errors.h"

namespace strata::io {
namespace {

constexpr ino_t kRoot = 1;
constexpr dev_t kDevice = 1;
constexpr mode_t kFileMode = 0640;
constexpr mode_t kDirectoryMode = 0750;
constexpr std::size_t kNameBytesMax = 255;
constexpr int kSymlinksMax = 40;  // on the way of one path, as in Linux
/// So small that the reserve of it is the least there is, kFreeBytesReserveMin.
constexpr std::uint64_t kDiskBytes = 1ULL << 30;

std::deque<std::string> split_path(const std::string& path) {
  std::deque<std::string> parts;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (!part.empty() && part != ".") parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

bool coin(std::mt19937_64& random) { return (random() & 1U) != 0; }

/// What a power cut in the middle of a writeback leaves: the new bytes up to somewhere, then the
/// old.
std::string torn(const std::string& before, const std::string& after, std::mt19937_64& random) {
  const std::size_t cut = random() % (after.size() + 1);
  return after.substr(0, cut) + (cut < before.size() ? before.substr(cut) : "");
}

}  // namespace

class MemFileSystem::Handle final : public Directory {
 public:
  Handle(const MemFileSystem& owner, ino_t inode, std::uint64_t boot, std::string path)
      : owner_(owner), inode_(inode), boot_(boot), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  const MemFileSystem& owner() const { return owner_; }
  ino_t inode() const { return inode_; }
  std::uint64_t boot() const { return boot_; }

 private:
  const MemFileSystem& owner_;
  const ino_t inode_;
  const std::uint64_t boot_;
  const std::string path_;
};

class MemFileSystem::Lock final : public FileLock {
 public:
  Lock(MemFileSystem& owner, ino_t inode, std::uint64_t boot)
      : owner_(owner), inode_(inode), boot_(boot) {}
  ~Lock() override { owner_.unlock(inode_, boot_); }

 private:
  MemFileSystem& owner_;
  const ino_t inode_;
  const std::uint64_t boot_;
};

MemFileSystem::MemFileSystem(const Clock* clock)
    : clock_(clock != nullptr ? *clock : system_clock_) {
  disk_.free_bytes = kDiskBytes;
  const ino_t root = make_node(FileType::kDirectory, {.bytes = {}, .mode = kDirectoryMode});
  STRATA_CHECK(root == kRoot);
  node(root).parent = root;
  node(root).links = 1;
}

MemFileSystem::~MemFileSystem() = default;

// --- crash ---------------------------------------------------------------------------------------

void MemFileSystem::crash(Keep keep, std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  std::mt19937_64 random(seed);
  if (keep == Keep::kNothing) {
    for (auto& [inode, file] : disk_.nodes) {
      file.names = file.synced_names;
      file.now = file.synced;
    }
  } else if (keep == Keep::kSome) {
    keep_some_names(random());
    for (auto& [inode, file] : disk_.nodes) {
      if (file.now == file.synced || coin(random)) continue;
      if (coin(random)) {
        file.now = file.synced;
      } else {
        file.now.bytes = torn(file.synced.bytes, file.now.bytes, random);
      }
    }
  }
  keep_one_name_a_directory();
  forget_unreachable();
  for (auto& [inode, survivor] : disk_.nodes) {
    survivor.synced = survivor.now;
    survivor.synced_names = survivor.names;
  }
  disk_.unsynced.clear();
  locked_.clear();
  ++boot_;
}

void MemFileSystem::keep_some_names(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (auto& [inode, directory] : disk_.nodes) directory.names = directory.synced_names;
  for (const std::vector<Change>& changes : disk_.unsynced) {
    if (!coin(random)) continue;
    for (const Change& change : changes) {
      Names& names = node(change.directory).names;
      if (change.leads_to) {
        names[change.name] = *change.leads_to;
      } else {
        names.erase(change.name);
      }
    }
  }
}

/// Half of a move that survives alone would give a directory two names, which no file system lets
/// happen: the one it had last stays.
void MemFileSystem::keep_one_name_a_directory() {
  std::map<ino_t, std::vector<std::pair<ino_t, std::string>>> names_of;
  for (const auto& [inode, directory] : disk_.nodes) {
    for (const auto& [name, child] : directory.names) {
      if (node(child).type == FileType::kDirectory) names_of[child].emplace_back(inode, name);
    }
  }
  for (const auto& [child, names] : names_of) {
    const auto is_last = [&](const auto& place) { return place.first == node(child).parent; };
    const auto last = std::ranges::find_if(names, is_last);
    const auto& kept = last == names.end() ? names.back() : *last;
    for (const auto& place : names) {
      if (place != kept) node(place.first).names.erase(place.second);
    }
    node(child).parent = kept.first;
  }
}

void MemFileSystem::forget_unreachable() {
  std::map<ino_t, std::uint64_t> links{{kRoot, 1}};
  std::vector<ino_t> to_visit{kRoot};
  while (!to_visit.empty()) {
    const ino_t directory = to_visit.back();
    to_visit.pop_back();
    for (const auto& [name, child] : node(directory).names) {
      if (++links[child] == 1 && node(child).type == FileType::kDirectory) {
        to_visit.push_back(child);
      }
    }
  }
  std::erase_if(disk_.nodes, [&](const auto& entry) { return !links.contains(entry.first); });
  for (auto& [inode, survivor] : disk_.nodes) survivor.links = links.at(inode);
}

std::unique_ptr<MemFileSystem> MemFileSystem::clone() const {
  auto copy = std::make_unique<MemFileSystem>(&clock_ == &system_clock_ ? nullptr : &clock_);
  const std::lock_guard lock(mutex_);
  copy->disk_ = disk_;
  return copy;
}

void MemFileSystem::set_free_bytes(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  disk_.free_bytes = bytes;
}

// --- names and inodes ----------------------------------------------------------------------------

std::int64_t MemFileSystem::now_ns() const { return clock_.wall().time_since_epoch().count(); }

FileStat MemFileSystem::stat_of(ino_t inode) {
  const Node& found = node(inode);
  return FileStat{.id = {kDevice, inode},
                  .type = found.type,
                  .size_bytes = found.now.bytes.size(),
                  .modified_ns = found.modified_ns,
                  .links = found.links,
                  .mode = found.now.mode};
}

Result<ino_t> MemFileSystem::inode_of(std::string_view operation, const Directory& directory) {
  const auto* const handle = dynamic_cast<const Handle*>(&directory);
  STRATA_CHECK(handle != nullptr && &handle->owner() == this);
  if (handle->boot() != boot_) return failed(ESTALE, operation, directory.path());
  return handle->inode();
}

Result<MemFileSystem::Place> MemFileSystem::look_up(std::string_view operation, Entry entry) {
  STRATA_RETURN_IF_ERROR(check_name(operation, entry));
  STRATA_ASSIGN_OR_RETURN(const ino_t directory, inode_of(operation, entry.directory));
  if (node(directory).links == 0) return failed(ENOENT, operation, entry);
  if (entry.name.size() > kNameBytesMax) return failed(ENAMETOOLONG, operation, entry);
  Place place{directory, std::string(entry.name), std::nullopt};
  const Names& names = node(directory).names;
  if (const auto found = names.find(entry.name); found != names.end()) place.inode = found->second;
  return place;
}

Result<ino_t> MemFileSystem::look_up_file(std::string_view operation, Entry file) {
  STRATA_ASSIGN_OR_RETURN(const Place place, look_up(operation, file));
  if (!place.inode) return failed(ENOENT, operation, file);
  switch (node(*place.inode).type) {
    case FileType::kFile:
      return *place.inode;
    case FileType::kDirectory:
      return failed(EISDIR, operation, file);
    default:
      return failed(ELOOP, operation, file);
  }
}

Result<ino_t> MemFileSystem::resolve(std::string_view operation, const std::string& path) {
  if (path.empty()) return failed(ENOENT, operation, path);
  std::deque<std::string> parts = split_path(path);
  ino_t current = kRoot;
  int followed = 0;
  while (!parts.empty()) {
    const std::string part = parts.front();
    parts.pop_front();
    if (node(current).type != FileType::kDirectory) return failed(ENOTDIR, operation, path);
    if (part == "..") {
      current = node(current).parent;
      continue;
    }
    const auto found = node(current).names.find(part);
    if (found == node(current).names.end()) return failed(ENOENT, operation, path);
    const Node& child = node(found->second);
    if (child.type != FileType::kSymlink) {
      current = found->second;
      continue;
    }
    if (++followed > kSymlinksMax) return failed(ELOOP, operation, path);
    if (child.now.bytes.starts_with('/')) current = kRoot;
    const std::deque<std::string> target = split_path(child.now.bytes);
    parts.insert(parts.begin(), target.begin(), target.end());
  }
  return current;
}

std::unique_ptr<Directory> MemFileSystem::open_inode(ino_t inode, std::string path) {
  return std::make_unique<Handle>(*this, inode, boot_, std::move(path));
}

ino_t MemFileSystem::make_node(FileType type, Content content) {
  const ino_t inode = disk_.next_inode++;
  Node made;
  made.type = type;
  made.modified_ns = now_ns();
  // A file that was never synced may be there after a crash, but empty.
  made.synced = type == FileType::kFile ? Content{.bytes = {}, .mode = content.mode} : content;
  made.now = std::move(content);
  disk_.nodes.emplace(inode, std::move(made));
  return inode;
}

void MemFileSystem::apply(std::vector<Change> changes) {
  // Every name is taken away before one is given: an exchange gives each its inode back.
  for (const Change& change : changes) {
    Names& names = node(change.directory).names;
    if (const auto found = names.find(change.name); found != names.end()) {
      --node(found->second).links;
      names.erase(found);
    }
  }
  for (const Change& change : changes) {
    node(change.directory).modified_ns = now_ns();
    if (!change.leads_to) continue;
    node(change.directory).names[change.name] = *change.leads_to;
    Node& child = node(*change.leads_to);
    ++child.links;
    if (child.type == FileType::kDirectory) child.parent = change.directory;
  }
  disk_.unsynced.push_back(std::move(changes));
}

void MemFileSystem::sync_names(ino_t directory) {
  node(directory).synced_names = node(directory).names;
  for (std::vector<Change>& changes : disk_.unsynced) {
    std::erase_if(changes, [&](const Change& change) { return change.directory == directory; });
  }
  std::erase_if(disk_.unsynced, [](const auto& changes) { return changes.empty(); });
}

bool MemFileSystem::lies_in(ino_t inode, ino_t ancestor) {
  while (inode != ancestor && inode != kRoot) inode = node(inode).parent;
  return inode == ancestor;
}

// --- directories ---------------------------------------------------------------------------------

Result<std::unique_ptr<Directory>> MemFileSystem::make_path(const std::string& path) {
  const std::lock_guard lock(mutex_);
  ino_t current = kRoot;
  for (const std::string& part : split_path(path)) {
    const auto found = node(current).names.find(part);
    if (found == node(current).names.end()) {
      const ino_t made = make_node(FileType::kDirectory, {.bytes = {}, .mode = kDirectoryMode});
      apply({{current, part, made}});
      sync_names(current);
      current = made;
    } else {
      current = found->second;
    }
    if (node(current).type != FileType::kDirectory) return failed(ENOTDIR, "make_path", path);
  }
  return open_inode(current, path);
}

Result<std::unique_ptr<Directory>> MemFileSystem::open_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, resolve("open_directory", path));
  if (node(inode).type != FileType::kDirectory) return failed(ENOTDIR, "open_directory", path);
  return open_inode(inode, path);
}

Result<std::unique_ptr<Directory>> MemFileSystem::open_directory_at(Entry directory) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place place, look_up("open_directory_at", directory));
  if (!place.inode) return failed(ENOENT, "open_directory_at", directory);
  if (node(*place.inode).type != FileType::kDirectory) {
    return failed(ENOTDIR, "open_directory_at", directory);
  }
  return open_inode(*place.inode, join_path(directory.directory.path(), place.name));
}

Result<void> MemFileSystem::make_directory(Entry directory) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place place, look_up("make_directory", directory));
  if (place.inode) return failed(EEXIST, "make_directory", directory);
  const ino_t made = make_node(FileType::kDirectory, {.bytes = {}, .mode = kDirectoryMode});
  apply({{place.directory, place.name, made}});
  return {};
}

Result<void> MemFileSystem::remove_directory(Entry directory) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place place, look_up("remove_directory", directory));
  if (!place.inode) return failed(ENOENT, "remove_directory", directory);
  const Node& found = node(*place.inode);
  if (found.type != FileType::kDirectory) return failed(ENOTDIR, "remove_directory", directory);
  if (!found.names.empty()) return failed(ENOTEMPTY, "remove_directory", directory);
  apply({{place.directory, place.name, std::nullopt}});
  return {};
}

Result<std::vector<DirEntry>> MemFileSystem::list(const Directory& directory) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, inode_of("list", directory));
  std::vector<DirEntry> entries;
  for (const auto& [name, child] : node(inode).names) entries.push_back({name, node(child).type});
  return entries;
}

Result<void> MemFileSystem::sync_directory(const Directory& directory) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, inode_of("sync_directory", directory));
  sync_names(inode);
  return {};
}

Result<DiskSpace> MemFileSystem::disk_space(const Directory& directory) {
  const std::lock_guard lock(mutex_);
  STRATA_RETURN_IF_ERROR(inode_of("disk_space", directory));
  return DiskSpace{.free_bytes = disk_.free_bytes, .total_bytes = kDiskBytes};
}

// --- files ---------------------------------------------------------------------------------------

Result<FileStat> MemFileSystem::stat(Entry entry) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place place, look_up("stat", entry));
  if (!place.inode) return failed(ENOENT, "stat", entry);
  return stat_of(*place.inode);
}

Result<FileStat> MemFileSystem::stat_path(const std::string& path) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, resolve("stat_path", path));
  return stat_of(inode);
}

Result<FileStat> MemFileSystem::stat_handle(const Directory& directory) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, inode_of("stat_handle", directory));
  return stat_of(inode);
}

Result<void> MemFileSystem::write_new(Entry file, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place place, look_up("write_new", file));
  if (place.inode) return failed(EEXIST, "write_new", file);
  if (bytes.size() > disk_.free_bytes) return failed(ENOSPC, "write_new", file);
  const ino_t made = make_node(FileType::kFile, {.bytes = std::string(bytes), .mode = kFileMode});
  apply({{place.directory, place.name, made}});
  return {};
}

Result<void> MemFileSystem::patch(Entry file, std::uint64_t offset, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, look_up_file("patch", file));
  std::string& content = node(inode).now.bytes;
  if (offset > content.size() || bytes.size() > content.size() - offset) {
    return failed(EINVAL, "patch", file);
  }
  content.replace(offset, bytes.size(), bytes);
  node(inode).modified_ns = now_ns();
  return {};
}

Result<std::string> MemFileSystem::read(Entry file, std::uint64_t bytes_max) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, look_up_file("read", file));
  const std::string& content = node(inode).now.bytes;
  if (content.size() > bytes_max) return failed(EFBIG, "read", file);
  return content;
}

Result<std::string> MemFileSystem::read_range(Entry file, std::uint64_t offset,
                                              std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, look_up_file("read_range", file));
  const std::string& content = node(inode).now.bytes;
  if (offset > content.size() || size > content.size() - offset) {
    return failed(ENODATA, "read_range", file);
  }
  return content.substr(offset, size);
}

Result<void> MemFileSystem::set_mode(Entry file, mode_t mode) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, look_up_file("set_mode", file));
  node(inode).now.mode = mode;
  return {};
}

Result<void> MemFileSystem::sync_file(Entry file) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, look_up_file("sync_file", file));
  node(inode).synced = node(inode).now;
  return {};
}

// --- links and renames ---------------------------------------------------------------------------

Result<void> MemFileSystem::link(Entry from, Entry to) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place source, look_up("link", from));
  STRATA_ASSIGN_OR_RETURN(const Place target, look_up("link", to));
  if (!source.inode) return failed(ENOENT, "link", from, to);
  if (target.inode) return failed(EEXIST, "link", from, to);
  if (node(*source.inode).type == FileType::kDirectory) return failed(EPERM, "link", from, to);
  apply({{target.directory, target.name, source.inode}});
  return {};
}

Result<void> MemFileSystem::rename_no_replace(Entry from, Entry to) {
  return rename("rename_no_replace", from, to, OnTaken::kFail);
}

Result<void> MemFileSystem::rename_replace(Entry from, Entry to) {
  return rename("rename_replace", from, to, OnTaken::kReplace);
}

Result<void> MemFileSystem::rename_exchange(Entry from, Entry to) {
  return rename("rename_exchange", from, to, OnTaken::kExchange);
}

int MemFileSystem::replace_error(ino_t source, ino_t target) {
  const bool from_directory = node(source).type == FileType::kDirectory;
  const bool to_directory = node(target).type == FileType::kDirectory;
  if (from_directory && !to_directory) return ENOTDIR;
  if (!from_directory && to_directory) return EISDIR;
  return to_directory && !node(target).names.empty() ? ENOTEMPTY : 0;
}

Result<void> MemFileSystem::rename(std::string_view operation, Entry from, Entry to,
                                   OnTaken on_taken) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place source, look_up(operation, from));
  STRATA_ASSIGN_OR_RETURN(const Place target, look_up(operation, to));
  const auto refuse = [&](int error) { return failed(error, operation, from, to); };
  if (!source.inode) return refuse(ENOENT);
  if (on_taken == OnTaken::kFail && target.inode) return refuse(EEXIST);
  if (on_taken == OnTaken::kExchange && !target.inode) return refuse(ENOENT);
  // Two names of one file: rename(2) leaves both as they are.
  if (source.inode == target.inode) return {};
  const auto is_directory = [&](ino_t inode) { return node(inode).type == FileType::kDirectory; };
  if (is_directory(*source.inode) && lies_in(target.directory, *source.inode)) {
    return refuse(EINVAL);
  }
  if (target.inode && is_directory(*target.inode) && lies_in(source.directory, *target.inode)) {
    return refuse(on_taken == OnTaken::kExchange ? EINVAL : ENOTEMPTY);
  }
  if (on_taken == OnTaken::kExchange) {
    apply({{source.directory, source.name, target.inode},
           {target.directory, target.name, source.inode}});
    return {};
  }
  if (target.inode) {
    if (const int error = replace_error(*source.inode, *target.inode); error != 0) {
      return refuse(error);
    }
  }
  apply({{source.directory, source.name, std::nullopt},
         {target.directory, target.name, source.inode}});
  return {};
}

Result<void> MemFileSystem::unlink(Entry file) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place place, look_up("unlink", file));
  if (!place.inode) return failed(ENOENT, "unlink", file);
  if (node(*place.inode).type == FileType::kDirectory) return failed(EISDIR, "unlink", file);
  apply({{place.directory, place.name, std::nullopt}});
  return {};
}

Result<void> MemFileSystem::symlink(const std::string& target, Entry link) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place place, look_up("symlink", link));
  if (target.empty()) return failed(ENOENT, "symlink", link);
  if (place.inode) return failed(EEXIST, "symlink", link);
  const ino_t made = make_node(FileType::kSymlink, {.bytes = target, .mode = 0777});
  apply({{place.directory, place.name, made}});
  return {};
}

Result<std::string> MemFileSystem::read_link(Entry link) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place place, look_up("read_link", link));
  if (!place.inode) return failed(ENOENT, "read_link", link);
  if (node(*place.inode).type != FileType::kSymlink) return failed(EINVAL, "read_link", link);
  return node(*place.inode).now.bytes;
}

// --- locks ---------------------------------------------------------------------------------------

Result<bool> MemFileSystem::is_held_for_writing(Entry file) {
  const std::lock_guard lock(mutex_);
  STRATA_RETURN_IF_ERROR(look_up_file("is_held_for_writing", file));
  return false;
}

Result<std::unique_ptr<FileLock>> MemFileSystem::try_lock(Entry file) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Place place, look_up("try_lock", file));
  if (!place.inode) {
    const ino_t made = make_node(FileType::kFile, {.bytes = {}, .mode = kFileMode});
    apply({{place.directory, place.name, made}});
  }
  STRATA_ASSIGN_OR_RETURN(const ino_t inode, look_up_file("try_lock", file));
  if (!locked_.insert(inode).second) return failed(EAGAIN, "try_lock", file);
  return std::make_unique<Lock>(*this, inode, boot_);
}

void MemFileSystem::unlock(ino_t inode, std::uint64_t boot) {
  const std::lock_guard lock(mutex_);
  if (boot == boot_) locked_.erase(inode);
}

}  // namespace strata::io
