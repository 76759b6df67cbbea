#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "io/file_system.h"

/// Files in the making: how they are named, published once, and swept away when their maker died.
/// Private to this folder.
namespace strata::kb {

/// `<prefix><process>.<random>.<kind>`: nobody else uses it, and an operator sees whose it was.
struct StagedName {
  std::string_view prefix;
  std::string_view process;
  std::string_view kind;
};
std::string staged_name(const StagedName& name);

/// A file that is not published yet. Unlinked when it goes, unless it was renamed away.
class StagedFile {
 public:
  StagedFile(io::FileSystem& fs, const io::Directory& staging, std::string name)
      : fs_(fs), staging_(staging), name_(std::move(name)) {}
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  ~StagedFile();

  const std::string& name() const { return name_; }
  io::Entry entry() const { return {staging_, name_}; }
  /// Its name is another's now, so there is nothing left to unlink.
  void renamed() { renamed_ = true; }

 private:
  io::FileSystem& fs_;
  const io::Directory& staging_;
  const std::string name_;
  bool renamed_ = false;
};

/// A folder for the files of one making, whoever makes them. It goes with all that is left in it.
class StagedFolder {
 public:
  static Result<std::unique_ptr<StagedFolder>> make(io::FileSystem& fs,
                                                    const io::Directory& staging, std::string name);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  ~StagedFolder();

  const std::string& name() const { return name_; }
  const io::Directory& directory() const { return *directory_; }

 private:
  StagedFolder(io::FileSystem& fs, const io::Directory& staging, std::string name)
      : fs_(fs), staging_(staging), name_(std::move(name)) {}

  io::FileSystem& fs_;
  const io::Directory& staging_;
  const std::string name_;
  std::unique_ptr<io::Directory> directory_;
};

struct OncePublish {
  io::Entry to;
  const io::Directory& staging;  // on the same file system
  std::string staged;            // a staged_name
  std::string_view bytes;
};
/// Publishes a file that never changes afterwards, whole or not at all. True: `to` holds these
/// bytes. False: another's were there first; read them. The name is durable either way.
Result<bool> publish_once(io::FileSystem& fs, const OncePublish& publish);

/// Removes the files, links and folders of files in `staging` whose names begin with `prefix` and
/// that nobody touched for an hour: no maker takes nearly as long, and one that did would find its
/// rename refused and start again. So the rule needs no proof that a process is dead. Best effort:
/// what stays, also because the clock is not to be trusted, is swept by the next start.
struct Sweep {
  const io::Directory& staging;
  std::string_view prefix;
  const Clock& clock;
};
void sweep_staging(io::FileSystem& fs, const Sweep& sweep);

}  // namespace strata::kb
