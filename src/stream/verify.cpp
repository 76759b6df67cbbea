#include "stream/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "io/kill_point.h"
#include "io/numbered.h"
#include "parquet/batch_writer.h"
#include "stream/quarantine.h"
#include "stream/verify_file.h"

namespace strata::stream {
namespace {

constexpr std::string_view kParquet = ".parquet";
constexpr std::string_view kAnchor = ".schema.parquet";
constexpr std::string_view kData = "data/";
constexpr std::string_view kIds = "ids/";
constexpr std::size_t kShardDigits = 2;
/// While a batch adds columns, the anchor follows the registry by a moment.
constexpr int kAnchorTries = 5;
constexpr std::chrono::milliseconds kAnchorPause{100};

using State = FileVerdict::State;

/// Names that others made may hold any byte; this can be printed, put into JSON and sorted.
std::string shown(std::string_view name) {
  std::string text;
  for (const char character : name) {
    const bool plain = character >= ' ' && character <= '~' && character != '%';
    text += plain ? std::string(1, character)
                  : fmt::format("%{:02X}", static_cast<unsigned char>(character));
  }
  return text;
}

struct Name {
  std::string shown;
  io::DirEntry entry;
};

bool is_gone(const Error& error) { return error.code == Code::kNotFound; }

FindingKind kind_of(State state) {
  if (state == State::kForeign) return FindingKind::kForeign;
  return state == State::kUnreadable ? FindingKind::kUnreadable : FindingKind::kDamaged;
}

/// One page's work.
class Verification {
 public:
  Verification(const StreamServices& services, Stream& stream, const VerifyRequest& request)
      : services_(services),
        fs_(services.fs),
        stream_(stream),
        request_(request),
        began_(services.clock.steady()),
        quarantine_(services.fs, stream.publisher().stream()) {}

  Result<VerifyPage> run();

 private:
  /// What an id's claim is to a file of `data/`.
  struct Claim {
    enum class Is : std::uint8_t { kNone, kSameFile, kOtherFile };
    Is is = Is::kNone;
    std::unique_ptr<io::Directory> shard;
    io::FileId id;
  };
  /// A file of `data/` that is looked at.
  struct DataFile {
    const BatchId& id;
    io::Entry entry;
    const FileVerdict& verdict;
  };
  using Repair = std::function<Result<std::string>()>;

  bool full() const;
  Result<std::vector<Name>> names_in(const io::Directory& folder, std::string_view after) const;
  void report(Finding finding, const Repair& repair);

  Result<void> look_at_settings();
  Result<void> look_at_numbered(std::string_view folder, FindingKind kind,
                                const std::function<bool(const std::string&)>& is_whole);
  Result<void> look_at_leftovers();
  Result<void> look_at_anchor();

  Result<void> look_at_data(std::string_view after);
  Result<void> look_at_data_name(const Name& name);
  Result<void> look_at_batch(const Name& name, const BatchId& id);
  Result<void> look_at_healthy(const DataFile& file, const std::string& path, const Claim& claim);
  Result<void> look_at_columns(const DataFile& file, const std::string& path);
  Result<Claim> claim_of(const BatchId& id, const io::FileId& file);
  Result<bool> is_copy_of(const DataFile& file, const Claim& claim);
  Result<std::string> repair(const DataFile& file, const Claim& claim);
  Result<std::string> claim_anew(const DataFile& file);
  Result<std::string> release(const BatchId& id, const Claim& claim);

  Result<void> look_at_claims(std::string_view after);
  Result<void> look_at_shard(const Name& shard, std::string_view after);
  Result<void> look_at_claim(const io::Directory& shard, const Name& name, const std::string& path);
  Result<bool> is_staged(const std::string& attempt);
  Result<void> finish(const BatchId& id, const std::string& path);

