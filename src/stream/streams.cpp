#include "stream/streams.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "io/numbered.h"
#include "kb/aside.h"

namespace strata::stream {
namespace {

/// How often a living process looks for the leftovers of others, in ticks.
constexpr int kTakeOverTicks = 5;
/// So many files of ended processes are counted in one, which keeps it well below its second.
constexpr std::size_t kFilesCountedATick = 10'000;

}  // namespace

Streams::Streams(const StreamServices& services, kb::Knowledgebases& knowledgebases,
                 IndexJob& indexes, ViewJob& views)
    : services_(services), knowledgebases_(knowledgebases), indexes_(indexes), views_(views) {}

Stream* Streams::find_open(kb::Knowledgebase& knowledgebase, const StreamId& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find({knowledgebase.id().str(), id.str()});
  return found == streams_.end() ? nullptr : found->second.get();
}

Stream* Streams::find_looked_at_since(std::string_view knowledgebase, std::string_view id,
                                      SteadyTime arrived) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(Key(knowledgebase, id));
  if (found == streams_.end() || !found->second->was_looked_at_since(arrived)) return nullptr;
  return found->second.get();
}

std::vector<Stream*> Streams::open_streams() const {
  const std::lock_guard lock(mutex_);
  std::vector<Stream*> streams;
  for (const auto& [key, stream] : streams_) streams.push_back(stream.get());
  return streams;
}

std::vector<std::string> Streams::problems() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> problems;
  for (const auto& [key, problem] : problems_) problems.push_back(problem);
  return problems;
}

Result<void> Streams::open_all() {
  STRATA_ASSIGN_OR_RETURN(const auto knowledgebases, knowledgebases_.list());
  for (kb::Knowledgebase* knowledgebase : knowledgebases) {
    STRATA_ASSIGN_OR_RETURN(const auto ids, ids_on_disk(*knowledgebase));
    for (const StreamId& id : ids) {
      const auto opened = find(*knowledgebase, id);
      if (opened) continue;
      const std::lock_guard lock(mutex_);
      problems_[{knowledgebase->id().str(), id.str()}] =
          fmt::format("stream {} of knowledgebase {} cannot be opened: {}", id.str(),
                      knowledgebase->id().str(), opened.error().message);
    }
    // A process may have ended between a stream's move aside and the end of its view.
    if (services_.fs.stat({knowledgebase->streams(), kb::kDeletedFolder})) {
      const std::lock_guard lock(mutex_);
      unsettled_.insert(knowledgebase);
    }
  }
  indexes_.wait_for_tries();
  return {};
}

Result<bool> Streams::has_receiver(kb::Knowledgebase& knowledgebase, const StreamId& id) {
  const auto absent = [](const Error& error) { return error.code == Code::kNotFound; };
  auto folder = services_.fs.open_directory_at({knowledgebase.streams(), id.str()});
  if (!folder) return absent(folder.error()) ? Result<bool>(false) : std::move(folder).error();
  auto receiver = services_.fs.open_directory_at({**folder, "receiver"});
  if (!receiver)
    return absent(receiver.error()) ? Result<bool>(false) : std::move(receiver).error();
  STRATA_ASSIGN_OR_RETURN(const auto newest, io::read_newest(services_.fs, **receiver, ".json"));
  return newest.has_value();
}

Result<Stream*> Streams::open(kb::Knowledgebase& knowledgebase, const StreamId& id) {
  auto opened = open_parts(knowledgebase, id);
  if (opened) return opened;
  Error error = std::move(opened).error();
  // What is wrong with our files is not the client's 404 or 409.
  if (error.code == Code::kNotFound || error.code == Code::kExists) {
    error.detail = error.message + " " + error.detail;
    error.message = "The stream's folder could not be opened; try again.";
    error.code = Code::kIo;
  }
  return error;
}

