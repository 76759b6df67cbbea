#include "io/publish.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <thread>
#include <utility>

#include "base/sha256.h"
#include "io/kill_point.h"
#include "io/numbered.h"

namespace strata::io {
namespace {

/// An open folder is a descriptor, of which a process may have few, and many streams.
constexpr std::size_t kHeldShardsMax = 32;
constexpr std::string_view kLockName = ".lock";
constexpr std::string_view kBatchSuffix = ".parquet";
/// How often a race that somebody else must have won meanwhile is looked at again.
constexpr int kRaceTries = 64;
/// A file under a batch's name is given so long to go, a few milliseconds each.
constexpr int kForeignTries = 100;
constexpr std::chrono::milliseconds kForeignPause{5};
/// The same for a staging folder, a millisecond each: whoever recovers may be counting files.
constexpr int kStagingTries = 10'000;

/// The two parts of an attempt, `<process>/<file>`; it comes out of a file, so it is not trusted.
struct Attempt {
  std::string process;
  std::string file;
};

std::optional<Attempt> split_attempt(const std::string& attempt) {
  const auto slash = attempt.find('/');
  if (slash == std::string::npos || attempt.find('/', slash + 1) != std::string::npos) {
    return std::nullopt;
  }
  Attempt parts{attempt.substr(0, slash), attempt.substr(slash + 1)};
  const auto is_name = [](const std::string& name) {
    return !name.empty() && name != "." && name != ".." && name.find('\0') == std::string::npos;
  };
  if (!is_name(parts.process) || !is_name(parts.file)) return std::nullopt;
  return parts;
}

/// What the id stands for cannot be said: never the producer's fault.
Error unreadable_claim(const Error& cause) {
  if (cause.code != Code::kBadBatch) return cause;
  return make_error(Code::kIo,
                    "the batch stored under this id is damaged; put its file back from a backup",
                    cause.detail);
}

constexpr auto kOtherFileThere =
    "another file stands under a batch's name in data/; look at it, then restart Strata";

Error data_name_changes() {
  return make_error(Code::kBusy, "the batch's name in data/ keeps changing; send it again");
}

std::size_t index_of_shard(std::string_view name) {
  std::size_t index = 0;
  std::from_chars(name.data(), name.data() + name.size(), index, 16);
  return index;
}

std::string data_name_of(const BatchId& id) { return id.str() + std::string(kBatchSuffix); }

/// Whose a staging folder is: that of a process which holds its lock, or let go of it by ending.
enum class Owner : std::uint8_t { kUnknown, kLives, kEnded };
Owner look_at_owner(FileSystem& fs, Entry staging) {
  const auto folder = fs.open_directory_at(staging);
  // A look must not make the lock's file: without one there is nothing to hold.
  if (!folder || !fs.stat({**folder, kLockName})) return Owner::kUnknown;
  const auto lock = fs.try_lock({**folder, kLockName});
  if (lock) return Owner::kEnded;
  return lock.error().code == Code::kBusy ? Owner::kLives : Owner::kUnknown;
}

}  // namespace

std::string Publisher::shard_of(const BatchId& id) { return sha256_hex(id.str()).substr(0, 2); }

Publisher::Publisher(OnlyOpen, FileSystem& fs, FactsReader& facts, Ledger& ledger,
                     PublisherOptions options)
    : fs_(fs), facts_(facts), ledger_(ledger), options_(std::move(options)) {}

Result<std::unique_ptr<Publisher>> Publisher::open(FileSystem& fs, FactsReader& facts,
                                                   Ledger& ledger, PublisherOptions options) {
  auto publisher = std::make_unique<Publisher>(OnlyOpen{}, fs, facts, ledger, std::move(options));
  STRATA_RETURN_IF_ERROR(publisher->open_folders());
  STRATA_RETURN_IF_ERROR(publisher->take_staging());
  return publisher;
}

Result<void> Publisher::open_folders() {
  STRATA_ASSIGN_OR_RETURN(stream_, fs_.open_directory(options_.stream_folder));
  STRATA_ASSIGN_OR_RETURN(tmp_, ensure_directory(fs_, {*stream_, "_tmp"}));
  STRATA_ASSIGN_OR_RETURN(ids_, ensure_directory(fs_, {*stream_, "ids"}));
  STRATA_ASSIGN_OR_RETURN(const auto data, ensure_directory(fs_, {*stream_, "data"}));
  STRATA_ASSIGN_OR_RETURN(const FileStat stat, fs_.stat_handle(*data));
  const std::lock_guard lock(known_data_mutex_);
  known_data_.push_back(stat.id);
  return {};
}

Result<void> Publisher::take_staging() {
  // Another process's recovery may find the folder before it is locked, and take it away.
  for (int i = 0; i < kStagingTries; ++i) {
    auto staging = ensure_directory(fs_, {*tmp_, options_.process});
    if (!staging && staging.error().code == Code::kNotFound) continue;
    if (!staging) return std::move(staging).error();
    auto lock = fs_.try_lock({**staging, kLockName});
    if (!lock && (lock.error().code == Code::kBusy || lock.error().code == Code::kNotFound)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    if (!lock) return std::move(lock).error();
    const auto named = fs_.stat({*tmp_, options_.process});
    STRATA_ASSIGN_OR_RETURN(const FileStat held, fs_.stat_handle(**staging));
    if (!named || named->id != held.id) continue;
    staging_ = std::move(*staging);
    staging_lock_ = std::move(*lock);
    return {};
  }
  return make_error(Code::kBusy, "the stream's staging folder could not be taken; try again",
                    options_.stream_folder);
}

Error Publisher::degraded(std::string reason, const Error& cause) {
  options_.degrade(reason);
  return make_error(
      Code::kDegraded, std::move(reason),
      fmt::format("{}: {} ({})", options_.stream_folder, cause.message, cause.detail));
}

Result<std::unique_ptr<Directory>> Publisher::open_data(const std::string& partition) {
  STRATA_ASSIGN_OR_RETURN(Folder folder, open_folder(partition));
  return std::move(folder.directory);
}

Result<Publisher::Folder> Publisher::open_folder(const std::string& partition) {
  if (!partition.empty()) {
    return make_error(Code::kNotYet,
                      "the batch lies in a partition, which this version cannot read", partition);
  }
  STRATA_ASSIGN_OR_RETURN(auto directory, fs_.open_directory_at({*stream_, "data"}));
  STRATA_ASSIGN_OR_RETURN(Folder data, identified(std::move(directory)));
  {
    const std::lock_guard lock(known_data_mutex_);
    if (std::ranges::find(known_data_, data.id) != known_data_.end()) return data;
  }
  if (auto synced = fs_.sync_directory(*stream_); !synced) {
    return degraded("the name of a data folder could not be made durable", synced.error());
  }
  const std::lock_guard lock(known_data_mutex_);
  known_data_.push_back(data.id);
  return data;
}

Result<Publisher::Folder> Publisher::identified(std::unique_ptr<Directory> directory) {
  STRATA_ASSIGN_OR_RETURN(const FileStat stat, fs_.stat_handle(*directory));
  return Folder{std::move(directory), stat.id};
}

/// A winner's is the folder that batches went into last, without a look whether its path leads to
/// it still: step 5 looks, once the name is made, as it has to in any case.
Result<std::shared_ptr<const Publisher::Folder>> Publisher::data_folder(
    const std::string& partition, Role role) {
  if (partition.empty() && role == Role::kWinner) {
    const std::lock_guard lock(held_mutex_);
    if (held_data_) return held_data_;
  }
  STRATA_ASSIGN_OR_RETURN(Folder folder, open_folder(partition));
  return std::make_shared<const Folder>(std::move(folder));
}

/// As far as it is there: kNotFound.
Result<std::shared_ptr<const Publisher::Folder>> Publisher::find_shard(const BatchId& id) {
  const std::string name = shard_of(id);
  {
    const std::lock_guard lock(held_mutex_);
    if (const auto& held = held_shards_.at(index_of_shard(name))) return held;
  }
  STRATA_ASSIGN_OR_RETURN(auto directory, fs_.open_directory_at({*ids_, name}));
  STRATA_ASSIGN_OR_RETURN(Folder shard, identified(std::move(directory)));
  return std::make_shared<const Folder>(std::move(shard));
}

Result<std::shared_ptr<const Publisher::Folder>> Publisher::open_shard(const BatchId& id) {
  const std::string name = shard_of(id);
  std::atomic<bool>& known = known_shards_.at(index_of_shard(name));
  if (known.load(std::memory_order_acquire)) return find_shard(id);
  STRATA_ASSIGN_OR_RETURN(auto directory, ensure_directory(fs_, {*ids_, name}));
  STRATA_ASSIGN_OR_RETURN(Folder shard, identified(std::move(directory)));
  known.store(true, std::memory_order_release);
  return std::make_shared<const Folder>(std::move(shard));
}

void Publisher::hold(const BatchId& id, std::shared_ptr<const Folder> shard,
                     std::shared_ptr<const Folder> data) {
  const std::lock_guard lock(held_mutex_);
  std::shared_ptr<const Folder>& held = held_shards_.at(index_of_shard(shard_of(id)));
  if (held) --held_count_;
  held = held_count_ < kHeldShardsMax ? std::move(shard) : nullptr;
  if (held) ++held_count_;
  held_data_ = std::move(data);
  published_ = true;
}

void Publisher::let_go_if_idle() {
  const std::lock_guard lock(held_mutex_);
  if (std::exchange(published_, false)) return;
  held_shards_.fill(nullptr);
  held_count_ = 0;
  held_data_.reset();
}

Result<Publisher::Staged> Publisher::stage(const Encode& encode) {
  // Step 1. A file whose fsync failed is never synced again: its pages may be marked clean though
  // they never reached the disk (durability.md 0.2). One new file, then the disk is in doubt.
  for (int remaining = 1; remaining >= 0; --remaining) {
    Staged staged;
    staged.name = fmt::format("{:08}{}", next_attempt_++, kBatchSuffix);
    const Entry file{*staging_, staged.name};
    const auto drop = [&] { ignore(fs_.unlink(file), "unclaimed: recovery removes it otherwise"); };

    STRATA_ASSIGN_OR_RETURN(Encoded encoded,
                            encode(fmt::format("{}/{}", options_.process, staged.name)));
    staged.facts = std::move(encoded.facts);
    auto [written, synced] =
        fs_.write_new_synced(file, encoded.bytes, [] { kill_point("publish:after_write"); });
    if (!written) {
      drop();
      return std::move(written).error();
    }
    if (synced) {
      kill_point("publish:after_sync");
      return staged;
    }
    drop();
    if (synced.error().code == Code::kDiskFull) return std::move(synced).error();
    if (remaining == 0) {
      return degraded(
          "the disk failed to store a batch twice; look at the disk, then restart Strata",
          synced.error());
    }
  }
  return make_error(Code::kInternal, "unreachable");
}

Result<Published> Publisher::publish(const BatchId& id, const Encode& encode) {
  STRATA_ASSIGN_OR_RETURN(const Staged staged, stage(encode));
  STRATA_CHECK(staged.facts.batch_id == id.str());
  return publish_staged(id, staged);
}

Result<Published> Publisher::publish_staged(const BatchId& id, const Staged& staged) {
  const Entry file{*staging_, staged.name};
  const auto drop = [&] { ignore(fs_.unlink(file), "unclaimed: recovery removes it otherwise"); };
  auto shard = open_shard(id);
  if (!shard) {
    drop();
    return std::move(shard).error();
  }
  const ClaimAt claim{id, *std::move(shard)};
  for (int i = 0; i < kRaceTries; ++i) {
    STRATA_ASSIGN_OR_RETURN(const bool ours, make_claim(claim, staged));
    kill_point(ours ? "publish:after_claim" : "publish_loser:after_claim");

    if (ours) {
      auto finished = finish_own(claim, staged);
      if (!finished) {
        hold(id, nullptr, nullptr);
        options_.in_doubt(id, staged.facts.attempt);
      }
      return finished;
    }
    STRATA_ASSIGN_OR_RETURN(auto folded, ledger_.find(id));
    if (folded) {
      drop();
      return Published{Landing::kFolded, std::move(*folded), false};
    }
    auto facts = facts_.read(claim.entry());
    if (!facts && facts.error().code == Code::kNotFound) continue;  // withdrawn meanwhile
    drop();
    if (!facts) return unreadable_claim(facts.error());
    return finish(claim, *facts, Role::kLoser);
  }
  drop();
  return make_error(Code::kBusy, "the batch id is being claimed and withdrawn; send it again");
}

Result<Published> Publisher::finish_own(const ClaimAt& claim, const Staged& staged) {
  // Step 3: only after the claim, for a fold writes its ledger entry before it frees the claim.
  STRATA_ASSIGN_OR_RETURN(auto folded, ledger_.find(claim.id));
  if (!folded) return finish(claim, staged.facts, Role::kWinner);
  STRATA_RETURN_IF_ERROR(fs_.unlink(claim.entry()));
  ignore(fs_.unlink({*staging_, staged.name}), "unclaimed: recovery removes it otherwise");
  return Published{Landing::kFolded, std::move(*folded), false};
}

Result<bool> Publisher::make_claim(const ClaimAt& claim, const Staged& staged) {
  const Entry file{*staging_, staged.name};
  const auto linked = fs_.link(file, claim.entry());
  if (linked) return true;
  // The answer may have been lost on its way (network file systems): the inode tells.
  const auto mine = fs_.stat(file);
  const auto there = fs_.stat(claim.entry());
  if (mine && there && mine->id == there->id) return true;
  if (linked.error().code == Code::kExists) return false;
  if (there || there.error().code == Code::kNotFound) {
    ignore(fs_.unlink(file), "not claimed: recovery removes it otherwise");
  } else {
    options_.in_doubt(claim.id, staged.facts.attempt);
  }
  return linked.error();
}

Result<Published> Publisher::finish(const ClaimAt& claim, const BatchFacts& facts, Role role) {
  const auto step = [role](std::string_view winner, std::string_view loser,
                           std::string_view finisher) {
    kill_point(role == Role::kWinner ? winner : role == Role::kLoser ? loser : finisher);
  };
  // Step 4.
  if (auto synced = syncs_.sync(*claim.shard->directory, claim.shard->id); !synced) {
    return degraded("the disk failed to store a batch id; look at the disk, then restart Strata",
                    synced.error());
  }
  step("publish:after_shard_sync", "publish_loser:after_shard_sync",
       "publish_finisher:after_shard_sync");
  STRATA_ASSIGN_OR_RETURN(auto data, data_folder(facts.partition, role));
  STRATA_ASSIGN_OR_RETURN(const Placed placed, place(claim, facts, data));
  if (placed == Placed::kFolded) {
    STRATA_ASSIGN_OR_RETURN(auto folded, ledger_.find(claim.id));
    STRATA_CHECK(folded.has_value());
    return Published{Landing::kFolded, std::move(*folded), false};
  }
  step("publish:after_rename", "publish_loser:after_rename", "publish_finisher:after_rename");
  // Step 5.
  STRATA_ASSIGN_OR_RETURN(data, settle_identity(std::move(data), claim, facts));
  step("publish:after_identity", "publish_loser:after_identity", "publish_finisher:after_identity");
  // Step 6: loser and finisher too, for a name seen is not yet a name on disk (durability.md 0.4).
  if (auto synced = syncs_.sync(*data->directory, data->id); !synced) {
    return degraded(
        "the disk failed to store a batch's name; look at the disk, then restart Strata",
        synced.error());
  }
  step("publish:after_data_sync", "publish_loser:after_data_sync",
       "publish_finisher:after_data_sync");
  if (role == Role::kWinner) hold(claim.id, claim.shard, std::move(data));
  return Published{role == Role::kWinner ? Landing::kLanded : Landing::kTaken, facts,
                   role != Role::kWinner && placed == Placed::kMadeHere};
}

Result<Publisher::Placed> Publisher::place(const ClaimAt& claim, const BatchFacts& facts,
                                           std::shared_ptr<const Folder>& data) {
  const std::string name = data_name_of(claim.id);
  auto placed = move_into_data(claim, facts, {*data->directory, name});
  if (placed || placed.error().code == Code::kDegraded) return placed;
  // In a folder held open that was exchanged and taken away since, nothing gets a name any more.
  auto present = open_folder(facts.partition);
  if (!present || present->id == data->id) return placed;
  data = std::make_shared<const Folder>(*std::move(present));
  return move_into_data(claim, facts, {*data->directory, name});
}

Result<Publisher::Placed> Publisher::move_into_data(const ClaimAt& claim, const BatchFacts& facts,
                                                    Entry data_name) {
  const auto attempt = split_attempt(facts.attempt);
  if (!attempt) {
    return make_error(Code::kIo,
                      "the batch stored under this id is damaged; put its file back from a backup",
                      "attempt is " + facts.attempt);
  }
  std::unique_ptr<Directory> others;
  if (attempt->process != options_.process) {
    auto opened = fs_.open_directory_at({*tmp_, attempt->process});
    if (!opened && opened.error().code == Code::kNotFound) {
      return link_into_data(claim, facts, data_name);
    }
    if (!opened) return std::move(opened).error();
    others = std::move(*opened);
  }
  const Entry token{others ? *others : *staging_, attempt->file};
  for (int i = 0; i < kRaceTries; ++i) {
    const auto renamed = fs_.rename_no_replace(token, data_name);
    if (renamed) return Placed::kMadeHere;
    if (renamed.error().code == Code::kNotFound) return link_into_data(claim, facts, data_name);
    if (renamed.error().code != Code::kExists) return renamed.error();

    STRATA_ASSIGN_OR_RETURN(const Found found, look_patiently(data_name, claim, facts));
    if (found == Found::kNothing) continue;
    if (found == Found::kOtherFile) return degraded(kOtherFileThere, renamed.error());
    ignore(fs_.unlink(token), "a spent token: somebody else may have removed it");
    return Placed::kWasThere;
  }
  return data_name_changes();
}

Result<Publisher::Placed> Publisher::link_into_data(const ClaimAt& claim, const BatchFacts& facts,
                                                    Entry data_name) {
  STRATA_ASSIGN_OR_RETURN(Found found, look_patiently(data_name, claim, facts));
  const Error taken = make_error(Code::kExists, "another file has the batch's name");
  if (found == Found::kClaimedFile) return Placed::kWasThere;
  if (found == Found::kOtherFile) return degraded(kOtherFileThere, taken);

  STRATA_ASSIGN_OR_RETURN(auto folded, ledger_.find(claim.id));
  if (folded) return Placed::kFolded;
  const auto linked = fs_.link(claim.entry(), data_name);
  if (!linked && linked.error().code != Code::kExists && linked.error().code != Code::kNotFound) {
    return linked.error();
  }
  if (!linked && linked.error().code == Code::kExists) {
    STRATA_ASSIGN_OR_RETURN(found, look_patiently(data_name, claim, facts));
    if (found == Found::kNothing) return data_name_changes();
    if (found == Found::kOtherFile) return degraded(kOtherFileThere, taken);
  }
  // A fold may have run between the two looks: its entry is durable before the claim goes.
  STRATA_ASSIGN_OR_RETURN(folded, ledger_.find(claim.id));
  if (folded) {
    if (linked) STRATA_RETURN_IF_ERROR(fs_.unlink(data_name));
    return Placed::kFolded;
  }
  if (!linked && linked.error().code == Code::kNotFound) {
    return make_error(Code::kIo,
                      "the batch's claim went away while it was published; send it again",
                      linked.error().detail);
  }
  return linked ? Placed::kMadeHere : Placed::kWasThere;
}

Result<Publisher::Found> Publisher::look_at(Entry data_name, const ClaimAt& claim,
                                            const BatchFacts& facts) {
  const auto there = fs_.stat(data_name);
  if (!there && there.error().code == Code::kNotFound) return Found::kNothing;
  if (!there) return there.error();
  const auto claimed = fs_.stat(claim.entry());
  if (claimed && claimed->id == there->id) return Found::kClaimedFile;
  // A copied folder turned hard links into files: the attempt in the metadata tells.
  const auto own = facts_.read(data_name);
  if (!own && own.error().code == Code::kNotFound) return Found::kNothing;
  if (!own && own.error().code != Code::kBadBatch) return own.error();
  const bool same = own && own->attempt == facts.attempt && own->batch_id == claim.id.str() &&
                    own->file_sha256 == facts.file_sha256;
  return same ? Found::kClaimedFile : Found::kOtherFile;
}

/// `strata verify` moves a damaged batch's claim away, and only then what a replay made of it: who
/// claims the id in between meets a file that is about to go.
Result<Publisher::Found> Publisher::look_patiently(Entry data_name, const ClaimAt& claim,
                                                   const BatchFacts& facts) {
  for (int i = 0;; ++i) {
    STRATA_ASSIGN_OR_RETURN(const Found found, look_at(data_name, claim, facts));
    if (found != Found::kOtherFile || i == kForeignTries) return found;
    std::this_thread::sleep_for(kForeignPause);
  }
}

Result<std::shared_ptr<const Publisher::Folder>> Publisher::settle_identity(
    std::shared_ptr<const Folder> data, const ClaimAt& claim, const BatchFacts& facts) {
  const std::string name = data_name_of(claim.id);
  for (int i = 0; i < kRaceTries; ++i) {
    STRATA_ASSIGN_OR_RETURN(const FileStat present,
                            fs_.stat_path(options_.stream_folder + "/data"));
    if (data->id == present.id) return data;
    // The whole stream was moved aside: what stands under its name now is another.
    STRATA_ASSIGN_OR_RETURN(const FileStat own, fs_.stat_handle(*stream_));
    STRATA_ASSIGN_OR_RETURN(const FileStat named, fs_.stat_path(options_.stream_folder));
    if (own.id != named.id) {
      return make_error(Code::kIo,
                        "the stream's folder was moved away while the batch was published; send it "
                        "again");
    }

    STRATA_ASSIGN_OR_RETURN(Folder opened, open_folder(facts.partition));
    auto now = std::make_shared<const Folder>(std::move(opened));
    const auto moved = fs_.rename_no_replace({*data->directory, name}, {*now->directory, name});
    if (!moved && moved.error().code == Code::kExists) {
      STRATA_ASSIGN_OR_RETURN(const Found found,
                              look_patiently({*now->directory, name}, claim, facts));
      if (found == Found::kNothing) return data_name_changes();
      if (found == Found::kOtherFile) return degraded(kOtherFileThere, moved.error());
      ignore(fs_.unlink({*data->directory, name}), "the folder it lies in is no longer read");
    } else if (!moved && moved.error().code == Code::kNotFound) {
      // Somebody else moved it on; if nobody did, the claim makes the name anew.
      STRATA_ASSIGN_OR_RETURN(const Placed placed,
                              link_into_data(claim, facts, {*now->directory, name}));
      if (placed == Placed::kFolded) return now;  // its rows live elsewhere
    } else if (!moved) {
      return moved.error();
    }
    data = std::move(now);
  }
  return make_error(Code::kBusy, "the stream's data folder keeps changing; send the batch again");
}

Result<std::optional<Published>> Publisher::find(const BatchId& id) {
  std::optional<BatchFacts> claimed;
  const auto shard = find_shard(id);
  if (shard) {
    auto facts = facts_.read({*(*shard)->directory, id.str()});
    if (facts) {
      claimed = std::move(*facts);
    } else if (facts.error().code != Code::kNotFound) {
      return unreadable_claim(facts.error());
    }
  } else if (shard.error().code != Code::kNotFound) {
    return shard.error();
  }
  STRATA_ASSIGN_OR_RETURN(auto folded, ledger_.find(id));
  if (folded) return Published{Landing::kFolded, std::move(*folded), false};
  if (claimed) return Published{Landing::kTaken, std::move(*claimed), false};
  return std::nullopt;
}

Result<Published> Publisher::confirm(const BatchId& id, const Published& seen) {
  if (seen.landing == Landing::kFolded) return seen;
  STRATA_ASSIGN_OR_RETURN(const auto shard, open_shard(id));
  return finish({id, shard}, seen.facts, Role::kLoser);
}

bool Publisher::is_staging(const std::string& process) {
  const auto folder = fs_.stat({*tmp_, process});
  return folder || folder.error().code != Code::kNotFound;
}

Result<std::vector<std::string>> Publisher::ended_processes() {
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(*tmp_));
  std::vector<std::string> ended;
  for (const DirEntry& entry : entries) {
    if (entry.type != FileType::kDirectory || entry.name == options_.process) continue;
    if (look_at_owner(fs_, {*tmp_, entry.name}) == Owner::kEnded) ended.push_back(entry.name);
  }
  return ended;
}

Result<void> Publisher::close() {
  STRATA_RETURN_IF_ERROR(fs_.unlink({*staging_, kLockName}));
  STRATA_RETURN_IF_ERROR(fs_.remove_directory({*tmp_, options_.process}));
  staging_lock_.reset();
  return {};
}

Result<Publisher::Recovery> Publisher::recover(const OnSettled& on_settled) {
  Recovery recovery;
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(*tmp_));
  for (const DirEntry& entry : entries) {
    if (entry.type != FileType::kDirectory || entry.name == options_.process) continue;
    STRATA_RETURN_IF_ERROR(recover_folder(entry.name, on_settled, recovery));
  }
  return recovery;
}

