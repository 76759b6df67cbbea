#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/file_system.h"
#include "io/numbered.h"

/// Where a kb's catalog is, and was: numbered files in `<kb>/backend/`, the highest of which holds
/// (docs/adr/0008). Without one it is where kb.json says.
namespace strata::kb {

inline constexpr std::string_view kBackendFolder = "backend";
inline constexpr std::string_view kBackendSuffix = ".json";

enum class Backend : std::uint8_t { kFile, kPostgres };
std::string_view backend_name(Backend backend);
std::optional<Backend> parse_backend(std::string_view name);

struct BackendState {
  Backend backend = Backend::kFile;  // where the catalog is, also while it is being copied
  bool migrating = false;
  bool operator==(const BackendState&) const = default;
};

/// One kb's, as seen by one process. Thread-safe; other processes may add to it.
class BackendHistory {
 public:
  struct Entry {
    BackendState state;
    std::uint64_t number = 0;  // 0: kb.json's
    bool operator==(const Entry&) const = default;
  };

  /// `kb_folder` is borrowed. `first` is what kb.json says.
  BackendHistory(io::FileSystem& fs, const io::Directory& kb_folder, Backend first);

  /// Looks on the disk: one look at the next number's name where nothing changed. kIo: the newest
  /// file cannot be read.
  Result<Entry> newest();
  /// What newest() answered last; nobody looks on the disk.
  Entry last_seen() const;

  /// Publishes `next` as what follows `after`; durable when it returns. kExists: another process
  /// was first. After any other error newest() tells whether it holds.
  Result<void> append(const Entry& after, const BackendState& next,
                      const io::NamedPoints& points = {});
  /// Makes what newest() answered durable, should its publisher not have come to it.
  Result<void> make_durable();

  /// `backend/`, made where it is missing, and open as long as this lives.
  Result<const io::Directory*> folder();

 private:
  Result<const io::Directory*> folder_if_there();

  io::FileSystem& fs_;
  const io::Directory& kb_folder_;
  mutable std::mutex mutex_;  // guards what follows
  std::unique_ptr<io::Directory> folder_;
  bool listed_ = false;  // so that numbers may be missing below the first that is seen
  Entry seen_;
};

/// The highest number in `backend` under which nothing is on the way; nothing: there is none.
Result<std::optional<std::uint64_t>> newest_settled(io::FileSystem& fs,
                                                    const io::Directory& backend);

}  // namespace strata::kb
