#include "stream/backup.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "catalog/sqlite_catalog.h"
#include "io/numbered.h"
#include "io/publish.h"
#include "kb/backend_history.h"
#include "kb/catalog_file.h"
#include "kb/root.h"
#include "stream/batch_file.h"
#include "stream/numbers.h"

namespace strata::stream {
namespace {

constexpr std::uint64_t kCopiedBytesMax = 4ULL * 1024 * 1024 * 1024;
constexpr mode_t kReadOnly = 0444;
constexpr std::string_view kParquet = ".parquet";
constexpr std::string_view kAnchor = ".schema.parquet";
constexpr std::string_view kGenerationSuffix = ".duckdb";
constexpr std::string_view kReceiverSuffix = ".json";
/// The one process the backup's numbers are of.
constexpr char kNumbersOf[] = "backup";

using DirectoryPtr = std::unique_ptr<io::Directory>;

/// What becomes of a file that goes away between the listing and the link.
enum class Vanished : std::uint8_t { kSkip, kFail };

class Backup {
 public:
  explicit Backup(io::FileSystem& fs) : fs_(fs), facts_(fs) {}

  Result<void> knowledgebase(const io::Directory& from, const io::Directory& to);
  const BackupReport& report() const { return report_; }

 private:
  using Wanted = std::function<bool(const std::string& name)>;

  Result<DirectoryPtr> make(io::Entry directory);
  Result<void> take(io::Entry from, io::Entry to);
  Result<void> copy(io::Entry from, io::Entry to);
  Result<void> take_tree(const io::Directory& from, const io::Directory& to, Vanished vanished,
                         const Wanted& wanted);
  Result<void> take_folder(io::Entry from, const io::Directory& to, Vanished vanished,
                           const Wanted& wanted);
  Result<void> take_newest_generation(const io::Directory& from, const io::Directory& to);
  Result<void> take_backend(const io::Directory& from, const io::Directory& to);
  Result<void> take_streams(const io::Directory& from, const io::Directory& to);
  Result<bool> has_receiver(const io::Directory& stream);
  Result<void> take_stream(const io::Directory& from, const io::Directory& to);
  Result<void> claim(const io::Directory& data, const io::Directory& ids, Totals& totals);
  Result<void> claim_file(io::Entry file, const io::Directory& ids, Totals& totals);