Result<Stream*> Streams::open_if_there(kb::Knowledgebase& knowledgebase, const StreamId& id) {
  STRATA_ASSIGN_OR_RETURN(const bool exists, has_receiver(knowledgebase, id));
  if (!exists) return nullptr;
  return open(knowledgebase, id);
}

Result<Stream*> Streams::open_parts(kb::Knowledgebase& knowledgebase, const StreamId& id) {
  STRATA_ASSIGN_OR_RETURN(auto stream, Stream::open(services_, knowledgebase, id));
  STRATA_RETURN_IF_ERROR(stream->load_receiver());
  // Whoever made the receiver may have been ended before its columns were registered.
  if (const auto columns = stream->receiver().columns) {
    STRATA_RETURN_IF_ERROR(stream->columns().store(*columns));
  }
  const auto recovered = recover(*stream, files_left_);
  stream->rates().sample();  // what is there now is not what comes now
  Stream* opened = stream.get();
  {
    const std::lock_guard lock(mutex_);
    streams_[{knowledgebase.id().str(), id.str()}] = std::move(stream);
    if (recovered) problems_.erase({knowledgebase.id().str(), id.str()});
  }
  if (opened->numbers().totals().files > 0) views_.want(*opened);
  return opened;
}

Result<void> Streams::recover(Stream& stream, std::size_t& files_left) {
  // A disk in doubt is written to by nobody until a restart whose probe passes.
  if (services_.root.degraded()) return {};
  const auto recovered = stream.recover(files_left);
  const Key key{stream.knowledgebase().id().str(), stream.id().str()};
  const std::lock_guard lock(mutex_);
  if (recovered) {
    problems_.erase(key);
    return {};
  }
  problems_[key] = fmt::format(
      "what an ended process left in stream {} of knowledgebase {} cannot be "
      "settled: {}",
      key.second, key.first, recovered.error().message);
  return recovered.error();
}

Result<Streams::Made> Streams::create(kb::Knowledgebase& knowledgebase, const StreamId& id,
                                      Receiver receiver) {
  receiver.stream = id.str();
  receiver.created_at = format_iso8601(services_.clock.wall());
  STRATA_RETURN_IF_ERROR(check_receiver(receiver));
  STRATA_RETURN_IF_ERROR(knowledgebase.check_not_migrating());
  STRATA_ASSIGN_OR_RETURN(const Made made, make_or_find(knowledgebase, id, receiver));
  if (!made.stream->receiver().same_settings(receiver)) {
    return make_error(Code::kConflict,
                      fmt::format("the receiver '{}' exists with other settings; choose another "
                                  "name, or ask for the settings it has.",
                                  id.str()));
  }
  // Nobody who opens another stream waits for the catalog.
  if (const auto indexed = index(*made.stream); !indexed) {
    indexes_.want(*made.stream);  // the receiver is there, whether it is asked for again or not
    return indexed.error();
  }
  STRATA_ASSIGN_OR_RETURN(const bool there, made.stream->in_place());
  if (!there) {
    // Deleted meanwhile, and its rows were put after they had been taken away.
    const std::lock_guard lock(mutex_);
    unsettled_.insert(&knowledgebase);
  }
  return made;
}

Result<Streams::Made> Streams::make_or_find(kb::Knowledgebase& knowledgebase, const StreamId& id,
                                            const Receiver& receiver) {
  const std::lock_guard opening(open_mutex_);
  STRATA_ASSIGN_OR_RETURN(Stream * stream, settle_current(knowledgebase, id));
  if (stream != nullptr) return Made{stream, false};
  bool made = false;
  STRATA_ASSIGN_OR_RETURN(const bool exists, has_receiver(knowledgebase, id));
  if (!exists) {
    STRATA_ASSIGN_OR_RETURN(const auto half, Stream::open(services_, knowledgebase, id));
    const auto published = half->publish_receiver({receiver, 0});
    if (!published && published.error().code != Code::kExists) return published.error();
    made = published.has_value();
    STRATA_RETURN_IF_ERROR(half->close());
  }
  STRATA_ASSIGN_OR_RETURN(stream, open(knowledgebase, id));
  return Made{stream, made};
}

