#include "rig_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/sha256.h"
#include "io/numbered.h"
#include "parquet/file_encoder.h"
#include "parquet/footer.h"

namespace strata::crash {
namespace {

using io::Directory;
using io::Entry;

constexpr std::array<std::string_view, 5> kPath{"kb", "demo", "strata", "streams", "s"};
constexpr std::string_view kSuffix = ".parquet";
constexpr std::uint64_t kFileBytesMax = 16ULL * 1024 * 1024;

thread_local std::optional<io::BatchFacts> found_before;

bool gone(const Error& error) { return error.code == Code::kNotFound; }

/// Ok when the name is away, whoever took it.
Result<void> take_away(io::FileSystem& fs, Entry file) {
  auto unlinked = fs.unlink(file);
  if (!unlinked && !gone(unlinked.error())) return unlinked;
  return {};
}

/// Every fourth batch is larger than what a disk writes at once.
std::size_t rows_of(const std::string& id) { return sha256_hex(id).front() < '4' ? 400 : 3; }

/// The cells of an id. They point into `texts`.
CellTable cells_of(const std::string& id, std::vector<std::string>& texts) {
  const std::size_t rows = rows_of(id);
  CellTable cells;
  cells.columns = {"id", "n", "text"};
  for (std::size_t n = 0; n < rows; ++n) {
    texts.push_back(fmt::format("{}", n));
    texts.push_back(sha256_hex(fmt::format("{} {}", id, n)));
  }
  for (std::size_t n = 0; n < rows; ++n) {
    cells.fields.push_back({0, id});
    cells.fields.push_back({1, texts.at(2 * n)});
    cells.fields.push_back({2, texts.at(2 * n + 1)});
    cells.row_ends.push_back(cells.fields.size());
  }
  return cells;
}

}  // namespace

Result<void> RigLedger::begin_publish(const BatchId& id) {
  STRATA_ASSIGN_OR_RETURN(found_before, ledger_->find(id));
  return {};
}

Result<std::optional<io::BatchFacts>> RigLedger::find(const BatchId& id) {
  if (before_claim_) return found_before;
  return ledger_->find(id);
}

Result<std::unique_ptr<RigStream>> RigStream::open(io::FileSystem& fs, const Options& options) {
  auto stream = std::make_unique<RigStream>(fs, options);
  STRATA_RETURN_IF_ERROR(stream->open_parts());
  return stream;
}

Result<void> RigStream::open_parts() {
  STRATA_ASSIGN_OR_RETURN(folder_, fs_.open_directory(options_.root));
  std::string path = options_.root;
  for (const std::string_view name : kPath) {
    STRATA_RETURN_IF_ERROR(io::ensure_directory(fs_, {*folder_, name}));
    path.append("/").append(name);
    STRATA_ASSIGN_OR_RETURN(folder_, fs_.open_directory(path));
  }
  STRATA_ASSIGN_OR_RETURN(processed_, io::ensure_directory(fs_, {*folder_, "processed"}));
  STRATA_ASSIGN_OR_RETURN(auto folded, io::ensure_directory(fs_, {*folder_, "ledger"}));
  STRATA_ASSIGN_OR_RETURN(auto ledger, io::FileLedger::open(fs_, std::move(folded)));
  ledger_ =
      std::make_unique<RigLedger>(std::move(ledger), options_.mutant == Mutant::kLedgerBeforeClaim);
  facts_ = std::make_unique<stream::FooterFactsReader>(fs_);
  STRATA_ASSIGN_OR_RETURN(
      publisher_, io::Publisher::open(fs_, *facts_, *ledger_,
                                      {.stream_folder = path,
                                       .process = options_.process,
                                       .degrade = [](const std::string&) {},
                                       .in_doubt = [](const BatchId&, const std::string&) {}}));
  return {};
}

Result<io::Publisher::Encoded> RigStream::encode(const std::string& id,
                                                 const std::string& attempt) {
  std::vector<std::string> texts;
  const CellTable cells = cells_of(id, texts);
  const io::BatchFacts facts{.batch_id = id,
                             .attempt = attempt,
                             .partition = {},
                             .arrived_at = "2026-11-29T12:00:00.000Z",
                             .rows = cells.row_count(),
                             .columns = cells.columns.size(),
                             .body_sha256 = sha256_hex(id),
                             .content_sha256 = stream::content_sha256(cells, cells.columns)};
  const auto key_values = stream::batch_key_values(facts, {.kb = "demo", .stream = "s"});
  io::Publisher::Encoded encoded;
  STRATA_ASSIGN_OR_RETURN(encoded.bytes,
                          parquet::FileEncoder().encode({.cells = cells,
                                                         .stored_names = cells.columns,
                                                         .batch_id = id,
                                                         .key_values = key_values}));
  STRATA_ASSIGN_OR_RETURN(encoded.facts, stream::seal_batch(encoded.bytes));
  return encoded;
}

Result<io::Published> RigStream::land(const BatchId& id) {
  STRATA_RETURN_IF_ERROR(ledger_->begin_publish(id));
  STRATA_ASSIGN_OR_RETURN(const auto seen, publisher_->find(id));
  if (!seen) return publish(id);
  if (options_.mutant == Mutant::kReplayWithoutSync) return *seen;
  return publisher_->confirm(id, *seen);
}

Result<io::Published> RigStream::publish(const BatchId& id) {
  MutantFileSystem::begin_publish();
  STRATA_RETURN_IF_ERROR(ledger_->begin_publish(id));
  return publisher_->publish(id,
                             [&](const std::string& attempt) { return encode(id.str(), attempt); });
}

Result<void> RigStream::fold(const std::vector<BatchId>& ids) {
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_->open_data(""));
  std::vector<io::BatchFacts> facts;
  std::vector<std::string> names;
  for (const BatchId& id : ids) {
    const std::string name = id.str() + std::string(kSuffix);
    STRATA_ASSIGN_OR_RETURN(io::BatchFacts own, facts_->read({*data, name}));
    const auto linked = fs_.link({*data, name}, {*processed_, name});
    if (!linked && linked.error().code != Code::kExists) return linked;
    facts.push_back(std::move(own));
    names.push_back(id.str());
  }
  STRATA_RETURN_IF_ERROR(fs_.sync_directory(*processed_));
  STRATA_RETURN_IF_ERROR(ledger_->files().add(std::move(facts), publisher_->staging()));
  return take_names(names);
}

