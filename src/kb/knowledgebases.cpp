#include "kb/knowledgebases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/nearest.h"
#include "catalog/postgres_catalog.h"
#include "catalog/sqlite_catalog.h"
#include "io/kill_point.h"
#include "io/numbered.h"
#include "kb/aside.h"
#include "kb/backend_history.h"
#include "kb/catalog_file.h"
#include "kb/failure.h"
#include "kb/file_generations.h"
#include "kb/json_object.h"
#include "kb/migration.h"
#include "kb/placed_catalog.h"
#include "kb/staging.h"
#include "lock/file_kb_lock.h"
#include "lock/redis_kb_lock.h"

namespace strata::kb {
namespace {

constexpr std::string_view kFolder = "kb";
constexpr std::string_view kIdentityFile = "kb.json";
constexpr std::string_view kStagingFolder = "staging";

/// What kb.json holds. The settings are read by those who use them.
struct Identity {
  std::string uuid;
  Backend backend = Backend::kFile;  // when it was made; BackendHistory says where it is now
  std::string created_at;
};

/// The folders of a kb that are held open for life. Each is durable when it is here.
struct Folders {
  std::unique_ptr<io::Directory> kb;
  std::unique_ptr<io::Directory> streams;
};

Result<Backend> known_backend(std::string_view name) {
  if (const auto backend = parse_backend(name)) return *backend;
  return make_error(Code::kBadRequest,
                    "There is no such backend: use 'file', which needs no other service, or "
                    "'postgres'.");
}

Result<void> check_backend(Backend backend, const SharedServices& shared) {
  if (backend == Backend::kFile || shared.postgres != nullptr) return {};
  return make_error(Code::kBadRequest,
                    "The backend 'postgres' needs a server that was started with --postgres: start "
                    "it so, or use 'file'.");
}

std::unique_ptr<catalog::Catalog> make_postgres_catalog(const Root& root, const std::string& uuid) {
  catalog::PostgresDatabase* const postgres = root.shared().postgres;
  return postgres == nullptr ? nullptr : catalog::make_postgres_catalog(*postgres, uuid);
}

/// The lock on a file in `folder`, or on a key that begins with the kb's and ends with `what`.
std::unique_ptr<lock::KbLock> make_lock(const KbServices& services, const Identity& identity,
                                        const io::Directory& folder, std::string_view what = {}) {
  const Root& root = services.root;
  if (root.lock_kind() == LockKind::kRedis) {
    return lock::make_redis_kb_lock(
        *root.shared().redis, services.clock,
        {.key_prefix = fmt::format("strata:{}:kb:{}{}", root.uuid(), identity.uuid, what),
         .ttl = root.shared().redis_ttl},
        services.acquisitions);
  }
  return lock::make_file_kb_lock(services.fs, services.clock, folder, services.acquisitions);
}

/// Nothing: the kb is not there, or not wholly made. kb.json is written last, so it is what makes a
/// folder a kb.
Result<std::optional<Identity>> read_identity(io::FileSystem& fs, const io::Directory& folder,
                                              const KbId& id) {
  const auto bytes = fs.read({folder, kIdentityFile}, kSmallFileBytesMax);
  if (!bytes && bytes.error().code == Code::kNotFound) return std::nullopt;
  if (!bytes) return bytes.error();
  const auto object = parse_object(*bytes);
  const auto uuid = object ? text_at(*object, "uuid") : std::nullopt;
  const auto name = object ? text_at(*object, "backend") : std::nullopt;
  const auto backend = name ? parse_backend(*name) : std::nullopt;
  const auto created = object ? text_at(*object, "created") : std::nullopt;
  if (!uuid || uuid->empty() || !backend || !created) {
    return make_error(Code::kIo, fmt::format("The file kb.json of knowledgebase '{}' is damaged: "
                                             "put it back from a backup.",
                                             id.str()));
  }
  return Identity{*uuid, *backend, *created};
}

/// Its row in the root's catalog.
catalog::KnowledgebaseRow row_of(const Knowledgebase& kb) {
  return {kb.id().str(), kb.uuid(), kb.backend(), kb.created_at()};
}

class FileKnowledgebase final : public Knowledgebase {
 public:
  FileKnowledgebase(const KbServices& services, KbId id, Identity identity, Folders folders,
                    io::FileId folder_id, std::unique_ptr<Generations> generations)
      : id_(std::move(id)),
        identity_(std::move(identity)),
        folders_(std::move(folders)),
        services_(services),
        fs_(services.fs),
        folder_id_(folder_id),
        history_(std::make_unique<BackendHistory>(fs_, *folders_.kb, identity_.backend)),
        catalog_(
            *history_,
            catalog::make_sqlite_catalog(fmt::format("{}/{}", folders_.kb->path(), kCatalogFile)),
            make_postgres_catalog(services.root, identity_.uuid)),
        lock_(make_lock(services, identity_, *folders_.kb)),
        generations_(std::move(generations)),
        table_files_(make_table_files(
            {.fs = services.fs, .kb_folder = *folders_.kb, .process = services.root.process()})) {}

