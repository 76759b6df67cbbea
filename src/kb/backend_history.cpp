#include "kb/backend_history.h"

#include <utility>

#include "kb/json_object.h"

namespace strata::kb {
namespace {

constexpr std::string_view kStagingFolder = "staging";
constexpr std::string_view kSettled = "settled";
constexpr std::string_view kMigrating = "migrating";

/// What moves is in its file until it has moved.
constexpr BackendState kStates[] = {{.backend = Backend::kFile},
                                    {.backend = Backend::kFile, .migrating = true},
                                    {.backend = Backend::kPostgres}};

std::string_view state_name(const BackendState& state) {
  return state.migrating ? kMigrating : kSettled;
}

Result<BackendState> parse_state(std::string_view bytes) {
  const auto object = parse_object(bytes);
  const auto backend = object ? text_at(*object, "backend") : std::nullopt;
  const auto name = object ? text_at(*object, "state") : std::nullopt;
  for (const BackendState& state : kStates) {
    if (backend == backend_name(state.backend) && name == state_name(state)) return state;
  }
  return make_error(Code::kIo,
                    "The newest file in the knowledgebase's folder 'backend' cannot be "
                    "understood: put it back from a backup.");
}

std::string render_state(const BackendState& state) {
  return render({{"backend", backend_name(state.backend)}, {"state", state_name(state)}});
}

}  // namespace

std::string_view backend_name(Backend backend) {
  return backend == Backend::kFile ? "file" : "postgres";
}

std::optional<Backend> parse_backend(std::string_view name) {
  for (const Backend backend : {Backend::kFile, Backend::kPostgres}) {
    if (backend_name(backend) == name) return backend;
  }
  return std::nullopt;
}

BackendHistory::BackendHistory(io::FileSystem& fs, const io::Directory& kb_folder, Backend first)
    : fs_(fs), kb_folder_(kb_folder), seen_{.state = {.backend = first}} {}

/// Null: nothing moved yet. With mutex_ held.
Result<const io::Directory*> BackendHistory::folder_if_there() {
  if (folder_ != nullptr) return folder_.get();
  auto opened = fs_.open_directory_at({kb_folder_, kBackendFolder});
  if (!opened && opened.error().code == Code::kNotFound) return nullptr;
  if (!opened) return std::move(opened).error();
  folder_ = std::move(opened).value();
  return folder_.get();
}

Result<const io::Directory*> BackendHistory::folder() {
  const std::lock_guard lock(mutex_);
  // Also where it is there: whoever made it may not have synced yet.
  STRATA_ASSIGN_OR_RETURN(auto made, io::ensure_directory(fs_, {kb_folder_, kBackendFolder}));
  if (folder_ == nullptr) folder_ = std::move(made);
  return folder_.get();
}

Result<BackendHistory::Entry> BackendHistory::newest() {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const io::Directory* const folder, folder_if_there());
  if (folder == nullptr) return seen_;
  if (listed_) {
    // Numbers are taken one after the other and never freed, so a free next one means there is
    // none.
    const auto next = fs_.stat({*folder, io::numbered_name(seen_.number + 1, kBackendSuffix)});
    if (!next && next.error().code == Code::kNotFound) return seen_;
    if (!next) return next.error();
  }
  STRATA_ASSIGN_OR_RETURN(const auto newest, io::read_newest(fs_, *folder, kBackendSuffix));
  if (newest && newest->number > seen_.number) {
    STRATA_ASSIGN_OR_RETURN(const BackendState state, parse_state(newest->bytes));
    seen_ = {state, newest->number};
  }
  listed_ = true;
  return seen_;
}

BackendHistory::Entry BackendHistory::last_seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

Result<void> BackendHistory::append(const Entry& after, const BackendState& next,
                                    const io::NamedPoints& points) {
  STRATA_ASSIGN_OR_RETURN(const io::Directory* const into, folder());
  STRATA_ASSIGN_OR_RETURN(const auto staging,
                          io::ensure_directory(fs_, {kb_folder_, kStagingFolder}));
  return io::publish_numbered(fs_, {.folder = *into,
                                    .staging = *staging,
                                    .number = after.number + 1,
                                    .suffix = kBackendSuffix,
                                    .bytes = render_state(next),
                                    .points = points});
}

Result<void> BackendHistory::make_durable() {
  STRATA_ASSIGN_OR_RETURN(const io::Directory* const into, folder());
  return fs_.sync_directory(*into);
}

Result<std::optional<std::uint64_t>> newest_settled(io::FileSystem& fs,
                                                    const io::Directory& backend) {
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs.list(backend));
  std::optional<std::uint64_t> settled;
  for (const io::DirEntry& entry : entries) {
    const auto number = io::parse_numbered(entry.name, kBackendSuffix);
    if (!number || *number <= settled.value_or(0)) continue;
    STRATA_ASSIGN_OR_RETURN(const std::string bytes,
                            fs.read({backend, entry.name}, kSmallFileBytesMax));
    STRATA_ASSIGN_OR_RETURN(const BackendState state, parse_state(bytes));
    if (!state.migrating) settled = *number;
  }
  return settled;
}

}  // namespace strata::kb
