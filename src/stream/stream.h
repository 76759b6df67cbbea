#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "io/file_system.h"
#include "io/publish.h"
#include "kb/knowledgebases.h"
#include "kb/root.h"
#include "parquet/batch_writer.h"
#include "stream/batch_file.h"
#include "stream/columns.h"
#include "stream/numbers.h"
#include "stream/rates.h"
#include "stream/receiver.h"
#include "stream/rejects.h"

namespace strata::stream {

/// What every stream of a process borrows; all of it outlives them.
struct StreamServices {
  io::FileSystem& fs;
  const Clock& clock;
  kb::Root& root;
  parquet::BatchWriter& writer;
};

/// Where damaged and foreign files are moved, below the stream's folder. Nothing is ever removed
/// from it.
inline constexpr std::string_view kQuarantineFolder = "quarantine";

enum class ViewState : std::uint8_t { kDeferred, kReady, kError };
std::string_view view_state_name(ViewState state);

/// One stream of one kb in this process: its folder, receiver, registry, counters and rejects.
/// Lives as long as the process, after its folder was moved aside too. Thread-safe.
class Stream {
 public:
  /// Makes what is missing of the folder. The receiver file is written last, by publish_receiver:
  /// a stream exists once that is durable.
  static Result<std::unique_ptr<Stream>> open(const StreamServices& services,
                                              kb::Knowledgebase& knowledgebase, const StreamId& id);

  kb::Knowledgebase& knowledgebase() const { return knowledgebase_; }
  const StreamId& id() const { return id_; }
  /// What its attempts, its staging folder and its checkpoint are named by: one opening, one name.
  const std::string& process() const { return process_; }
  /// `raw_extracted.stream_<id>`
  std::string table() const { return "raw_extracted.stream_" + id_.str(); }
  /// `<stream folder>/data`, what the view reads below.
  std::string data_path() const { return publisher_->stream().path() + "/data"; }

  Receiver receiver() const;
  /// The same with the number it was published under.
  struct Settings {
    Receiver receiver;
    std::uint64_t number = 0;
  };
  Settings settings() const;
  /// The newest `receiver/<n>.json`. kNotFound: the stream does not exist (yet).
  Result<void> load_receiver();
  /// Takes over settings that came since, in any process: one look at the next number's name.
  Result<void> refresh_receiver();
  /// Makes `next.receiver` the settings that follow `next.number`. kExists: another was first; load
  /// and compare.
  Result<void> publish_receiver(const Settings& next);

  /// Whether the stream's path leads to this folder still: any process may have moved it aside.
  Result<bool> in_place() const;

  /// A look that began at `began` found it in place, with its newest settings taken over.
  void note_look(SteadyTime began);
  /// Whether such a look began at `time` or later: it saw whatever was done before `time`.
  bool was_looked_at_since(SteadyTime time) const;

  /// Held while a batch lands, so that whoever moves the folder aside can wait for it. kBusy: it is
  /// being moved; kUnknownStream: it was.
  Result<std::shared_lock<std::shared_mutex>> enter();
  /// Lets no further batch in and waits for those that land; then the folder may be moved.
  void leave();
  void stay();  // it was not moved after all
  /// It was: closes the numbers and gives the staging folder back, in the folder it is now.
  void end();

  io::Publisher& publisher() { return *publisher_; }
  Columns& columns() { return *columns_; }
  Numbers& numbers() { return *numbers_; }
  Rejects& rejects() { return *rejects_; }
  Rates& rates() { return *rates_; }

  /// Settles what ended processes left behind: their claimed batches, and their numbers as far as
  /// `files_left` goes (Numbers::count_ended).
  Result<void> recover(std::size_t& files_left);
  /// Counts the files anew: this process's and those of ended ones.
  Result<void> recount();
  /// The same if a process moved something into `quarantine/` since the last look.
  Result<void> look_at_quarantine();
  /// A clean stop, after the last landing: closes the numbers, gives the staging folder back.
  Result<void> close();

  /// Whether the newest generation is known to hold this stream's view over this very folder. A
  /// level, not an edge: anybody who finds it false asks for the view job.
  bool view_ready() const { return view_ready_.load(std::memory_order_acquire); }
  void set_view_ready();
  void set_view_error(const std::string& reason);
  ViewState view_state() const;
  std::string view_error() const;

  Stream(const StreamServices& services, kb::Knowledgebase& knowledgebase, StreamId id);

 private:
  Result<void> open_parts(const std::string& folder);
  enum class Presence : std::uint8_t { kHere, kLeaving, kGone };
  Result<std::size_t> quarantined();

  const StreamServices services_;
  kb::Knowledgebase& knowledgebase_;
  const StreamId id_;
  const std::string process_;
  FooterFactsReader facts_;
  std::unique_ptr<io::FileLedger> ledger_;
  io::FileId folder_id_;
  std::unique_ptr<io::Publisher> publisher_;
  std::unique_ptr<io::Directory> receiver_folder_;
  std::unique_ptr<Columns> columns_;
  std::unique_ptr<Numbers> numbers_;
  std::unique_ptr<Rejects> rejects_;
  std::unique_ptr<Rates> rates_;

  std::shared_mutex landings_;  // shared: a batch lands
  /// Passed before landings_ is taken, so that whoever wants it alone is not kept waiting by a
  /// steady flow of batches.
  std::mutex turnstile_;
  std::atomic<Presence> presence_ = Presence::kHere;
  std::atomic<SteadyTime> looked_at_ = SteadyTime::min();

  std::mutex recount_mutex_;             // one recount at a time; guards what follows
  std::size_t quarantined_counted_ = 0;  // names in `quarantine/` at the last recount

  mutable std::mutex mutex_;  // guards what follows
  Receiver receiver_;
  std::uint64_t receiver_number_ = 0;
  std::string view_error_;
  std::atomic<bool> view_ready_ = false;
};

}  // namespace strata::stream