  const KbId& id() const override { return id_; }
  const std::string& uuid() const override { return identity_.uuid; }
  std::string backend() const override {
    const auto newest = history_->newest();
    const BackendState state = newest ? newest->state : history_->last_seen().state;
    return std::string(backend_name(state.backend));
  }
  const std::string& created_at() const override { return identity_.created_at; }
  const std::string& folder() const override { return folders_.kb->path(); }
  Result<bool> in_place() const override {
    const auto there = fs_.stat_path(folder());
    if (there) return there->id == folder_id_;
    if (there.error().code == Code::kNotFound) return false;
    return there.error();
  }
  const io::Directory& streams() const override { return *folders_.streams; }
  catalog::Catalog& catalog() override { return catalog_; }
  Result<void> check_not_migrating() override {
    STRATA_ASSIGN_OR_RETURN(const auto newest, history_->newest());
    if (!newest.state.migrating) return {};
    return make_error(Code::kMigrating,
                      fmt::format("The catalog of knowledgebase '{0}' is being moved to "
                                  "PostgreSQL; batches land meanwhile. Try again in a moment. If "
                                  "it lasts, whoever moved it was interrupted: run `strata kb "
                                  "migrate {0} --backend postgres` again.",
                                  id_.str()));
  }
  Result<void> check_can_migrate(std::string_view backend) override {
    if (backend != backend_name(Backend::kPostgres)) {
      return make_error(Code::kBadRequest, "A catalog moves from its file to 'postgres' only.");
    }
    const SharedServices& shared = services_.root.shared();
    STRATA_RETURN_IF_ERROR(check_backend(Backend::kPostgres, shared));
    return shared.postgres->ping();
  }
  Result<void> migrate(std::string_view backend, const std::function<Result<void>()>& rebuild_index,
                       const MigrationProgress& progress) override {
    STRATA_RETURN_IF_ERROR(check_can_migrate(backend));
    Root& root = services_.root;
    STRATA_ASSIGN_OR_RETURN(const io::Directory* const moves, history_->folder());
    // Not the kb's own: views are made meanwhile.
    const auto turns = make_lock(services_, identity_, *moves, ":backend");
    STRATA_ASSIGN_OR_RETURN(
        const auto turn,
        turns->acquire(
            {.kb = id_.str(), .stream = {}, .purpose = Purpose::kMigrate, .wait = kMigrationWait}));
    return kb::migrate({.fs = fs_,
                        .kb_folder = *folders_.kb,
                        .history = *history_,
                        .file = *catalog_.in(Backend::kFile),
                        .postgres = *catalog_.in(Backend::kPostgres),
                        .reach_postgres = [&root] { return root.shared().postgres->ping(); },
                        .rebuild_index = rebuild_index,
                        .put_root_row = [this, &root]() -> Result<void> {
                          // One that was moved aside meanwhile has no row; another may have its id
                          // by now.
                          STRATA_ASSIGN_OR_RETURN(const bool there, in_place());
                          if (!there) return {};
                          return root.catalog().put_knowledgebase(row_of(*this));
                        },
                        .progress = progress});
  }
  lock::KbLock& lock() override { return *lock_; }
  Generations& generations() override { return *generations_; }
  TableFiles& table_files() override { return *table_files_; }

