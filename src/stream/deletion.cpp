#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/kill_point.h"
#include "io/numbered.h"
#include "kb/aside.h"
#include "stream/lost_views.h"
#include "stream/streams.h"

/// Streams: what goes, and how this process notices what another took away.
namespace strata::stream {

Result<Stream*> Streams::find_current(kb::Knowledgebase& knowledgebase, const StreamId& id) const {
  Stream* stream = find_open(knowledgebase, id);
  if (stream == nullptr || &stream->knowledgebase() != &knowledgebase) return nullptr;
  const SteadyTime began = services_.clock.steady();
  STRATA_ASSIGN_OR_RETURN(const bool there, stream->in_place());
  if (!there) return nullptr;
  STRATA_RETURN_IF_ERROR(stream->refresh_receiver());
  stream->note_look(began);
  return stream;
}

Result<Stream*> Streams::settle_current(kb::Knowledgebase& knowledgebase, const StreamId& id) {
  STRATA_ASSIGN_OR_RETURN(Stream* const current, find_current(knowledgebase, id));
  if (current != nullptr) return current;
  if (Stream* stale = find_open(knowledgebase, id)) {
    stale->leave();
    retire(*stale);
  }
  return nullptr;
}

void Streams::retire(Stream& stream) {
  {
    const std::lock_guard lock(mutex_);
    auto node = streams_.extract({stream.knowledgebase().id().str(), stream.id().str()});
    problems_.erase({stream.knowledgebase().id().str(), stream.id().str()});
    retired_.push_back(std::move(node.mapped()));
  }
  stream.end();
}

void Streams::retire_moved() {
  for (Stream* stream : open_streams()) {
    const auto there = stream->in_place();
    if (!there || *there) continue;
    const std::lock_guard opening(open_mutex_);
    if (find_open(stream->knowledgebase(), stream->id()) != stream) continue;
    stream->leave();
    retire(*stream);
  }
}

Result<std::string> Streams::remove(Stream& stream) {
  kb::Knowledgebase& knowledgebase = stream.knowledgebase();
  STRATA_RETURN_IF_ERROR(knowledgebase.check_not_migrating());
  // Before the move: a crash in between leaves a stream without its row, which its next opening
  // puts back. Afterwards the row could be that of a stream made anew. And before the lock: nobody
  // who opens a stream waits for the catalog.
  ignore(knowledgebase.catalog().remove_stream(stream.id().str()),
         "the catalog is an index; settled again once the folder is gone");
  io::kill_point("delete:after_row");
  std::string moved;
  {
    const std::lock_guard opening(open_mutex_);
    STRATA_ASSIGN_OR_RETURN(Stream * current, settle_current(knowledgebase, stream.id()));
    if (current != &stream) {
      // The row may have been that of a stream made anew, also by a process of another node.
      if (current == nullptr) {
        STRATA_ASSIGN_OR_RETURN(current, open_if_there(knowledgebase, stream.id()));
      }
      if (current != nullptr) indexes_.want(*current);
      return unknown_stream(knowledgebase, stream.id().str());
    }
    stream.leave();
    auto done = move_aside(stream);
    const auto there = stream.in_place();
    if (there && *there) {
      stream.stay();
      indexes_.want(stream);
    } else {
      retire(stream);
    }
    if (!done) return done.error();
    moved = *std::move(done);
  }
  if (const auto settled = settle_deleted(knowledgebase); !settled) {
    const std::lock_guard lock(mutex_);
    unsettled_.insert(&knowledgebase);
  }
  return moved;
}

Result<std::string> Streams::move_aside(Stream& stream) {
  io::FileSystem& fs = services_.fs;
  const io::Directory& streams = stream.knowledgebase().streams();
  STRATA_ASSIGN_OR_RETURN(const auto deleted,
                          io::ensure_directory(fs, {streams, kb::kDeletedFolder}));
  const std::string name = kb::aside_name(stream.id().str(), services_.clock);
  auto renamed = fs.rename_replace({streams, stream.id().str()}, {*deleted, name});
  if (!renamed && renamed.error().code == Code::kNotFound) {
    return unknown_stream(stream.knowledgebase(), stream.id().str());
  }
  if (!renamed) return std::move(renamed).error();
  io::kill_point("delete:after_move");
  STRATA_RETURN_IF_ERROR(fs.sync_directory(*deleted));
  STRATA_RETURN_IF_ERROR(fs.sync_directory(streams));
  io::kill_point("delete:after_sync");
  return fmt::format("strata/streams/{}/{}", kb::kDeletedFolder, name);
}

Result<std::string> Streams::remove(kb::Knowledgebase& knowledgebase) {
  STRATA_RETURN_IF_ERROR(knowledgebase.check_not_migrating());
  const std::lock_guard opening(open_mutex_);
  std::vector<Stream*> streams = open_streams();
  std::erase_if(streams,
                [&](const Stream* stream) { return &stream->knowledgebase() != &knowledgebase; });
  for (Stream* stream : streams) stream->leave();
  auto moved = knowledgebases_.remove(knowledgebase);
  for (Stream* stream : streams) {
    const auto there = stream->in_place();
    if (there && *there) {
      stream->stay();
    } else {
      retire(*stream);
    }
  }
  const std::lock_guard lock(mutex_);
  if (moved) unsettled_.erase(&knowledgebase);
  return moved;
}

Result<bool> Streams::is_gone(kb::Knowledgebase& knowledgebase, const std::string& text) {
  const auto id = StreamId::parse(text);
  if (!id) return false;
  STRATA_ASSIGN_OR_RETURN(const bool exists, has_receiver(knowledgebase, *id));
  return !exists;
}

Result<void> Streams::drop_lost_rows(kb::Knowledgebase& knowledgebase) {
  constexpr std::string_view kSource = "stream:";
  catalog::Catalog& catalog = knowledgebase.catalog();
  std::set<std::string> ids;
  STRATA_ASSIGN_OR_RETURN(const auto rows, catalog.manifest());
  for (const catalog::ManifestRow& row : rows) {
    if (row.source.starts_with(kSource)) ids.insert(row.source.substr(kSource.size()));
  }
  STRATA_ASSIGN_OR_RETURN(const auto receivers, catalog.receivers());
  for (const catalog::ReceiverRow& row : receivers) ids.insert(row.stream);
  for (const std::string& id : ids) STRATA_RETURN_IF_ERROR(drop_rows_if_lost(knowledgebase, id));
  return {};
}

Result<void> Streams::drop_rows_if_lost(kb::Knowledgebase& knowledgebase, const std::string& id) {
  STRATA_ASSIGN_OR_RETURN(const bool lost, is_gone(knowledgebase, id));
  if (!lost) return {};
  STRATA_RETURN_IF_ERROR(knowledgebase.catalog().remove_stream(id));
  // Whoever made it anew after the look above may have put its rows before they were taken away.
  STRATA_ASSIGN_OR_RETURN(const bool still_lost, is_gone(knowledgebase, id));
  if (still_lost) return {};
  STRATA_ASSIGN_OR_RETURN(Stream* const anew, find(knowledgebase, *StreamId::parse(id)));
  indexes_.want(*anew);
  return {};
}

Result<void> Streams::settle_deleted(kb::Knowledgebase& knowledgebase) {
  STRATA_RETURN_IF_ERROR(drop_lost_rows(knowledgebase));
  return drop_lost_views(knowledgebase, [this, &knowledgebase](const std::string& id) {
    return is_gone(knowledgebase, id);
  });
}

void Streams::settle_deleted_where_due() {
  std::set<kb::Knowledgebase*> due = indexes_.take_unsettled();
  {
    const std::lock_guard lock(mutex_);
    due.merge(std::exchange(unsettled_, {}));
  }
  for (kb::Knowledgebase* knowledgebase : due) {
    if (settle_deleted(*knowledgebase)) continue;
    // A kb that was deleted itself has nothing left to settle.
    const auto there = knowledgebases_.find(knowledgebase->id());
    if (!there || *there != knowledgebase) continue;
    const std::lock_guard lock(mutex_);
    unsettled_.insert(knowledgebase);
  }
}

void Streams::look_at_generations() {
  std::set<kb::Knowledgebase*> changed;
  const std::vector<Stream*> streams = open_streams();
  std::map<kb::Knowledgebase*, std::uint64_t> present;
  for (const Stream* stream : streams) {
    kb::Knowledgebase* knowledgebase = &stream->knowledgebase();
    if (present.contains(knowledgebase)) continue;
    const auto newest = knowledgebase->generations().newest();
    const std::uint64_t number = newest ? newest->number : generations_[knowledgebase];
    present[knowledgebase] = number;
    if (generations_[knowledgebase] != number) changed.insert(knowledgebase);
  }
  generations_ = std::move(present);
  for (Stream* stream : streams) {
    if (stream->view_ready() && changed.contains(&stream->knowledgebase())) {
      views_.look_again(*stream);
    }
  }
}

}  // namespace strata::stream