Result<void> RigStream::take_names(const std::vector<std::string>& ids) {
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_->open_data(""));
  for (const std::string& id : ids) {
    STRATA_RETURN_IF_ERROR(take_away(fs_, {*data, id + std::string(kSuffix)}));
  }
  STRATA_RETURN_IF_ERROR(fs_.sync_directory(*data));
  for (const std::string& id : ids) {
    const auto shard = fs_.open_directory(folder_->path() + "/ids/" +
                                          io::Publisher::shard_of(BatchId::parse(id).value()));
    if (!shard && gone(shard.error())) continue;
    if (!shard) return shard.error();
    STRATA_RETURN_IF_ERROR(take_away(fs_, {**shard, id}));
  }
  return {};
}

Result<void> RigStream::exchange(const std::string& name) {
  STRATA_ASSIGN_OR_RETURN(const auto old, publisher_->open_data(""));
  STRATA_ASSIGN_OR_RETURN(const auto made, io::ensure_directory(fs_, {*processed_, name}));
  STRATA_RETURN_IF_ERROR(link_files(*old, *made));
  STRATA_RETURN_IF_ERROR(fs_.rename_exchange({*processed_, name}, {*folder_, "data"}));
  STRATA_RETURN_IF_ERROR(fs_.sync_directory(*folder_));
  // What was published into the old one before the exchange; whoever came later moves on.
  return link_files(*old, *made);
}

/// Durable when it returns; files that are there stay.
Result<void> RigStream::link_files(const Directory& from, const Directory& to) {
  STRATA_ASSIGN_OR_RETURN(const auto names, names_in(from));
  for (const std::string& file : names) {
    const auto linked = fs_.link({from, file}, {to, file});
    if (!linked && linked.error().code != Code::kExists && !gone(linked.error())) return linked;
  }
  return fs_.sync_directory(to);
}