 private:
  const KbId id_;
  const Identity identity_;
  const Folders folders_;
  const KbServices services_;
  io::FileSystem& fs_;
  const io::FileId folder_id_;
  const std::unique_ptr<BackendHistory> history_;
  PlacedCatalog catalog_;
  const std::unique_ptr<lock::KbLock> lock_;
  const std::unique_ptr<Generations> generations_;
  const std::unique_ptr<TableFiles> table_files_;
};

class FileKnowledgebases final : public Knowledgebases {
 public:
  explicit FileKnowledgebases(const KbServices& services) : services_(services), fs_(services.fs) {}

  Result<Knowledgebase*> create(const KbId& id, const std::string& name) override {
    STRATA_ASSIGN_OR_RETURN(const Backend backend, known_backend(name));
    STRATA_RETURN_IF_ERROR(check_backend(backend, services_.root.shared()));
    // A kb that is half made has no kb.json, and is no kb; better none than one without a catalog.
    if (backend == Backend::kPostgres) {
      STRATA_RETURN_IF_ERROR(services_.root.shared().postgres->ping());
    }
    const std::lock_guard disk(disk_mutex_);
    auto made = make(id, backend);
    if (!made && made.error().code == Code::kConflict) return made;
    if (!made) return about(id, "created", made.error());
    return made;
  }

  Result<Knowledgebase*> find(const KbId& id) override {
    if (Knowledgebase* known = known_or_null(id)) {
      STRATA_ASSIGN_OR_RETURN(const bool there, known->in_place());
      if (there) return known;
    }
    const std::lock_guard disk(disk_mutex_);
    return find_on_disk(id);
  }

  Result<std::string> remove(Knowledgebase& knowledgebase) override {
    const std::lock_guard disk(disk_mutex_);
    const KbId id = knowledgebase.id();
    STRATA_RETURN_IF_ERROR(settle_known(id));
    if (known_or_null(id) != &knowledgebase) return unknown(id);
    auto moved = move_aside(id);
    STRATA_RETURN_IF_ERROR(settle_known(id));
    if (!moved && moved.error().code != Code::kUnknownKnowledgebase) {
      return about(id, "deleted", moved.error());
    }
    return moved;
  }

  Result<std::vector<Knowledgebase*>> list() override {
    const std::lock_guard disk(disk_mutex_);
    STRATA_ASSIGN_OR_RETURN(const auto ids, ids_on_disk());
    std::vector<Knowledgebase*> all;
    std::vector<Unopened> unopened;
    for (const KbId& id : ids) {
      auto found = find_on_disk(id);
      if (found) {
        all.push_back(*found);
      } else if (found.error().code == Code::kBusy) {
        return found.error();
      } else {
        unopened.push_back({id.str(), found.error()});
      }
    }
    const std::lock_guard lock(mutex_);
    unopened_ = std::move(unopened);
    return all;
  }

  std::vector<Unopened> unopened() const override {
    const std::lock_guard lock(mutex_);
    return unopened_;
  }

 private:
  static Error about(const KbId& id, std::string_view what, const Error& cause) {
    return failed_to(fmt::format("Knowledgebase '{}' could not be {}", id.str(), what), cause);
  }

  Knowledgebase* known_or_null(const KbId& id) const {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(id);
    return found == known_.end() ? nullptr : found->second.get();
  }