  const StreamServices& services_;
  io::FileSystem& fs_;
  Stream& stream_;
  const VerifyRequest& request_;
  const SteadyTime began_;
  Quarantine quarantine_;
  std::unique_ptr<io::Directory> data_;
  std::unique_ptr<io::Directory> ids_;
  std::set<std::string> columns_;
  std::size_t names_ = 0;
  std::uint64_t bytes_read_ = 0;
  VerifyPage page_;
};

Result<VerifyPage> Verification::run() {
  STRATA_ASSIGN_OR_RETURN(data_, stream_.publisher().open_data(""));
  STRATA_ASSIGN_OR_RETURN(ids_, fs_.open_directory_at({stream_.publisher().stream(), "ids"}));
  const std::string_view after = request_.after;
  if (after.empty()) {
    STRATA_RETURN_IF_ERROR(look_at_settings());
    STRATA_RETURN_IF_ERROR(look_at_data(""));
  } else if (after.starts_with(kData)) {
    STRATA_RETURN_IF_ERROR(look_at_data(after.substr(kData.size())));
  } else if (!after.starts_with(kIds)) {
    return make_error(Code::kBadRequest, "after is the `next` of the page before.");
  }
  if (page_.next) return std::move(page_);
  STRATA_RETURN_IF_ERROR(look_at_claims(after.starts_with(kIds) ? after.substr(kIds.size()) : ""));
  return std::move(page_);
}

bool Verification::full() const {
  return names_ >= request_.budget.names || bytes_read_ >= request_.budget.bytes ||
         services_.clock.steady() - began_ >= request_.budget.time;
}

/// Those after `after`, in order.
Result<std::vector<Name>> Verification::names_in(const io::Directory& folder,
                                                 std::string_view after) const {
  STRATA_ASSIGN_OR_RETURN(auto entries, fs_.list(folder));
  std::vector<Name> names;
  for (io::DirEntry& entry : entries) {
    std::string text = shown(entry.name);
    if (text > after) names.push_back({std::move(text), std::move(entry)});
  }
  std::ranges::sort(names, {}, &Name::shown);
  return names;
}

/// With quarantine, also does something about it, as a batch that lands does: the folder is not
/// moved aside meanwhile. That it could not is told, not answered: the other files are to be looked
/// at all the same.
void Verification::report(Finding finding, const Repair& repair) {
  if (request_.quarantine && repair) {
    const auto inside = stream_.enter();
    auto done = inside ? repair() : Result<std::string>(inside.error());
    if (done) {
      finding.done = std::move(*done);
    } else if (is_gone(done.error())) {
      finding.done = "it was moved away meanwhile";
    } else {
      finding.failed = done.error().message;
    }
  }
  page_.problems.push_back(std::move(finding));
}

Result<void> Verification::look_at_settings() {
  STRATA_RETURN_IF_ERROR(look_at_numbered(
      "receiver", FindingKind::kReceiver,
      [](const std::string& text) { return receiver_from_json(text).has_value(); }));
  STRATA_RETURN_IF_ERROR(look_at_numbered(
      "columns", FindingKind::kColumns,
      [](const std::string& text) { return columns_from_json(text).has_value(); }));
  STRATA_RETURN_IF_ERROR(look_at_leftovers());
  return look_at_anchor();
}

/// Numbers are never freed, so nothing of these is moved.
Result<void> Verification::look_at_numbered(
    std::string_view folder, FindingKind kind,
    const std::function<bool(const std::string&)>& is_whole) {
  STRATA_ASSIGN_OR_RETURN(const auto opened,
                          fs_.open_directory_at({stream_.publisher().stream(), folder}));
  STRATA_ASSIGN_OR_RETURN(const auto names, names_in(*opened, ""));
  for (const Name& name : names) {
    Finding finding{.path = fmt::format("{}/{}", folder, name.shown), .kind = kind};
    if (name.entry.type != io::FileType::kFile || !io::parse_numbered(name.entry.name, ".json")) {
      finding.kind = FindingKind::kForeign;
      finding.reason = "Strata keeps no such name here; move it elsewhere";
      report(std::move(finding), nullptr);
      continue;
    }
    const auto text = fs_.read({*opened, name.entry.name}, io::kNumberedBytesMax);
    if (!text && is_gone(text.error())) continue;
    if (!text && text.error().code != Code::kIo) return text.error();
    if (text && is_whole(*text)) continue;
    finding.reason = "it cannot be read; put this very file back from a backup";
    report(std::move(finding), nullptr);
  }
  return {};
}

/// Named, and no problem: the server takes them over within seconds.
Result<void> Verification::look_at_leftovers() {
  STRATA_ASSIGN_OR_RETURN(const auto processes, stream_.publisher().ended_processes());
  for (const std::string& process : processes) {
    page_.leftovers.push_back("_tmp/" + shown(process));
  }
  return {};
}

Result<void> Verification::look_at_anchor() {
  Columns& columns = stream_.columns();
  std::optional<std::string> problem;
  for (int i = 0; i < kAnchorTries; ++i) {
    const auto looked = columns.anchor_problem();
    // A registry that cannot be read has been told already.
    if (!looked && looked.error().code == Code::kIo) return {};
    if (!looked) return looked.error();
    problem = *looked;
    if (!problem) return {};
    std::this_thread::sleep_for(kAnchorPause);
  }
  const std::string path = std::string(kData) + std::string(kAnchor);
  report({.path = path, .kind = FindingKind::kAnchor, .reason = *problem},
         [&]() -> Result<std::string> {
           const io::Entry anchor{*data_, kAnchor};
           const auto there = fs_.stat(anchor);
           std::string moved;
           // Bad bytes are replaced in one step; what is no file, or nobody's, has to go first.
           STRATA_ASSIGN_OR_RETURN(const auto registry, columns.newest());
           if (there && (there->type != io::FileType::kFile || registry.empty())) {
             STRATA_ASSIGN_OR_RETURN(moved, quarantine_.take(anchor, there->id, kAnchor));
             moved = "moved to " + moved;
             if (registry.empty()) return moved;
             moved += "; ";
           }
           STRATA_RETURN_IF_ERROR(columns.renew_anchor());
           return moved + "made again from the registry";
         });
  return {};
}

Result<void> Verification::look_at_data(std::string_view after) {
  if (const auto registry = stream_.columns().newest()) {
    columns_.insert(registry->begin(), registry->end());
  }
  STRATA_ASSIGN_OR_RETURN(const auto names, names_in(*data_, after));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].entry.name == kAnchor) continue;  // looked at with the registry
    STRATA_RETURN_IF_ERROR(look_at_data_name(names[i]));
    ++names_;
    if (!full()) continue;
    page_.next = std::string(kData) + names[i].shown;
    return {};
  }
  return {};
}

