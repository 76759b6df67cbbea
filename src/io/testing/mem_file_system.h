#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "io/file_system.h"

namespace strata::io {

/// A file system in memory that knows what a power cut may take.
///
/// A file's bytes and mode are durable once sync_file returned, a name (made, moved or taken away)
/// once sync_directory of its folder returned; a symlink's target and a folder itself come with
/// their name. That is all POSIX promises, and less than ext4 gives: syncing a file saves none of
/// its names, and a rename between folders is durable on the side that was synced.
///
/// Starts with an empty, durable `/`; relative paths start there too. Handles from before a crash
/// answer kIo. Thread-safe; must outlive its handles and locks.
class MemFileSystem final : public FileSystem {
 public:
  /// Times of files come from `clock`, which must outlive this; without one from the system's.
  explicit MemFileSystem(const Clock* clock = nullptr);
  ~MemFileSystem() override;

  enum class Keep : std::uint8_t {
    kNothing,     // what was not synced is gone
    kEverything,  // as after a killed process
    kSome,        // each unsynced change of names and each file's unsynced bytes, by the seed
  };
  /// A power cut and the boot after it: what survives is durable, no lock is held. With kSome one
  /// call's changes of names survive together or not at all, and bytes old, new or torn.
  void crash(Keep keep, std::uint64_t seed = 0);

  /// The same disk as it is now, synced or not, without the locks: to crash it and look.
  std::unique_ptr<MemFileSystem> clone() const;

  /// Opens `path`, with every missing folder on the way made, durably.
  Result<std::unique_ptr<Directory>> make_path(const std::string& path);

  /// What disk_space calls free from now on; write_new refuses more than that with kDiskFull.
  /// Writing does not use it up.
  void set_free_bytes(std::uint64_t bytes);

  Result<std::unique_ptr<Directory>> open_directory(const std::string& path) override;
  Result<std::unique_ptr<Directory>> open_directory_at(Entry directory) override;
  Result<void> make_directory(Entry directory) override;
  Result<void> remove_directory(Entry directory) override;
  Result<std::vector<DirEntry>> list(const Directory& directory) override;
  Result<FileStat> stat(Entry entry) override;
  Result<FileStat> stat_path(const std::string& path) override;
  Result<FileStat> stat_handle(const Directory& directory) override;
  Result<void> write_new(Entry file, std::string_view bytes) override;
  Result<void> patch(Entry file, std::uint64_t offset, std::string_view bytes) override;
  Result<std::string> read(Entry file, std::uint64_t bytes_max) override;
  Result<std::string> read_range(Entry file, std::uint64_t offset, std::uint64_t size) override;
  Result<void> set_mode(Entry file, mode_t mode) override;
  Result<void> sync_file(Entry file) override;
  Result<void> sync_directory(const Directory& directory) override;
  Result<void> link(Entry from, Entry to) override;
  Result<void> rename_no_replace(Entry from, Entry to) override;
  Result<void> rename_replace(Entry from, Entry to) override;
  Result<void> rename_exchange(Entry from, Entry to) override;
  Result<void> unlink(Entry file) override;
  Result<void> symlink(const std::string& target, Entry link) override;
  Result<std::string> read_link(Entry link) override;
  Result<std::unique_ptr<FileLock>> try_lock(Entry file) override;
  /// Nobody but this process is here.
  Result<bool> is_held_for_writing(Entry file) override;
  Result<DiskSpace> disk_space(const Directory& directory) override;

 private:
  class Handle;
  class Lock;
  using Names = std::map<std::string, ino_t, std::less<>>;

  struct Content {
    std::string bytes;  // of a symlink: its target
    mode_t mode = 0;
    bool operator==(const Content&) const = default;
  };
  struct Node {
    FileType type = FileType::kFile;
    Content now, synced;
    Names names, synced_names;  // of a directory
    ino_t parent = 0;           // of a directory
    std::uint64_t links = 0;    // names that lead here now; a directory without one was removed
    std::int64_t modified_ns = 0;
  };
  /// A name's new meaning in one directory; nothing: the name goes.
  struct Change {
    ino_t directory = 0;
    std::string name;
    std::optional<ino_t> leads_to;
  };
  /// Everything but the handles; copied by clone().
  struct Disk {
    std::map<ino_t, Node> nodes;
    ino_t next_inode = 1;
    std::vector<std::vector<Change>> unsynced;  // one element a call, oldest first
    std::uint64_t free_bytes = 0;
  };
  /// An Entry, looked up: its directory exists, the name may lead nowhere.
  struct Place {
    ino_t directory = 0;
    std::string name;
    std::optional<ino_t> inode;
  };

  Node& node(ino_t inode) { return disk_.nodes.at(inode); }
  std::int64_t now_ns() const;
  FileStat stat_of(ino_t inode);
  /// The inode behind a handle, also of a removed directory.
  Result<ino_t> inode_of(std::string_view operation, const Directory& directory);
  Result<Place> look_up(std::string_view operation, Entry entry);
  /// look_up of a regular file that is there.
  Result<ino_t> look_up_file(std::string_view operation, Entry file);
  Result<ino_t> resolve(std::string_view operation, const std::string& path);
  std::unique_ptr<Directory> open_inode(ino_t inode, std::string path);
  ino_t make_node(FileType type, Content content);
  /// Makes the changes of one call, now and, until they are synced, at risk.
  void apply(std::vector<Change> changes);
  void sync_names(ino_t directory);
  /// Whether `inode` is `ancestor` or lies below it.
  bool lies_in(ino_t inode, ino_t ancestor);
  enum class OnTaken : std::uint8_t { kFail, kReplace, kExchange };
  Result<void> rename(std::string_view operation, Entry from, Entry to, OnTaken on_taken);
  /// 0, or the errno with which rename(2) refuses to put `source` in the place of `target`.
  int replace_error(ino_t source, ino_t target);
  void keep_some_names(std::uint64_t seed);
  void keep_one_name_a_directory();
  void forget_unreachable();
  void unlock(ino_t inode, std::uint64_t boot);

  const SystemClock system_clock_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // guards all below
  Disk disk_;
  std::set<ino_t> locked_;
  std::uint64_t boot_ = 0;  // handles and locks of another boot are dead
};

}  // namespace strata::io