  /// `<root>/kb`, made when this process first asks for it. Call with disk_mutex_ held, like all
  /// that follow.
  Result<const io::Directory*> folder() {
    if (folder_ == nullptr) {
      auto opened = io::ensure_directory(fs_, {services_.root.directory(), kFolder});
      if (!opened)
        return failed_to("The folder of the knowledgebases could not be opened", opened.error());
      folder_ = std::move(opened).value();
    }
    return folder_.get();
  }

  /// The kb's own folder, never made here. kNotFound: there is none.
  Result<std::unique_ptr<io::Directory>> open_folder(const KbId& id) {
    STRATA_ASSIGN_OR_RETURN(const io::Directory* parent, folder());
    return fs_.open_directory_at({*parent, id.str()});
  }

  /// Makes what is missing of a kb but kb.json; every step may be the first or a repetition.
  Result<Folders> ensure_folders(const KbId& id) {
    STRATA_ASSIGN_OR_RETURN(const io::Directory* parent, folder());
    Folders folders;
    STRATA_ASSIGN_OR_RETURN(folders.kb, io::ensure_directory(fs_, {*parent, id.str()}));
    STRATA_ASSIGN_OR_RETURN(const auto strata, io::ensure_directory(fs_, {*folders.kb, "strata"}));
    STRATA_ASSIGN_OR_RETURN(folders.streams, io::ensure_directory(fs_, {*strata, "streams"}));
    for (const std::string_view name : {"snapshots", "ontology", "tables"}) {
      STRATA_RETURN_IF_ERROR(io::ensure_directory(fs_, {*strata, name}));
    }
    return folders;
  }

  Result<std::unique_ptr<Generations>> open_generations_in(const io::Directory& kb_folder) {
    return open_generations({.fs = fs_,
                             .clock = services_.clock,
                             .workers = services_.workers,
                             .kb_folder = kb_folder,
                             .process = services_.root.process()});
  }

  Result<Knowledgebase*> make(const KbId& id, Backend backend) {
    const Error exists =
        make_error(Code::kConflict, fmt::format("Knowledgebase '{}' exists already.", id.str()));
    STRATA_RETURN_IF_ERROR(settle_known(id));
    if (known_or_null(id) != nullptr) return exists;
    STRATA_ASSIGN_OR_RETURN(Folders folders, ensure_folders(id));
    STRATA_ASSIGN_OR_RETURN(const auto there, read_identity(fs_, *folders.kb, id));
    if (there) return exists;
    STRATA_ASSIGN_OR_RETURN(auto generations, open_generations_in(*folders.kb));
    STRATA_ASSIGN_OR_RETURN(const auto staging,
                            io::ensure_directory(fs_, {*folders.kb, kStagingFolder}));
    Identity identity{uuid_v4(), backend, format_iso8601(services_.clock.wall())};
    const std::string bytes = render({{"uuid", identity.uuid},
                                      {"backend", backend_name(identity.backend)},
                                      {"created", identity.created_at},
                                      {"settings", {{"time_zone", "UTC"}}}});
    STRATA_ASSIGN_OR_RETURN(const bool first,
                            publish_once(fs_, {{*folders.kb, kIdentityFile},
                                               *staging,
                                               staged_name({"", services_.root.process(), "json"}),
                                               bytes}));
    if (!first) return exists;
    return remember(id, std::move(identity), std::move(folders), std::move(generations));
  }

  /// Gives up the kb known under `id` if it was moved aside.
  Result<void> settle_known(const KbId& id) {
    const Knowledgebase* known = known_or_null(id);
    if (known == nullptr) return {};
    STRATA_ASSIGN_OR_RETURN(const bool there, known->in_place());
    if (there) return {};
    const std::string folder = known->folder();
    {
      const std::lock_guard lock(mutex_);
      retired_.push_back(std::move(known_.extract(id).mapped()));
    }
    if (services_.on_gone) services_.on_gone(folder);
    return {};
  }