Result<void> Verification::look_at_data_name(const Name& name) {
  const std::string& file = name.entry.name;
  if (name.entry.type == io::FileType::kFile && file.ends_with(kParquet)) {
    const auto id = BatchId::parse(file.substr(0, file.size() - kParquet.size()));
    if (id) return look_at_batch(name, *id);
  }
  const auto stat = fs_.stat({*data_, file});
  if (!stat && is_gone(stat.error())) return {};
  if (!stat) return stat.error();
  const bool read = file.ends_with(kParquet) || name.entry.type == io::FileType::kDirectory;
  report({.path = std::string(kData) + name.shown,
          .kind = FindingKind::kForeign,
          .reason = read ? "it is none of Strata's, and queries may read it as if it were"
                         : "it is none of Strata's"},
         [&]() -> Result<std::string> {
           STRATA_ASSIGN_OR_RETURN(const auto moved,
                                   quarantine_.take({*data_, file}, stat->id, file));
           return "moved to " + moved;
         });
  return {};
}

Result<Verification::Claim> Verification::claim_of(const BatchId& id, const io::FileId& file) {
  Claim claim;
  auto shard = fs_.open_directory_at({*ids_, io::Publisher::shard_of(id)});
  if (!shard && is_gone(shard.error())) return claim;
  if (!shard) return std::move(shard).error();
  const auto stat = fs_.stat({**shard, id.str()});
  if (!stat && is_gone(stat.error())) return claim;
  if (!stat) return stat.error();
  claim.is = stat->id == file ? Claim::Is::kSameFile : Claim::Is::kOtherFile;
  claim.id = stat->id;
  claim.shard = std::move(*shard);
  return claim;
}

Result<void> Verification::look_at_batch(const Name& name, const BatchId& id) {
  const io::Entry entry{*data_, name.entry.name};
  STRATA_ASSIGN_OR_RETURN(const FileVerdict verdict, judge_file(fs_, entry, id.str()));
  if (verdict.state == State::kGone) return {};
  bytes_read_ += verdict.bytes;
  if (verdict.facts && verdict.facts->batch_id == id.str()) {
    ++page_.files;
    page_.rows += verdict.facts->rows;
    page_.bytes += verdict.bytes;
  }
  const std::string path = std::string(kData) + name.shown;
  const DataFile file{id, entry, verdict};
  STRATA_ASSIGN_OR_RETURN(const Claim claim, claim_of(id, verdict.id));
  if (verdict.state == State::kHealthy) return look_at_healthy(file, path, claim);
  Repair mend;
  if (verdict.state != State::kUnreadable) mend = [&] { return repair(file, claim); };
  report({.path = path, .kind = kind_of(verdict.state), .reason = verdict.reason}, mend);
  return {};
}

