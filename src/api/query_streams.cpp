#include "api/query_streams.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "base/cells.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "stream/batches.h"

namespace strata::api {
namespace {

constexpr std::string_view kSchema = "raw_extracted.";
constexpr std::string_view kViewPrefix = "stream_";

/// The words of `sql`, in lower case, that a view of a stream could have as its name.
std::set<std::string> view_names_in(std::string_view sql) {
  constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const std::string folded = ascii_lower(sql);
  std::set<std::string> names;
  for (auto begin = folded.find_first_of(kWord); begin != std::string::npos;) {
    const auto end = std::min(folded.find_first_not_of(kWord, begin), folded.size());
    std::string word = folded.substr(begin, end - begin);
    if (word.starts_with(kViewPrefix)) names.insert(std::move(word));
    begin = folded.find_first_of(kWord, end);
  }
  return names;
}

/// The id in `raw_extracted.stream_x`, or in `main.stream_x`, where the schema was forgotten.
std::optional<StreamId> id_in(std::string_view table) {
  for (const std::string_view schema : {kSchema, std::string_view("main.")}) {
    if (!table.starts_with(schema)) continue;
    std::string_view name = table.substr(schema.size());
    if (!name.starts_with(kViewPrefix)) return std::nullopt;
    const auto id = StreamId::parse(name.substr(kViewPrefix.size()));
    if (id) return *id;
  }
  return std::nullopt;
}

Error nothing_landed(const stream::Stream& stream) {
  const std::string kb = stream.knowledgebase().id().str();
  return make_error(
      Code::kViewDeferred,
      fmt::format(
          "Nothing has landed in '{}' yet; its view {} is made with the first batch. Send one "
          "to /knowledgebase/{}/strata/ingest/{}.",
          stream.id().str(), stream.table(), kb, stream.id().str()));
}

/// Not the reader's mistake: the batches are there.
Error view_missing(const stream::Stream& stream) {
  return make_error(Code::kBusy,
                    fmt::format("The view {} could not be made yet, though batches have landed; "
                                "send the query again in a moment.",
                                stream.table()),
                    stream.view_error());
}

/// The table `missing` is a slip for: by its whole name, by its view's, or by its stream's.
std::optional<std::string> nearest_table(std::string_view missing,
                                         const std::vector<stream::Stream*>& streams) {
  const std::string_view name = missing.substr(missing.rfind('.') + 1);
  std::vector<std::string> tables;
  std::vector<std::string> spellings;
  for (const stream::Stream* stream : streams) {
    const std::string id = stream->id().str();
    for (std::string spelling : {std::string(kViewPrefix) + id, id}) {
      tables.push_back(stream->table());
      spellings.push_back(std::move(spelling));
    }
  }
  const auto nearest = nearest_name(name, spellings);
  if (!nearest) return std::nullopt;
  for (std::size_t index = 0; index < spellings.size(); ++index) {
    if (spellings[index] == *nearest) return tables[index];
  }
  return std::nullopt;
}

/// DuckDB's own proposal may be any of its internal tables: ours takes its place.
Error with_nearest(Error unknown, const std::string& table) {
  constexpr std::string_view kProposal = "\nDid you mean \"";
  std::string& message = unknown.message;
  const auto line = std::min(message.find("\n\nLINE "), message.size());
  const auto begin = std::min(message.find(kProposal), line);
  message.replace(begin, line - begin, fmt::format("{}{}\"?", kProposal, table));
  return unknown;
}

}  // namespace

QueryStreams::QueryStreams(const std::string& sql, kb::Knowledgebase& knowledgebase,
                           Services& services)
    : knowledgebase_(knowledgebase), services_(services) {
  const auto names = view_names_in(sql);
  if (names.empty()) return;
  for (stream::Stream* stream : services.streams.open_streams()) {
    if (&stream->knowledgebase() != &knowledgebase) continue;
    if (!names.contains(std::string(kViewPrefix) + stream->id().str())) continue;
    named_.push_back(stream);
    held_[stream->table()] = stream->numbers().totals();
  }
}

void QueryStreams::see_to_views() {
  for (stream::Stream* stream : named_) {
    if (stream->numbers().totals().files == 0) continue;
    services_.views.want_and_wait(*stream, limits::kFirstViewWait);
  }
}

Result<void> QueryStreams::bring_up_missing(stream::Stream& stream, const std::string& missing) {
  if (!seen_to_.insert(missing).second) return view_missing(stream);
  if (stream.view_ready()) return services_.views.resync(stream);
  if (services_.views.want_and_wait(stream, limits::kFirstViewWait)) return {};
  return view_missing(stream);
}

Result<void> QueryStreams::see_to_missing(const Error& unknown, const std::string& missing) {
  // The stream may be another process's, and new; or nothing has landed in it.
  if (const auto id = id_in(missing)) {
    if (const auto stream = services_.streams.find(knowledgebase_, *id)) {
      io::FileSystem& fs = services_.stream_services.fs;
      STRATA_ASSIGN_OR_RETURN(const bool landed, stream::has_batches(fs, **stream));
      if (!landed) return nothing_landed(**stream);
      // Ready, and yet missing: another process that deleted a stream of this name dropped the new
      // one's view too. Without its schema the name is a slip for a view that is there.
      const bool slip = (*stream)->view_ready() && !missing.starts_with(kSchema);
      if (!slip) return bring_up_missing(**stream, missing);
    }
  }
  STRATA_ASSIGN_OR_RETURN(const auto streams, services_.streams.list(knowledgebase_));
  const auto nearest = missing.empty() ? std::nullopt : nearest_table(missing, streams);
  return nearest ? with_nearest(unknown, *nearest) : unknown;
}

Error QueryStreams::see_to_stale(Error refused) const {
  for (stream::Stream* stream : named_) {
    if (!stream->view_ready()) return view_missing(*stream);
  }
  return refused;
}

void QueryStreams::note(const Error& failure) {
  for (stream::Stream* stream : named_) {
    services_.unreadable_files.note(failure, *stream, services_.stream_services.fs);
  }
}

stream::Totals QueryStreams::held(const std::vector<std::string>& tables) const {
  stream::Totals totals;
  for (const std::string& table : tables) {
    if (const auto known = held_.find(table); known != held_.end()) {
      totals.add(known->second);
      continue;
    }
    // A view that another process made: this one may not have met its stream yet.
    const auto id = table.starts_with(kSchema) ? id_in(table) : std::nullopt;
    if (!id) continue;
    if (const auto stream = services_.streams.find(knowledgebase_, *id)) {
      totals.add((*stream)->numbers().totals());
    }
  }
  return totals;
}

}  // namespace strata::api