  io::FileSystem& fs_;
  FooterFactsReader facts_;
  BackupReport report_;
};

bool any_name(const std::string&) { return true; }

Error changed() {
  return make_error(Code::kBusy,
                    "The knowledgebase changed while it was read; run the backup again.");
}

Result<DirectoryPtr> Backup::make(io::Entry directory) {
  const auto made = fs_.make_directory(directory);
  if (!made && made.error().code != Code::kExists) return made.error();
  return fs_.open_directory_at(directory);
}

Result<void> Backup::copy(io::Entry from, io::Entry to) {
  STRATA_ASSIGN_OR_RETURN(const std::string bytes, fs_.read(from, kCopiedBytesMax));
  STRATA_RETURN_IF_ERROR(fs_.write_new(to, bytes));
  STRATA_RETURN_IF_ERROR(fs_.set_mode(to, kReadOnly));
  STRATA_RETURN_IF_ERROR(fs_.sync_file(to));
  ++report_.copied;
  return {};
}

/// A second name of `from`, which never changes; its bytes where there can be no second name.
Result<void> Backup::take(io::Entry from, io::Entry to) {
  auto linked = fs_.link(from, to);
  if (!linked && linked.error().code == Code::kIo) return copy(from, to);
  return linked;
}

Result<void> Backup::take_tree(const io::Directory& from, const io::Directory& to,
                               Vanished vanished, const Wanted& wanted) {
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(from));
  for (const io::DirEntry& entry : entries) {
    if (!wanted(entry.name)) continue;
    const io::Entry source{from, entry.name};
    if (entry.type == io::FileType::kDirectory) {
      STRATA_RETURN_IF_ERROR(take_folder(source, to, vanished, wanted));
    } else if (entry.type == io::FileType::kFile) {
      const auto taken = take(source, {to, entry.name});
      const bool gone = !taken && taken.error().code == Code::kNotFound;
      if (gone && vanished == Vanished::kFail) return changed();
      if (!taken && !gone) return taken;
    }
  }
  return fs_.sync_directory(to);
}

/// A folder that is not there is none to take.
Result<void> Backup::take_folder(io::Entry from, const io::Directory& to, Vanished vanished,
                                 const Wanted& wanted) {
  const auto source = fs_.open_directory_at(from);
  if (!source && source.error().code == Code::kNotFound) return {};
  if (!source) return source.error();
  STRATA_ASSIGN_OR_RETURN(const auto target, make({to, from.name}));
  return take_tree(**source, *target, vanished, wanted);
}

/// The newest is enough: the views in it name the original's folder and are made again when the
/// restored kb is opened.
Result<void> Backup::take_newest_generation(const io::Directory& from, const io::Directory& to) {
  STRATA_ASSIGN_OR_RETURN(const auto source, fs_.open_directory_at({from, "generations"}));
  STRATA_ASSIGN_OR_RETURN(const auto target, make({to, "generations"}));
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(*source));
  std::uint64_t newest = 0;
  for (const io::DirEntry& entry : entries) {
    const auto number = io::parse_numbered(entry.name, kGenerationSuffix);
    if (!number || *number <= newest) continue;
    const auto stat = fs_.stat({*source, entry.name});
    if (stat && stat->size_bytes > 0) newest = *number;
  }
  if (newest == 0) return changed();
  const std::string name = io::numbered_name(newest, kGenerationSuffix);
  STRATA_RETURN_IF_ERROR(take({*source, name}, {*target, name}));
  STRATA_RETURN_IF_ERROR(fs_.symlink("generations/" + name, {to, "knowledgebase.duckdb"}));
  return fs_.sync_directory(*target);
}

/// Where the catalog is. A move that is under way is none of the backup's: nobody would end it.
Result<void> Backup::take_backend(const io::Directory& from, const io::Directory& to) {
  const auto source = fs_.open_directory_at({from, kb::kBackendFolder});
  if (!source && source.error().code == Code::kNotFound) return {};
  if (!source) return source.error();
  STRATA_ASSIGN_OR_RETURN(const auto settled, kb::newest_settled(fs_, **source));
  if (!settled) return {};
  STRATA_ASSIGN_OR_RETURN(const auto target, make({to, kb::kBackendFolder}));
  const std::string name = io::numbered_name(*settled, kb::kBackendSuffix);
  STRATA_RETURN_IF_ERROR(take({**source, name}, {*target, name}));
  return fs_.sync_directory(*target);
}

/// The claim of one file of the backup, and its place in the numbers. What is no batch of ours gets
/// none, as in the original.
Result<void> Backup::claim_file(io::Entry file, const io::Directory& ids, Totals& totals) {
  const auto facts = facts_.read(file);
  if (!facts && facts.error().code == Code::kBadBatch) return {};
  if (!facts) return facts.error();
  const auto id = BatchId::parse(facts->batch_id);
  if (!id || file.name != facts->batch_id + std::string(kParquet)) return {};
  STRATA_ASSIGN_OR_RETURN(const auto shard, make({ids, io::Publisher::shard_of(*id)}));
  STRATA_RETURN_IF_ERROR(take(file, {*shard, id->str()}));
  totals.add({.files = 1,
              .rows = facts->rows,
              .bytes = facts->file_bytes,
              .last_landed = facts->arrived_at});
  return {};
}

Result<void> Backup::claim(const io::Directory& data, const io::Directory& ids, Totals& totals) {
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(data));
  for (const io::DirEntry& entry : entries) {
    if (entry.type == io::FileType::kDirectory) {
      STRATA_ASSIGN_OR_RETURN(const auto below, fs_.open_directory_at({data, entry.name}));
      STRATA_RETURN_IF_ERROR(claim(*below, ids, totals));
    } else if (entry.name != kAnchor && entry.name.ends_with(kParquet)) {
      STRATA_RETURN_IF_ERROR(claim_file({data, entry.name}, ids, totals));
    }
  }
  return {};
}