Result<Stream*> Streams::find(kb::Knowledgebase& knowledgebase, const StreamId& id) {
  STRATA_ASSIGN_OR_RETURN(Stream * known, find_current(knowledgebase, id));
  if (known != nullptr) return known;
  const std::lock_guard opening(open_mutex_);
  STRATA_ASSIGN_OR_RETURN(known, settle_current(knowledgebase, id));
  if (known != nullptr) return known;
  STRATA_ASSIGN_OR_RETURN(known, open_if_there(knowledgebase, id));
  if (known == nullptr) return unknown_stream(knowledgebase, id.str());
  indexes_.want(*known);  // it may have been moved back, or its maker ended before it put the rows
  return known;
}

Error Streams::unknown_stream(kb::Knowledgebase& knowledgebase, std::string_view typed) {
  std::vector<std::string> names;
  if (const auto ids = ids_on_disk(knowledgebase)) {
    for (const StreamId& id : *ids) names.push_back(id.str());
  }
  // What cannot be a name is not repeated: it may be any text.
  std::string message = StreamId::parse(typed)
                            ? fmt::format("There is no receiver '{}' in this knowledgebase.", typed)
                            : "This knowledgebase has no receiver of that name.";
  if (const auto near = nearest_name(typed, names)) {
    message += fmt::format(" Did you mean '{}'?", *near);
  }
  message += fmt::format(" Whoever administers it makes one with: strata receiver create {} NAME.",
                         knowledgebase.id().str());
  return make_error(Code::kUnknownStream, std::move(message));
}

Result<std::vector<StreamId>> Streams::ids_on_disk(kb::Knowledgebase& knowledgebase) {
  STRATA_ASSIGN_OR_RETURN(const auto entries, services_.fs.list(knowledgebase.streams()));
  std::vector<StreamId> ids;
  for (const io::DirEntry& entry : entries) {
    auto id = StreamId::parse(entry.name);
    if (!id || entry.type != io::FileType::kDirectory) continue;
    STRATA_ASSIGN_OR_RETURN(const bool exists, has_receiver(knowledgebase, *id));
    if (exists) ids.push_back(std::move(*id));
  }
  std::ranges::sort(ids);
  return ids;
}

Result<std::vector<Stream*>> Streams::list(kb::Knowledgebase& knowledgebase) {
  STRATA_ASSIGN_OR_RETURN(const auto ids, ids_on_disk(knowledgebase));
  std::vector<Stream*> streams;
  for (const StreamId& id : ids) {
    const auto stream = find(knowledgebase, id);
    if (!stream && stream.error().code == Code::kUnknownStream) continue;  // deleted meanwhile
    if (!stream) return stream.error();
    streams.push_back(*stream);
  }
  return streams;
}

void Streams::tick() {
  const bool take_over = ++ticks_ % kTakeOverTicks == 0;
  retire_moved();
  if (take_over) look_at_generations();
  std::size_t files_left = kFilesCountedATick;
  if (ticks_ % kTakeOverTicks == 1) settle_deleted_where_due();
  for (Stream* stream : open_streams()) {
    if (take_over || stream->numbers().counting()) {
      ignore(recover(*stream, files_left), "noted as a problem, and tried again in a few seconds");
    }
    if (take_over) ignore(stream->look_at_quarantine(), "tried again in a few seconds");
    ignore(stream->numbers().checkpoint(false), "tried again in a second");
    stream->rates().sample();
    stream->publisher().let_go_if_idle();
    if (!stream->view_ready() && stream->numbers().totals().files > 0) views_.want(*stream);
  }
}

void Streams::close() {
  for (Stream* stream : open_streams()) {
    ignore(stream->close(), "the next start settles what a close could not");
  }
}

}  // namespace strata::stream
