#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "stream/stream.h"
#include "stream/view_job.h"

namespace strata::stream {

/// The streams of all kbs in this process. Thread-safe; other processes may add to the same root.
class Streams {
 public:
  Streams(const StreamServices& services, kb::Knowledgebases& knowledgebases, ViewJob& views);

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
  Result<Made> create(kb::Knowledgebase& knowledgebase, const StreamId& id, Receiver receiver);

  /// kUnknownStream, with the nearest existing one and how to make one. Looks on the disk when this
  /// process has not met the id yet. The pointer is never null and stays valid.
  Result<Stream*> find(kb::Knowledgebase& knowledgebase, const StreamId& id);
  /// What an id that is no id, or is unknown, is answered.
  Error unknown_stream(kb::Knowledgebase& knowledgebase, std::string_view typed);

  /// Every stream of a kb, by id, as the disk has them now.
  Result<std::vector<Stream*>> list(kb::Knowledgebase& knowledgebase);
  /// Those this process has open, without a look at the disk.
  std::vector<Stream*> open_streams() const;

  /// Once a second: checkpoints the numbers, asks for views that should be there; now and then
  /// takes over what processes that ended meanwhile left.
  void tick();
  /// A clean stop, after the last request.
  void close();

 private:
  using Key = std::pair<std::string, std::string>;

  Result<Stream*> open(kb::Knowledgebase& knowledgebase, const StreamId& id);
  Result<Stream*> open_parts(kb::Knowledgebase& knowledgebase, const StreamId& id);
  Result<void> recover(Stream& stream);
  Result<bool> has_receiver(kb::Knowledgebase& knowledgebase, const StreamId& id);
  Result<std::vector<StreamId>> ids_on_disk(kb::Knowledgebase& knowledgebase);
  Stream* find_open(kb::Knowledgebase& knowledgebase, const StreamId& id) const;
  Result<void> index(Stream& stream);

  const StreamServices services_;
  kb::Knowledgebases& knowledgebases_;
  ViewJob& views_;
  std::mutex open_mutex_;  // one stream is opened or made at a time
  mutable std::mutex mutex_;
  std::map<Key, std::unique_ptr<Stream>> streams_;
  std::map<Key, std::string> problems_;
  int ticks_ = 0;  // the ticking thread's own
};

}  // namespace strata::stream