Result<void> Backup::take_stream(const io::Directory& from, const io::Directory& to) {
  const auto batches = [](const std::string& name) { return name != kAnchor; };
  const auto anchor = [](const std::string& name) { return name == kAnchor; };
  STRATA_RETURN_IF_ERROR(take_folder({from, "receiver"}, to, Vanished::kFail, any_name));
  STRATA_RETURN_IF_ERROR(take_folder({from, "data"}, to, Vanished::kFail, batches));
  // Later than the data, so that no file has a column the registry does not know.
  STRATA_RETURN_IF_ERROR(take_folder({from, "columns"}, to, Vanished::kFail, any_name));
  STRATA_RETURN_IF_ERROR(take_folder({from, "data"}, to, Vanished::kSkip, anchor));
  STRATA_RETURN_IF_ERROR(take_folder({from, "ledger"}, to, Vanished::kFail, any_name));
  STRATA_RETURN_IF_ERROR(take_folder({from, "failed"}, to, Vanished::kSkip, any_name));

  STRATA_ASSIGN_OR_RETURN(const auto data, make({to, "data"}));
  STRATA_ASSIGN_OR_RETURN(const auto ids, make({to, "ids"}));
  Totals totals;
  STRATA_RETURN_IF_ERROR(claim(*data, *ids, totals));
  STRATA_ASSIGN_OR_RETURN(const auto shards, fs_.list(*ids));
  for (const io::DirEntry& shard : shards) {
    STRATA_ASSIGN_OR_RETURN(const auto folder, fs_.open_directory_at({*ids, shard.name}));
    STRATA_RETURN_IF_ERROR(fs_.sync_directory(*folder));
  }
  STRATA_RETURN_IF_ERROR(fs_.sync_directory(*ids));

  STRATA_ASSIGN_OR_RETURN(const auto numbers, make({to, "numbers"}));
  if (totals.files > 0) {
    const std::string text = checkpoint_json(kNumbersOf, totals, true);
    STRATA_RETURN_IF_ERROR(io::publish_replacing(
        fs_, {.to = {*numbers, "backup.json"}, .staging = to, .bytes = text}));
  }
  ++report_.streams;
  report_.batches += totals.files;
  report_.rows += totals.rows;
  return fs_.sync_directory(to);
}

Result<void> Backup::take_streams(const io::Directory& from, const io::Directory& to) {
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(from));
  for (const io::DirEntry& entry : entries) {
    if (entry.type != io::FileType::kDirectory || !StreamId::parse(entry.name)) continue;
    const auto source = fs_.open_directory_at({from, entry.name});
    if (!source && source.error().code == Code::kNotFound) continue;  // deleted meanwhile
    if (!source) return source.error();
    STRATA_ASSIGN_OR_RETURN(const bool is_made, has_receiver(**source));
    if (!is_made) continue;
    STRATA_ASSIGN_OR_RETURN(const auto target, make({to, entry.name}));
    STRATA_RETURN_IF_ERROR(take_stream(**source, *target));
  }
  return fs_.sync_directory(to);
}

/// A stream in the making has no batch yet. Were its data looked at later, what landed meanwhile
/// would be in a folder that is no stream.
Result<bool> Backup::has_receiver(const io::Directory& stream) {
  const auto settings = fs_.open_directory_at({stream, "receiver"});
  if (!settings && settings.error().code == Code::kNotFound) return false;
  if (!settings) return settings.error();
  STRATA_ASSIGN_OR_RETURN(const auto newest, io::read_newest(fs_, **settings, kReceiverSuffix));
  return newest.has_value();
}