/// What was published into a folder between the look at it and its exchange.
Result<void> RigStream::finish_exchanges() {
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_->open_data(""));
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(*processed_));
  for (const io::DirEntry& entry : entries) {
    if (entry.type != io::FileType::kDirectory) continue;
    STRATA_ASSIGN_OR_RETURN(const auto old, fs_.open_directory_at({*processed_, entry.name}));
    STRATA_RETURN_IF_ERROR(link_files(*old, *data));
  }
  return {};
}

Result<std::vector<std::string>> RigStream::names_in(const Directory& folder) {
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(folder));
  std::vector<std::string> names;
  for (const io::DirEntry& entry : entries) {
    if (entry.type == io::FileType::kFile) names.push_back(entry.name);
  }
  std::ranges::sort(names);
  return names;
}

Result<void> RigStream::recover() {
  STRATA_RETURN_IF_ERROR(publisher_->recover([](const std::string&) { return Result<void>(); }));
  STRATA_RETURN_IF_ERROR(finish_exchanges());
  std::vector<std::string> folded;
  STRATA_ASSIGN_OR_RETURN(const auto names, names_in(*processed_));
  for (const std::string& name : names) {
    const std::string id = name.substr(0, name.size() - kSuffix.size());
    STRATA_ASSIGN_OR_RETURN(const auto entry, ledger_->files().find(BatchId::parse(id).value()));
    if (entry) folded.push_back(id);
  }
  return take_names(folded);
}

Survey::Batch RigStream::look(Entry file, const std::string& id) {
  const Survey::Batch damaged{id, "damaged", ""};
  const auto bytes = fs_.read(file, kFileBytesMax);
  if (!bytes) return damaged;
  const auto footer = parquet::parse_footer(*bytes, bytes->size());
  const auto facts = facts_->read(file);
  const bool whole =
      footer && footer->file_sha256_offset && facts && facts->batch_id == id &&
      parquet::self_digest(*bytes, *footer->file_sha256_offset) == facts->file_sha256;
  return whole ? Survey::Batch{id, facts->content_sha256, facts->file_sha256} : damaged;
}

Result<void> RigStream::survey_data(Survey& survey) {
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_->open_data(""));
  STRATA_ASSIGN_OR_RETURN(const auto names, names_in(*data));
  for (const std::string& name : names) {
    const std::string id = name.substr(0, name.size() - kSuffix.size());
    survey.batches.push_back(look({*data, name}, id));
    const auto claimed = fs_.stat_path(
        folder_->path() + "/ids/" + io::Publisher::shard_of(BatchId::parse(id).value()) + "/" + id);
    STRATA_ASSIGN_OR_RETURN(const auto own, fs_.stat({*data, name}));
    if (!claimed || claimed->id != own.id) survey.broken.push_back(name + " has no claim");
  }
  STRATA_ASSIGN_OR_RETURN(const auto processed, names_in(*processed_));
  for (const std::string& name : processed) {
    const std::string id = name.substr(0, name.size() - kSuffix.size());
    STRATA_ASSIGN_OR_RETURN(const auto entry, ledger_->files().find(BatchId::parse(id).value()));
    if (!entry) continue;  // a fold that did not come to its entry: data/ is read
    survey.batches.push_back(look({*processed_, name}, id));
    if (survey.batches.back().file_sha256 != entry->file_sha256) {
      survey.broken.push_back("the ledger names another file than " + name);
    }
  }
  return {};
}

Result<void> RigStream::survey_claims(Survey& survey) {
  STRATA_ASSIGN_OR_RETURN(const auto ids, fs_.open_directory(folder_->path() + "/ids"));
  STRATA_ASSIGN_OR_RETURN(const auto shards, fs_.list(*ids));
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_->open_data(""));
  for (const io::DirEntry& entry : shards) {
    STRATA_ASSIGN_OR_RETURN(const auto shard, fs_.open_directory_at({*ids, entry.name}));
    STRATA_ASSIGN_OR_RETURN(const auto names, names_in(*shard));
    for (const std::string& id : names) {
      const auto named = fs_.stat({*data, id + std::string(kSuffix)});
      if (!named) survey.broken.push_back("the claim " + id + " has no name in data/");
    }
  }
  return {};
}

Result<Survey> RigStream::survey() {
  Survey survey;
  STRATA_RETURN_IF_ERROR(survey_data(survey));
  STRATA_RETURN_IF_ERROR(survey_claims(survey));
  return survey;
}

}  // namespace strata::crash