Result<void> Publisher::recover_folder(const std::string& process, const OnSettled& on_settled,
                                       Recovery& recovery) {
  const auto gone = [](const Error& error) { return error.code == Code::kNotFound; };
  auto folder = fs_.open_directory_at({*tmp_, process});
  if (!folder) return gone(folder.error()) ? Result<void>() : std::move(folder).error();
  if (const auto held = fs_.stat({**folder, kLockName}); !held && gone(held.error())) {
    // Just made, or its maker ended before it staged anything. One that lives makes it again.
    if (fs_.remove_directory({*tmp_, process})) return {};
    // Not empty: its maker went on, and holds the lock; or it closed, and left what was in doubt.
  }
  auto lock = fs_.try_lock({**folder, kLockName});
  if (!lock) {
    const bool leave = lock.error().code == Code::kBusy || gone(lock.error());
    return leave ? Result<void>() : std::move(lock).error();
  }
  STRATA_ASSIGN_OR_RETURN(const auto files, fs_.list(**folder));
  for (const DirEntry& file : files) {
    if (file.name == kLockName) continue;
    STRATA_RETURN_IF_ERROR(
        recover_file({**folder, file.name}, fmt::format("{}/{}", process, file.name), recovery));
  }
  STRATA_RETURN_IF_ERROR(fs_.sync_directory(**folder));
  kill_point("recovery:after_files");
  STRATA_RETURN_IF_ERROR(on_settled(process));
  kill_point("recovery:after_settled");
  // Another process that recovers may have made the lock's file again, and goes on by itself.
  const auto unlinked = fs_.unlink({**folder, kLockName});
  if (!unlinked && !gone(unlinked.error())) return unlinked;
  const auto removed = fs_.remove_directory({*tmp_, process});
  if (!removed && !gone(removed.error()) && removed.error().code != Code::kExists) return removed;
  ++recovery.folders;
  return {};
}