/// A copied folder turned its hard links into files: the attempt tells that they are one batch. All
/// of it is read, for a batch that loses its file in `data/` gets it from its claim.
Result<bool> Verification::is_copy_of(const DataFile& file, const Claim& claim) {
  STRATA_ASSIGN_OR_RETURN(const FileVerdict claimed,
                          judge_file(fs_, {*claim.shard, file.id.str()}, file.id.str()));
  bytes_read_ += claimed.bytes;
  if (claimed.state == State::kGone) return true;  // the next run finds what became of it
  return claimed.state == State::kHealthy &&
         claimed.facts->attempt == file.verdict.facts->attempt &&
         claimed.facts->file_sha256 == file.verdict.facts->file_sha256;
}

Result<void> Verification::look_at_healthy(const DataFile& file, const std::string& path,
                                           const Claim& claim) {
  if (claim.is == Claim::Is::kNone) {
    const bool ours = file.verdict.stream == stream_.id().str();
    report({.path = path,
            .kind = ours ? FindingKind::kClaim : FindingKind::kForeign,
            .reason = ours ? "its id has no claim, so another batch could take it"
                           : "it landed in another stream"},
           [&] { return ours ? claim_anew(file) : repair(file, claim); });
    return {};
  }
  if (claim.is == Claim::Is::kOtherFile) {
    STRATA_ASSIGN_OR_RETURN(const bool copy, is_copy_of(file, claim));
    if (!copy) {
      report({.path = path,
              .kind = FindingKind::kClaim,
              .reason = "the claim of its id is another file, or cannot be read"},
             [&] { return repair(file, claim); });
      return {};
    }
  }
  return look_at_columns(file, path);
}

Result<void> Verification::look_at_columns(const DataFile& file, const std::string& path) {
  const auto missing = [&](const std::string& column) {
    return column != parquet::kBatchIdColumn && !columns_.contains(column);
  };
  const auto& columns = file.verdict.columns;
  if (std::ranges::none_of(columns, missing)) return {};
  // The batch may be younger than the look at the registry; I4 says which of them comes first.
  const auto registry = stream_.columns().newest();
  if (!registry) return {};  // told already
  columns_.insert(registry->begin(), registry->end());
  const auto lost = std::ranges::find_if(columns, missing);
  if (lost == columns.end()) return {};
  report({.path = path,
          .kind = FindingKind::kColumns,
          .reason = fmt::format("the registry lacks its column '{}'", shown(*lost))},
         [&]() -> Result<std::string> {
           const std::vector<std::string> wanted(columns.begin(), columns.end() - 1);
           STRATA_ASSIGN_OR_RETURN(const auto stored, stream_.columns().store(wanted));
           if (stored != wanted) {
             return make_error(Code::kConflict, "the registry has it under another spelling");
           }
           return "its columns were added to the registry";
         });
  return {};
}

/// The data name goes first: a claim without it is settled by the next verify, but a file without
/// its claim would stand in the way of whoever sends the batch again.
Result<std::string> Verification::repair(const DataFile& file, const Claim& claim) {
  FileVerdict claimed;
  claimed.state = State::kDamaged;
  if (claim.is == Claim::Is::kOtherFile) {
    STRATA_ASSIGN_OR_RETURN(claimed, judge_file(fs_, {*claim.shard, file.id.str()}, file.id.str()));
    bytes_read_ += claimed.bytes;
    if (claimed.state == State::kUnreadable || claimed.state == State::kGone) {
      return make_error(Code::kIo, "its claim cannot be read; look at the disk, then verify again");
    }
    if (claimed.state != State::kHealthy && file.verdict.state == State::kHealthy) {
      STRATA_ASSIGN_OR_RETURN(
          const auto moved,
          quarantine_.replace({*claim.shard, file.id.str()}, file.entry, file.id.str() + ".claim"));
      return fmt::format("its claim was moved to {} and made again from this file", moved);
    }
  }
  STRATA_ASSIGN_OR_RETURN(const auto moved,
                          quarantine_.take(file.entry, file.verdict.id, file.entry.name));
  if (claim.is == Claim::Is::kNone) return "moved to " + moved;
  if (claimed.state == State::kHealthy) {
    STRATA_RETURN_IF_ERROR(stream_.publisher().confirm(
        file.id, {io::Landing::kTaken, std::move(*claimed.facts), false}));
    return fmt::format("moved to {}; made again from its claim, which is whole", moved);
  }
  STRATA_ASSIGN_OR_RETURN(const auto freed, release(file.id, claim));
  return fmt::format("moved to {}, its claim to {}; send the batch again under the same id", moved,
                     freed);
}

