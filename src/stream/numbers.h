#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "io/batch_facts.h"
#include "io/file_system.h"
#include "io/publish.h"

namespace strata::stream {

/// What a stream holds.
struct Totals {
  std::uint64_t files = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // of the Parquet files
  std::string last_landed;  // the newest arrival; empty: nothing landed
  bool operator==(const Totals&) const = default;
  void add(const Totals& other);
};

/// What `numbers/<process>.json` holds. `closed`: the process lands nothing more, and what it
/// landed is in the totals. One that is not closed, of a process without a staging folder, waits to
/// be counted anew.
struct Checkpoint {
  Totals totals;
  bool closed = false;
};
std::string checkpoint_json(const std::string& process, const Totals& totals, bool closed);

/// A stream's counters, kept in memory and checkpointed to `numbers/<process>.json`: one file per
/// process, summed. A batch is counted by the process whose attempt its file names, so a process
/// that died is counted anew from the files alone, whoever is landing meanwhile; until that is done
/// its last checkpoint stands. No lock, no DuckDB, no walk but after an unclean end. Thread-safe.
class Numbers {
 public:
  static Result<std::unique_ptr<Numbers>> open(io::FileSystem& fs, const Clock& clock,
                                               io::Publisher& publisher, io::FactsReader& facts,
                                               std::string process);

  /// This process's attempt landed.
  void landed(const io::BatchFacts& facts);
  /// This process's `attempt` failed after it may have claimed `id`: should that very attempt ever
  /// land, it is counted here, whoever finishes it.
  void in_doubt(const BatchId& id, const std::string& attempt);
  /// Own and others'; the others' checkpoints are read at most once a second.
  Totals totals();

  /// Writes what changed since the last one, once what was in doubt is looked at. `closed`: this
  /// process lands nothing more.
  Result<void> checkpoint(bool closed);
  /// What `process` left is settled, or somebody finished a batch of it since: its files have to be
  /// counted anew, by whoever comes to it. Durable.
  Result<void> ended(const std::string& process);
  /// Counts the files of the processes that ended and closes their checkpoints, durably. Reads
  /// `files_left` files at most, takes those it read away from it, and is called again where that
  /// was too few.
  Result<void> count_ended(std::size_t& files_left);
  /// Whether count_ended() has begun and is to be called again.
  bool counting();
  /// Keeps this process's landings out while it is held.
  using Hold = std::function<std::unique_lock<std::shared_mutex>()>;
  /// After files left `data/`: counts this process's and every ended one's anew. Landings go on
  /// while the files are read and are held only for a second look at what changed meanwhile.
  Result<void> recount_all(const Hold& hold);

  Numbers(io::FileSystem& fs, const Clock& clock, io::Publisher& publisher, io::FactsReader& facts,
          std::string process, std::unique_ptr<io::Directory> folder);

 private:
  Result<void> write(const std::string& process, const Totals& totals, bool closed);
  Result<std::optional<Checkpoint>> read_checkpoint(const std::string& process);
  Result<std::map<std::string, Checkpoint>> read_others();
  Result<void> settle_doubts();
  /// A file of `data/` that says of itself what its name says.
  struct CountedFile {
    io::FileId id;
    std::string attempt;  // empty: no batch
    Totals totals;
  };
  using CountedFiles = std::map<std::string, CountedFile>;  // by name
  Result<void> count_files(CountedFiles& files);
  /// A count of ended processes that goes on from call to call.
  struct EndedCount {
    std::map<std::string, Totals> totals;  // by process
    std::vector<std::string> names;        // of the files in data/, sorted
    std::size_t next = 0;                  // of them, the first that was not looked at
    std::vector<std::string> counted;      // of them, those that are in the totals
  };
  Result<std::optional<EndedCount>> begin_count();
  Result<void> count_file(EndedCount& count, io::Entry file);
  Result<bool> finish_count(EndedCount& count, const io::Directory& data);
  Result<std::vector<std::string>> file_names(const io::Directory& data);
  void take_own(const CountedFiles& files);
  Result<void> write_ended(const CountedFiles& files);

  io::FileSystem& fs_;
  const Clock& clock_;
  io::Publisher& publisher_;
  io::FactsReader& facts_;
  const std::string process_;
  const std::unique_ptr<io::Directory> folder_;

  std::mutex mutex_;
  Totals own_;
  Totals written_;
  bool closed_ = false;
  std::map<std::string, BatchId> doubts_;  // by attempt
  std::map<std::string, Checkpoint> others_;
  SteadyTime others_read_at_{};
  bool others_known_ = false;

  std::mutex count_mutex_;  // guards what follows; taken before mutex_
  std::optional<EndedCount> ended_count_;
};

}  // namespace strata::stream
