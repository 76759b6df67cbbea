#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "io/batch_facts.h"
#include "io/directory_syncs.h"
#include "io/file_system.h"
#include "io/ledger.h"

/// The publish protocol: one id, one claim, one file, for ever (architecture.md, "Publish"). This
/// is the only code that makes a batch's name durable.
namespace strata::io {

/// How a publish ended well. Every one of them is durable when it is returned.
enum class Landing : std::uint8_t {
  kLanded,  // this attempt's file is the batch
  kTaken,   // the id was claimed before; that claim's file is the batch, finished if it had to be
  kFolded,  // the id is in the ledger; its rows live, or lived, elsewhere
};

struct Published {
  Landing landing = Landing::kLanded;
  BatchFacts facts;  // of the file that is the batch, whoever wrote it
  /// The name in `data/` was made here, on behalf of a process that did not come to it.
  bool finished_for_other = false;
};

struct PublisherOptions {
  std::string stream_folder;  // absolute path of `strata/streams/<id>`
  std::string process;        // names this process's staging folder
  /// Called before an error that leaves the disk in doubt is returned (its code is kDegraded).
  std::function<void(const std::string& reason)> degrade;
  /// Called when a publish fails after it may have claimed the id: whoever retries may land that
  /// very attempt.
  std::function<void(const BatchId& id, const std::string& attempt)> in_doubt;
};

/// One stream's publish in one process. Holds the stream's folders open and an OFD lock on its own
/// staging folder for life. Thread-safe: calls for different ids, and for one id, run side by side.
class Publisher {
 public:
  /// Makes the stream's folders where they are missing (durably) and takes its staging folder. A
  /// folder exchanged meanwhile is noticed by step 5.
  static Result<std::unique_ptr<Publisher>> open(FileSystem& fs, FactsReader& facts, Ledger& ledger,
                                                 PublisherOptions options);
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// A batch's file, and what its metadata says.
  struct Encoded {
    std::string bytes;
    BatchFacts facts;
  };
  /// Makes the file; its metadata must carry `attempt`, which names the staged file below `_tmp/`.
  using Encode = std::function<Result<Encoded>(const std::string& attempt)>;

  /// Steps 1 to 6. `encode` is called once, or twice when the first file's fsync failed.
  /// Errors: kDiskFull, kIo, kBusy: nothing acknowledged, the same id may be sent again.
  /// kDegraded: the disk is in doubt, `degrade` was called. What `encode` answers passes through.
  Result<Published> publish(const BatchId& id, const Encode& encode);

  /// What the id stands for already: its claim or its ledger entry. Nothing: the id is free. Not
  /// yet durable: see confirm.
  Result<std::optional<Published>> find(const BatchId& id);

  /// Closes the folders that are held open for a steady stream, if nothing was published since the
  /// last call: called now and then, it lets a stream at rest hold a few descriptors only.
  void let_go_if_idle();

  /// Steps 4 to 6 for what find() saw, so that a replay's 200 rests on the disk too.
  Result<Published> confirm(const BatchId& id, const Published& seen);

  struct Recovery {
    std::uint64_t finished = 0;  // claimed leftovers whose data name was missing or is now durable
    std::uint64_t removed = 0;   // leftovers nobody had claimed
    std::uint64_t folders = 0;   // staging folders of ended processes taken away
  };
  /// Told, once per ended process, when its leftovers are settled and before its folder goes, so
  /// that whatever it must do for that process happens at least once.
  using OnSettled = std::function<Result<void>(const std::string& process)>;
  /// Takes over the staging of processes that are gone (their lock is free), finishes what was
  /// claimed, deletes what was not or cannot be read. Deletes nothing claimed before its data name
  /// exists; a claim keeps its bytes whatever becomes of the staging name.
  Result<Recovery> recover(const OnSettled& on_settled);

  /// Gives this process's staging folder back; a clean stop, after the last publish returned.
  Result<void> close();

  /// The folder batches of `partition` (empty: none) are published into, as its path leads to it
  /// now.
  Result<std::unique_ptr<Directory>> open_data(const std::string& partition);

  /// Whether `process` has a staging folder still: it lives, or its leftovers are not settled.
  bool is_staging(const std::string& process);

  /// The staging folders of processes that are gone, by name; recover() takes them over.
  Result<std::vector<std::string>> ended_processes();