/// Frees an id whose claim is damaged.
Result<std::string> Verification::release(const BatchId& id, const Claim& claim) {
  STRATA_ASSIGN_OR_RETURN(
      auto moved, quarantine_.take({*claim.shard, id.str()}, claim.id, id.str() + ".claim"));
  // A replay of the id may have made the data name from the claim since it was moved; now that the
  // claim is gone, no other can.
  const std::string name = id.str() + std::string(kParquet);
  const auto again = fs_.stat({*data_, name});
  if (again && again->id == claim.id) {
    STRATA_RETURN_IF_ERROR(quarantine_.take({*data_, name}, claim.id, name));
  }
  return moved;
}

Result<std::string> Verification::claim_anew(const DataFile& file) {
  STRATA_ASSIGN_OR_RETURN(const auto seen, stream_.publisher().find(file.id));
  if (seen && seen->landing == io::Landing::kFolded) {  // its rows are in another file
    STRATA_ASSIGN_OR_RETURN(const auto moved,
                            quarantine_.take(file.entry, file.verdict.id, file.entry.name));
    return "moved to " + moved;
  }
  STRATA_ASSIGN_OR_RETURN(const auto shard,
                          io::ensure_directory(fs_, {*ids_, io::Publisher::shard_of(file.id)}));
  const auto linked = fs_.link(file.entry, {*shard, file.id.str()});
  if (!linked && linked.error().code == Code::kExists) {
    return make_error(Code::kConflict, "the id was claimed meanwhile; verify again");
  }
  STRATA_RETURN_IF_ERROR(linked);
  io::kill_point("verify:after_claim");
  STRATA_RETURN_IF_ERROR(fs_.sync_directory(*shard));
  return "its claim was made again";
}

Result<void> Verification::look_at_claims(std::string_view after) {
  const auto slash = after.find('/');
  const std::string_view shard_after = after.substr(0, slash);
  const std::string_view name_after =
      slash == std::string_view::npos ? std::string_view() : after.substr(slash + 1);
  STRATA_ASSIGN_OR_RETURN(const auto shards, names_in(*ids_, ""));
  for (const Name& shard : shards) {
    if (shard.shown < shard_after) continue;
    STRATA_RETURN_IF_ERROR(
        look_at_shard(shard, shard.shown == shard_after ? name_after : std::string_view()));
    if (page_.next) return {};
  }
  return {};
}

Result<void> Verification::look_at_shard(const Name& shard, std::string_view after) {
  const std::string path = std::string(kIds) + shard.shown;
  if (shard.entry.type != io::FileType::kDirectory || shard.shown.size() != kShardDigits) {
    report({.path = path,
            .kind = FindingKind::kForeign,
            .reason = "Strata keeps no such name here; move it elsewhere"},
           nullptr);
    return {};
  }
  const auto folder = fs_.open_directory_at({*ids_, shard.entry.name});
  if (!folder) return is_gone(folder.error()) ? Result<void>() : folder.error();
  STRATA_ASSIGN_OR_RETURN(const auto names, names_in(**folder, after));
  for (const Name& name : names) {
    STRATA_RETURN_IF_ERROR(look_at_claim(**folder, name, path + "/" + name.shown));
    ++names_;
    if (!full()) continue;
    page_.next = path + "/" + name.shown;
    return {};
  }
  return {};
}