  Result<std::string> move_aside(const KbId& id) {
    STRATA_ASSIGN_OR_RETURN(const io::Directory* parent, folder());
    STRATA_ASSIGN_OR_RETURN(const auto deleted,
                            io::ensure_directory(fs_, {*parent, kDeletedFolder}));
    const std::string name = aside_name(id.str(), services_.clock);
    const auto renamed = fs_.rename_replace({*parent, id.str()}, {*deleted, name});
    if (!renamed && renamed.error().code == Code::kNotFound) return unknown(id);
    if (!renamed) return renamed.error();
    io::kill_point("delete:after_kb_move");
    STRATA_RETURN_IF_ERROR(fs_.sync_directory(*deleted));
    STRATA_RETURN_IF_ERROR(fs_.sync_directory(*parent));
    ignore(services_.root.catalog().remove_knowledgebase(id.str()),
           "the catalog is an index; a row without its folder counts for nothing");
    return fmt::format("{}/{}/{}", kFolder, kDeletedFolder, name);
  }

  Result<Knowledgebase*> find_on_disk(const KbId& id) {
    STRATA_RETURN_IF_ERROR(settle_known(id));
    if (Knowledgebase* known = known_or_null(id)) return known;
    const auto folder = open_folder(id);
    if (!folder && folder.error().code == Code::kNotFound) return unknown(id);
    if (!folder) return about(id, "opened", folder.error());
    auto identity = read_identity(fs_, **folder, id);
    if (!identity) return about(id, "opened", identity.error());
    if (!*identity) return unknown(id);
    auto loaded = load(id, **std::move(identity));
    if (!loaded) return about(id, "opened", loaded.error());
    return loaded;
  }

  Result<Knowledgebase*> load(const KbId& id, Identity identity) {
    STRATA_RETURN_IF_ERROR(refuse_twin(id, identity.uuid));
    STRATA_ASSIGN_OR_RETURN(Folders folders, ensure_folders(id));
    STRATA_ASSIGN_OR_RETURN(auto generations, open_generations_in(*folders.kb));
    return remember(id, std::move(identity), std::move(folders), std::move(generations));
  }

  /// Two folders of one root with one UUID: the one that was there first, by the root's catalog or
  /// in this process, stays; a folder that was only renamed is no twin. Where neither tells them
  /// apart, as after the catalog was lost, none is opened: batches could land in the copy.
  Result<void> refuse_twin(const KbId& id, const std::string& uuid) {
    const Listed listed = listed_with(id, uuid);
    if (const auto first = twin_among(known_ids(), id, uuid)) return copy_of(*first);
    if (const auto first = twin_among(listed.others, id, uuid)) {
      return listed.itself ? one_of_two(*first) : copy_of(*first);
    }
    if (listed.itself) return {};
    STRATA_ASSIGN_OR_RETURN(const auto all, ids_on_disk());
    if (const auto twin = twin_among(all, id, uuid)) return one_of_two(*twin);
    return {};
  }

  struct Listed {
    bool itself = false;
    std::vector<KbId> others;
  };
  /// Who had `uuid` when the root's catalog was last written; nobody where it cannot be read.
  Listed listed_with(const KbId& id, const std::string& uuid) {
    Listed listed;
    const auto rows = services_.root.catalog().knowledgebases();
    if (!rows) return listed;
    for (const catalog::KnowledgebaseRow& row : *rows) {
      if (row.uuid != uuid) continue;
      listed.itself |= row.id == id.str();
      if (auto other = KbId::parse(row.id)) listed.others.push_back(*std::move(other));
    }
    return listed;
  }

  std::vector<KbId> known_ids() const {
    const std::lock_guard lock(mutex_);
    std::vector<KbId> ids;
    for (const auto& [id, known] : known_) ids.push_back(id);
    return ids;
  }