  /// For the small files that are staged beside the batches.
  const Directory& staging() const { return *staging_; }
  const Directory& stream() const { return *stream_; }

  /// `ids/<xx>`: the first two hex digits of SHA-256(id).
  static std::string shard_of(const BatchId& id);

 private:
  struct OnlyOpen {};  // nobody else can make one, so nobody else can construct

 public:
  Publisher(OnlyOpen, FileSystem& fs, FactsReader& facts, Ledger& ledger, PublisherOptions options);

 private:
  enum class Role : std::uint8_t { kWinner, kLoser, kFinisher };
  enum class Placed : std::uint8_t { kMadeHere, kWasThere, kFolded };
  enum class Found : std::uint8_t { kClaimedFile, kOtherFile, kNothing };
  struct Staged {
    std::string name;  // in staging_
    BatchFacts facts;
  };
  /// A folder held open, and which one it is.
  struct Folder {
    std::unique_ptr<Directory> directory;
    FileId id;
  };
  /// An id's place among the claims.
  struct ClaimAt {
    const BatchId& id;
    std::shared_ptr<const Folder> shard;
    Entry entry() const { return {*shard->directory, id.str()}; }
  };

  Result<void> open_folders();
  Result<void> take_staging();
  Result<std::shared_ptr<const Folder>> open_shard(const BatchId& id);
  Result<std::shared_ptr<const Folder>> find_shard(const BatchId& id);
  Result<Folder> identified(std::unique_ptr<Directory> directory);
  Result<Folder> open_folder(const std::string& partition);
  Result<std::shared_ptr<const Folder>> data_folder(const std::string& partition, Role role);
  /// What the next batch is to find open. Nothing: it opens them anew.
  void hold(const BatchId& id, std::shared_ptr<const Folder> shard,
            std::shared_ptr<const Folder> data);
  Result<Staged> stage(const Encode& encode);
  Result<Published> publish_staged(const BatchId& id, const Staged& staged);
  Result<Published> finish_own(const ClaimAt& claim, const Staged& staged);
  Result<bool> make_claim(const ClaimAt& claim, const Staged& staged);
  Result<Published> finish(const ClaimAt& claim, const BatchFacts& facts, Role role);
  Result<Placed> place(const ClaimAt& claim, const BatchFacts& facts,
                       std::shared_ptr<const Folder>& data);
  Result<Placed> move_into_data(const ClaimAt& claim, const BatchFacts& facts, Entry data_name);
  Result<Placed> link_into_data(const ClaimAt& claim, const BatchFacts& facts, Entry data_name);
  Result<Found> look_at(Entry data_name, const ClaimAt& claim, const BatchFacts& facts);
  Result<Found> look_patiently(Entry data_name, const ClaimAt& claim, const BatchFacts& facts);
  Result<std::shared_ptr<const Folder>> settle_identity(std::shared_ptr<const Folder> data,
                                                        const ClaimAt& claim,
                                                        const BatchFacts& facts);
  Result<void> recover_folder(const std::string& process, const OnSettled& on_settled,
                              Recovery& recovery);
  Result<void> recover_file(Entry file, const std::string& attempt, Recovery& recovery);
  Error degraded(std::string reason, const Error& cause);

  FileSystem& fs_;
  FactsReader& facts_;
  Ledger& ledger_;
  const PublisherOptions options_;
  std::unique_ptr<Directory> stream_, tmp_, staging_, ids_;
  std::unique_ptr<FileLock> staging_lock_;
  std::atomic<std::uint64_t> next_attempt_ = 1;
  /// Shards and data folders whose own name this process has made durable.
  std::array<std::atomic<bool>, 256> known_shards_{};
  std::mutex known_data_mutex_;
  std::vector<FileId> known_data_;
  DirectorySyncs syncs_{fs_};                                   // of shards and data folders
  std::mutex held_mutex_;                                       // guards what follows
  std::array<std::shared_ptr<const Folder>, 256> held_shards_;  // kHeldShardsMax of them at most
  std::size_t held_count_ = 0;
  std::shared_ptr<const Folder> held_data_;  // where batches without a partition went last
  bool published_ = false;                   // since let_go_if_idle()
};

/// A process that stages in `tmp`, a stream's `_tmp/`, and lives; nothing: none does.
Result<std::optional<std::string>> living_process(FileSystem& fs, const Directory& tmp);

}  // namespace strata::io
