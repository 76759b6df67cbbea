#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/file_system.h"

/// Small files that change are never overwritten: each change is the next number, published
/// no-replace; the highest number holds; numbers are never freed (architecture.md, On disk).
namespace strata::io {

/// The largest numbered file that is written or read.
inline constexpr std::uint64_t kNumberedBytesMax = 16ULL * 1024 * 1024;

struct Numbered {
  std::uint64_t number = 0;
  std::string bytes;
};

/// `000017` + suffix; more digits past 999999.
std::string numbered_name(std::uint64_t number, std::string_view suffix);
/// The number in `name`, if it is one that numbered_name makes with this suffix.
std::optional<std::uint64_t> parse_numbered(std::string_view name, std::string_view suffix);

/// The file with the highest number, or nothing in an empty folder. Its name may not be durable
/// yet, because its publisher may be on the way to its own sync: whoever acknowledges something
/// that rests on it calls sync_directory(folder) first, as the loser of a claim does (durability.md
/// 0.4). kBusy: files kept going away between the listing and the read.
Result<std::optional<Numbered>> read_newest(FileSystem& fs, const Directory& folder,
                                            std::string_view suffix);

/// Where kill_point() is called while a name is published, said by the caller in whole words, so
/// that each list of them can be searched for. Empty: there is none.
struct NamedPoints {
  std::string_view after_sync;  // the staged file is on disk and nobody reads it
  std::string_view after_name;  // it has its name, which may not be durable yet
};

/// Publishes `bytes` under `number`, durable when it returns. kExists: another process took that
/// number; read_newest, fold again, try the next. After any other error the number may be taken by
/// these very bytes or may not; read_newest tells. `staging` is a folder on the same file system
/// that no reader looks at; nothing stays in it unless taking it away failed too.
struct NumberedPublish {
  const Directory& folder;
  const Directory& staging;
  std::uint64_t number = 0;
  std::string_view suffix;
  std::string_view bytes;
  NamedPoints points = {};
};
Result<void> publish_numbered(FileSystem& fs, const NumberedPublish& publish);

/// Replaces (or makes) `to` by rename, durable when it returns: for the few files of which only
/// the newest content counts (the anchor, the counters' checkpoints). After an error the old or the
/// new content stands, whole.
struct Replacement {
  Entry to;
  const Directory& staging;
  std::string_view bytes;
  NamedPoints points = {};
};
Result<void> publish_replacing(FileSystem& fs, const Replacement& replacement);

/// Opens `name` below `parent`, making it first where it is missing; durable when it returns: the
/// parent is synced even when the folder was there already, because whoever made it may not have
/// synced yet. Callers keep the handle, so this is once per process and folder.
Result<std::unique_ptr<Directory>> ensure_directory(FileSystem& fs, Entry directory);

}  // namespace strata::io