  /// The first of `ids`, other than `id`, whose folder is there and has `uuid`.
  std::optional<KbId> twin_among(const std::vector<KbId>& ids, const KbId& id,
                                 const std::string& uuid) {
    for (const KbId& other : ids) {
      if (other == id) continue;
      const auto folder = open_folder(other);
      if (!folder) continue;
      const auto identity = read_identity(fs_, **folder, other);
      if (identity && *identity && (*identity)->uuid == uuid) return other;
    }
    return std::nullopt;
  }

  static Error copy_of(const KbId& first) {
    return make_error(Code::kConflict,
                      fmt::format("it has the UUID of knowledgebase '{}', whose copy it seems to "
                                  "be. One root holds a knowledgebase once: move one of the two "
                                  "folders out, or to another root.",
                                  first.str()));
  }

  static Error one_of_two(const KbId& twin) {
    return make_error(Code::kConflict,
                      fmt::format("it has the UUID of knowledgebase '{}', and the root's list of "
                                  "knowledgebases does not tell which of the two is the copy. One "
                                  "root holds a knowledgebase once: move the copy out, or to "
                                  "another root.",
                                  twin.str()));
  }

  Result<Knowledgebase*> remember(const KbId& id, Identity identity, Folders folders,
                                  std::unique_ptr<Generations> generations) {
    STRATA_ASSIGN_OR_RETURN(const io::FileStat folder, fs_.stat_handle(*folders.kb));
    auto opened = std::make_unique<FileKnowledgebase>(
        services_, id, std::move(identity), std::move(folders), folder.id, std::move(generations));
    ignore(services_.root.catalog().put_knowledgebase(row_of(*opened)),
           "the catalog is an index, and every start puts the row again");
    ignore(opened->catalog().manifest(), "makes the file now; what fails is told when it is used");
    const std::lock_guard lock(mutex_);
    return known_.emplace(id, std::move(opened)).first->second.get();
  }

  /// By id. Without folders whose name is no id and those that no kb.json makes a kb.
  Result<std::vector<KbId>> ids_on_disk() {
    STRATA_ASSIGN_OR_RETURN(const io::Directory* parent, folder());
    const auto entries = fs_.list(*parent);
    if (!entries) return failed_to("The knowledgebases could not be listed", entries.error());
    std::vector<KbId> ids;
    for (const io::DirEntry& entry : *entries) {
      auto id = KbId::parse(entry.name);
      if (!id || entry.type != io::FileType::kDirectory) continue;
      const auto folder = open_folder(*id);
      if (folder && fs_.stat({**folder, kIdentityFile})) ids.push_back(*std::move(id));
    }
    std::ranges::sort(ids);
    return ids;
  }

  Error unknown(const KbId& id) {
    std::vector<std::string> names;
    if (const auto ids = ids_on_disk()) {
      for (const KbId& known : *ids) names.push_back(known.str());
    }
    const auto nearest = nearest_name(id.str(), names);
    return make_error(
        Code::kUnknownKnowledgebase,
        fmt::format("There is no knowledgebase '{}'.{} `strata kb create {}` makes it.", id.str(),
                    nearest ? fmt::format(" Did you mean '{}'?", *nearest) : std::string(),
                    id.str()));
  }

  const KbServices services_;
  io::FileSystem& fs_;

  /// Opening and making take turns; who knows the kb already waits for nobody. Taken before mutex_.
  std::mutex disk_mutex_;
  std::unique_ptr<io::Directory> folder_;  // by disk_mutex_

  mutable std::mutex mutex_;
  std::map<KbId, std::unique_ptr<FileKnowledgebase>> known_;  // by mutex_
  /// Moved aside. Kept, because requests may hold them. By mutex_.
  std::vector<std::unique_ptr<FileKnowledgebase>> retired_;
  std::vector<Unopened> unopened_;  // by mutex_
};

}  // namespace

std::unique_ptr<Knowledgebases> Knowledgebases::create(const KbServices& services) {
  return std::make_unique<FileKnowledgebases>(services);
}

}  // namespace strata::kb