Result<void> Verification::look_at_claim(const io::Directory& shard, const Name& name,
                                         const std::string& path) {
  const io::Entry entry{shard, name.entry.name};
  const auto stat = fs_.stat(entry);
  if (!stat) return is_gone(stat.error()) ? Result<void>() : stat.error();
  const auto id = BatchId::parse(name.entry.name);
  const bool placed = id && stat->type == io::FileType::kFile &&
                      path == fmt::format("{}{}/{}", kIds, io::Publisher::shard_of(*id), id->str());
  if (!placed) {
    report({.path = path, .kind = FindingKind::kForeign, .reason = "no claim belongs here"},
           [&]() -> Result<std::string> {
             STRATA_ASSIGN_OR_RETURN(const auto moved,
                                     quarantine_.take(entry, stat->id, name.entry.name + ".claim"));
             return "moved to " + moved;
           });
    return {};
  }
  // A claim whose file is there was looked at together with it.
  const auto data = fs_.stat({*data_, id->str() + std::string(kParquet)});
  if (data) return {};
  if (!is_gone(data.error())) return data.error();
  STRATA_ASSIGN_OR_RETURN(const FileVerdict verdict, judge_file(fs_, entry, id->str()));
  if (verdict.state == State::kGone) return {};
  bytes_read_ += verdict.bytes;
  if (verdict.state == State::kHealthy) return finish(*id, path);
  Repair mend;
  if (verdict.state != State::kUnreadable) {
    mend = [&]() -> Result<std::string> {
      STRATA_ASSIGN_OR_RETURN(Claim claim, claim_of(*id, {}));
      if (claim.id != verdict.id) {
        return make_error(Code::kConflict, "the id was claimed meanwhile; verify again");
      }
      STRATA_ASSIGN_OR_RETURN(const auto freed, release(*id, claim));
      return fmt::format("moved to {}; send the batch again under the same id", freed);
    };
  }
  report(
      {.path = path,
       .kind = kind_of(verdict.state),
       .reason = "its batch has no file in data/, and cannot get it from here: " + verdict.reason},
      mend);
  return {};
}

/// Whether an attempt's staged file is there still: then its process is about to publish it, or its
/// producer or recovery will have it published.
Result<bool> Verification::is_staged(const std::string& attempt) {
  const auto slash = attempt.find('/');
  if (slash == std::string::npos) return false;
  STRATA_ASSIGN_OR_RETURN(const auto tmp,
                          fs_.open_directory_at({stream_.publisher().stream(), "_tmp"}));
  const auto folder = fs_.open_directory_at({*tmp, attempt.substr(0, slash)});
  if (!folder && is_gone(folder.error())) return false;
  if (!folder) return folder.error();
  const auto file = fs_.stat({**folder, attempt.substr(slash + 1)});
  if (!file && !is_gone(file.error())) return file.error();
  return file.has_value();
}

/// A batch whose claim is all there is of it.
Result<void> Verification::finish(const BatchId& id, const std::string& path) {
  STRATA_ASSIGN_OR_RETURN(const auto seen, stream_.publisher().find(id));
  if (!seen || seen->landing == io::Landing::kFolded) return {};
  STRATA_ASSIGN_OR_RETURN(const bool staged, is_staged(seen->facts.attempt));
  if (staged) return {};
  const auto reported = [&](const std::string& reason) {
    report({.path = path, .kind = FindingKind::kClaim, .reason = reason}, nullptr);
  };
  if (services_.root.degraded()) {
    reported("its batch has no file in data/; it gets it once ingest is taken up again");
    return {};
  }
  const auto inside = stream_.enter();
  if (!inside) return inside.error();
  const auto confirmed = stream_.publisher().confirm(id, *seen);
  if (!confirmed) {
    reported("its batch has no file in data/, and could not get it: " + confirmed.error().message);
  } else if (confirmed->finished_for_other) {
    ++page_.finished;
  }
  return {};
}

}  // namespace

std::string_view finding_kind_name(FindingKind kind) {
  switch (kind) {
    case FindingKind::kDamaged:
      return "damaged";
    case FindingKind::kForeign:
      return "foreign";
    case FindingKind::kClaim:
      return "claim";
    case FindingKind::kColumns:
      return "columns";
    case FindingKind::kReceiver:
      return "receiver";
    case FindingKind::kAnchor:
      return "anchor";
    case FindingKind::kUnreadable:
      return "unreadable";
  }
  return "damaged";
}

Result<VerifyPage> verify(const StreamServices& services, Stream& stream,
                          const VerifyRequest& request) {
  if (const auto reason = services.root.degraded(); reason && request.quarantine) {
    return make_error(Code::kDegraded, "Nothing is moved while ingest is stopped: " + *reason);
  }
  STRATA_ASSIGN_OR_RETURN(auto page, Verification(services, stream, request).run());
  // What a run that was broken off moved is counted by the tick.
  const bool ended = request.quarantine && !page.next;
  if (ended) io::kill_point("verify:before_recount");
  if (ended || page.finished > 0) STRATA_RETURN_IF_ERROR(stream.recount());
  return page;
}

}  // namespace strata::stream