Result<void> Backup::knowledgebase(const io::Directory& from, const io::Directory& to) {
  STRATA_ASSIGN_OR_RETURN(const auto strata, fs_.open_directory_at({from, "strata"}));
  STRATA_ASSIGN_OR_RETURN(const auto strata_to, make({to, "strata"}));
  STRATA_ASSIGN_OR_RETURN(const auto streams, fs_.open_directory_at({*strata, "streams"}));
  STRATA_ASSIGN_OR_RETURN(const auto streams_to, make({*strata_to, "streams"}));
  STRATA_RETURN_IF_ERROR(take_streams(*streams, *streams_to));
  for (const std::string_view name : {"snapshots", "ontology", "tables"}) {
    STRATA_RETURN_IF_ERROR(take_folder({*strata, name}, *strata_to, Vanished::kFail, any_name));
  }
  STRATA_RETURN_IF_ERROR(fs_.sync_directory(*strata_to));
  STRATA_RETURN_IF_ERROR(take_newest_generation(from, to));
  // One in PostgreSQL is backed up there; either can be made again from the folders.
  STRATA_RETURN_IF_ERROR(take_backend(from, to));
  const auto catalog = fs_.stat({from, kb::kCatalogFile});
  if (catalog || catalog.error().code != Code::kNotFound) {
    STRATA_RETURN_IF_ERROR(
        catalog::back_up_sqlite(fmt::format("{}/{}", from.path(), kb::kCatalogFile),
                                fmt::format("{}/{}", to.path(), kb::kCatalogFile)));
  }
  // Last: it is what makes a folder a kb.
  STRATA_RETURN_IF_ERROR(take({from, "kb.json"}, {to, "kb.json"}));
  return fs_.sync_directory(to);
}

Result<DirectoryPtr> open_source(io::FileSystem& fs, const BackupRequest& request) {
  const auto root = fs.open_directory(request.root);
  if (!root) {
    return make_error(Code::kNotFound, "The root folder could not be opened.", root.error().detail);
  }
  STRATA_RETURN_IF_ERROR(kb::check_root(fs, **root));
  const Error unknown =
      make_error(Code::kUnknownKnowledgebase,
                 fmt::format("There is no knowledgebase '{}' in this root.", request.kb.str()));
  const auto kbs = fs.open_directory_at({**root, "kb"});
  if (!kbs) return unknown;
  auto folder = fs.open_directory_at({**kbs, request.kb.str()});
  if (!folder || !fs.stat({**folder, "kb.json"})) return unknown;
  return folder;
}

/// Under whatever name the two are given.
bool is_within(std::filesystem::path folder, const std::string& root) {
  std::error_code error;
  folder = std::filesystem::canonical(folder, error);
  while (!error && !std::filesystem::equivalent(folder, root, error)) {
    if (folder == folder.root_path()) return false;
    folder = folder.parent_path();
  }
  return !error;
}

}  // namespace

Result<BackupReport> back_up(io::FileSystem& fs, const BackupRequest& request) {
  STRATA_ASSIGN_OR_RETURN(const auto from, open_source(fs, request));
  const std::filesystem::path target(request.target);
  const auto parent = fs.open_directory(target.parent_path().string());
  if (!parent) {
    return make_error(Code::kNotFound, "The folder that shall hold the backup is not there.",
                      parent.error().detail);
  }
  if (is_within(target.parent_path(), request.root)) {
    return make_error(
        Code::kConflict,
        "The backup would stand inside the root it is taken of, where its files count "
        "as the root's own; name a folder outside of it.");
  }
  const std::string name = target.filename().string();
  const Error taken = make_error(
      Code::kConflict, "Something stands at the backup's place already; name a new folder.");
  if (fs.stat({**parent, name})) return taken;

  const std::string staged = fmt::format("{}.incomplete-{}", name, random_hex(4));
  STRATA_RETURN_IF_ERROR(fs.make_directory({**parent, staged}));
  STRATA_ASSIGN_OR_RETURN(const auto to, fs.open_directory_at({**parent, staged}));
  Backup backup(fs);
  if (auto done = backup.knowledgebase(*from, *to); !done) {
    Error error = std::move(done).error();
    error.message += fmt::format(" What was copied so far stands in '{}'; remove it.", staged);
    return error;
  }
  const auto named = fs.rename_no_replace({**parent, staged}, {**parent, name});
  if (!named && named.error().code == Code::kExists) return taken;
  STRATA_RETURN_IF_ERROR(named);
  STRATA_RETURN_IF_ERROR(fs.sync_directory(**parent));
  return backup.report();
}

}  // namespace strata::stream