Result<void> Publisher::recover_file(Entry file, const std::string& attempt, Recovery& recovery) {
  const auto remove = [&]() -> Result<void> {
    const auto unlinked = fs_.unlink(file);
    if (!unlinked && unlinked.error().code != Code::kNotFound) return unlinked;
    ++recovery.removed;
    return {};
  };
  // A living process that retries the id may use the file up at any moment.
  const auto gone = [](const Error& error) { return error.code == Code::kNotFound; };
  const auto looked = fs_.stat(file);
  if (!looked) return gone(looked.error()) ? Result<void>() : looked.error();
  const FileStat stat = *looked;
  const auto facts = facts_.read(file);
  if (!facts && gone(facts.error())) return {};
  if (!facts) {
    if (facts.error().code != Code::kBadBatch) return facts.error();
    return remove();
  }
  const auto id = BatchId::parse(facts->batch_id);
  if (!id) return remove();
  const auto shard = find_shard(*id);
  if (!shard && shard.error().code == Code::kNotFound) return remove();
  if (!shard) return shard.error();

  // That the id has a claim is not enough: it must be this very file's (mutant: recovery by id).
  const ClaimAt claim{*id, *shard};
  const auto claimed = fs_.stat(claim.entry());
  if (!claimed && claimed.error().code != Code::kNotFound) return claimed.error();
  bool ours = claimed && claimed->id == stat.id;
  if (claimed && !ours) {
    const auto claimed_facts = facts_.read(claim.entry());
    ours = claimed_facts && claimed_facts->attempt == attempt && facts->attempt == attempt;
  }
  if (!ours) return remove();

  STRATA_ASSIGN_OR_RETURN(const auto folded, ledger_.find(*id));
  if (folded) return remove();
  STRATA_RETURN_IF_ERROR(finish(claim, *facts, Role::kFinisher));
  ++recovery.finished;
  return {};
}

Result<std::optional<std::string>> living_process(FileSystem& fs, const Directory& tmp) {
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs.list(tmp));
  for (const DirEntry& entry : entries) {
    if (entry.type != FileType::kDirectory) continue;
    if (look_at_owner(fs, {tmp, entry.name}) == Owner::kLives) return entry.name;
  }
  return std::nullopt;
}

}  // namespace strata::io
