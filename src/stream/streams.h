#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/limits.h"
#include "duck/worker_pool.h"
#include "stream/index_job.h"
#include "stream/stream.h"
#include "stream/view_job.h"

namespace strata::stream {

/// The streams of all kbs in this process. Thread-safe; other processes may add to the same root.
class Streams {
 public:
  /// The jobs outlive it.
  Streams(const StreamServices& services, kb::Knowledgebases& knowledgebases, IndexJob& indexes,
          ViewJob& views);

  /// At start, before the first request: opens every stream there is and settles what ended
  /// processes left. A stream that cannot be opened does not keep the others from it: its reason
  /// is in problems().
  Result<void> open_all();
  std::vector<std::string> problems() const;

  struct Made {
    Stream* stream = nullptr;
    bool made = false;  // false: it was there, with the same settings
  };
  /// Durable when it returns, manifest row included. kConflict: it exists with other settings.
  /// kMigrating, as of every change below: the kb's catalog is being moved.
  Result<Made> create(kb::Knowledgebase& knowledgebase, const StreamId& id, Receiver receiver);

  /// Publishes what `change` asks for as the receiver's next settings; nothing where they are so
  /// already. kBadRequest, kNotYet: they cannot be; kConflict: columns that hold values would be
  /// left out, or the stream would have too many. Durable when it returns. `workers` look into the
  /// columns.
  Result<void> change(Stream& stream, const ReceiverChange& change, duck::WorkerPool& workers);
  /// Moves the stream's folder aside, with all that ever landed, and takes its view and its
  /// manifest row away. Where the folder is now, below the kb's folder: moved back, the stream is
  /// there again. Waits for the batches that land here; one that lands in another process lies in
  /// the moved folder or is not acknowledged. The id is free at once.
  Result<std::string> remove(Stream& stream);
  /// The same for a whole kb; where its folder is now, below the root.
  Result<std::string> remove(kb::Knowledgebase& knowledgebase);

  /// Moves the kb's catalog to `backend` while batches land (Knowledgebase::migrate). Receivers are
  /// not changed meanwhile, by any process.
  Result<void> migrate(kb::Knowledgebase& knowledgebase, std::string_view backend,
                       const kb::MigrationProgress& progress = {});

  /// kUnknownStream, with the nearest existing one and how to make one. Looks on the disk whether
  /// the stream this process knows is still there and its settings are the newest, and for one that
  /// it has not met yet. The pointer is never null and stays valid; a stream that was deleted
  /// refuses batches.
  Result<Stream*> find(kb::Knowledgebase& knowledgebase, const StreamId& id);
  /// What find() answers, without a look at the disk, where one for another request, or an earlier
  /// one for this, began after this one had arrived; else null. So a request sees whatever was done
  /// before it was sent, in any process, and the batches of a steady stream share their looks. That
  /// the kb is there is in it: a stream's path leads through the kb's folder.
  Stream* find_looked_at_since(std::string_view knowledgebase, std::string_view id,
                               SteadyTime arrived) const;
  /// What an id that is no id, or is unknown, is answered.
  Error unknown_stream(kb::Knowledgebase& knowledgebase, std::string_view typed);

  /// Every stream of a kb, by id, as the disk has them now.
  Result<std::vector<Stream*>> list(kb::Knowledgebase& knowledgebase);
  /// Those this process has open, without a look at the disk.
  std::vector<Stream*> open_streams() const;

  /// Once a second: checkpoints the numbers, asks for views that should be there; now and then
  /// takes over what processes that ended meanwhile left, and goes on counting it.
  void tick();
  /// A clean stop, after the last request.
  void close();

 private:
  using Key = std::pair<std::string, std::string>;

  Result<Made> make_or_find(kb::Knowledgebase& knowledgebase, const StreamId& id,
                            const Receiver& receiver);
  Result<Stream*> open(kb::Knowledgebase& knowledgebase, const StreamId& id);
  /// Null: there is none. With open_mutex_ held.
  Result<Stream*> open_if_there(kb::Knowledgebase& knowledgebase, const StreamId& id);
  Result<Stream*> open_parts(kb::Knowledgebase& knowledgebase, const StreamId& id);
  Result<void> recover(Stream& stream, std::size_t& files_left);
  Result<bool> has_receiver(kb::Knowledgebase& knowledgebase, const StreamId& id);
  Result<std::vector<StreamId>> ids_on_disk(kb::Knowledgebase& knowledgebase);
  Stream* find_open(kb::Knowledgebase& knowledgebase, const StreamId& id) const;
  /// What find_open answers, if it is there still, with its newest settings; else nothing.
  Result<Stream*> find_current(kb::Knowledgebase& knowledgebase, const StreamId& id) const;
  /// The same, but gives up one that is there no more. With open_mutex_ held: no other stream is
  /// opened under that name before the last batch of this one ended.
  Result<Stream*> settle_current(kb::Knowledgebase& knowledgebase, const StreamId& id);
  /// From here on nobody finds it; what waits for it ends. With open_mutex_ held.
  void retire(Stream& stream);
  void retire_moved();
  Result<std::string> move_aside(Stream& stream);
  /// Whether there is no stream of that id; false of what is no id.
  Result<bool> is_gone(kb::Knowledgebase& knowledgebase, const std::string& text);
  /// Takes away the views and manifest rows of streams that are no more.
  Result<void> settle_deleted(kb::Knowledgebase& knowledgebase);
  Result<void> drop_lost_rows(kb::Knowledgebase& knowledgebase);
  Result<void> drop_rows_if_lost(kb::Knowledgebase& knowledgebase, const std::string& id);
  void settle_deleted_where_due();
  /// A view that went with a stream of the same name is asked for again.
  void look_at_generations();
  Result<std::vector<std::string>> missing_columns(Stream& stream, const Receiver& next,
                                                   duck::WorkerPool& workers);
  Result<void> check_columns(Stream& stream, const Receiver& next, duck::WorkerPool& workers);
  Result<void> rebuild_index(kb::Knowledgebase& knowledgebase);

  const StreamServices services_;
  kb::Knowledgebases& knowledgebases_;
  IndexJob& indexes_;
  ViewJob& views_;
  std::mutex open_mutex_;  // one stream is opened or made at a time; guards files_left_
  /// So many files are counted before streams are there; those of a large one are counted by
  /// tick(), after the first request.
  std::size_t files_left_ = limits::kFilesCountedAtStart;
  mutable std::mutex mutex_;
  std::map<Key, std::unique_ptr<Stream>> streams_;
  std::map<Key, std::string> problems_;
  /// Streams whose folder was moved aside. Kept, because requests and the view job may hold them.
  std::vector<std::unique_ptr<Stream>> retired_;
  std::set<kb::Knowledgebase*> unsettled_;  // whose deleted streams have views or rows still
  std::mutex change_mutex_;                 // one change of settings at a time
  int ticks_ = 0;                           // the ticking thread's own
  std::map<kb::Knowledgebase*, std::uint64_t> generations_;  // likewise: last looked at
};

}  // namespace strata::stream
