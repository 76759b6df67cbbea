#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "base/cells.h"
#include "kb/query.h"
#include "stream/streams.h"

/// Streams: how a receiver's settings change.
namespace strata::stream {
namespace {

constexpr int kRaceTries = 16;
/// So that the names, however long and full of quotes, fit into one statement.
constexpr std::size_t kColumnsAskedAtOnce = 30;
constexpr std::size_t kColumnsNamed = 10;

/// Those of `names` in which at least one row has a value.
Result<std::vector<std::string>> filled(Stream& stream, std::span<const std::string> names,
                                        duck::WorkerPool& workers) {
  duck::Sql sql("SELECT ");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) sql.raw(", ");
    sql.raw("count(").ident(names[i]).raw(")");
  }
  sql.raw(" FROM raw_extracted.").ident("stream_" + stream.id().str());
  STRATA_ASSIGN_OR_RETURN(const kb::QueryAnswer answer,
                          kb::run_query(workers, stream.knowledgebase(),
                                        {.sql = sql.str(),
                                         .format = duck::ResultFormat::kJson,
                                         .rows_max = 1,
                                         .timeout = limits::kQueryTimeoutDefault}));
  std::string row;
  while (true) {
    STRATA_ASSIGN_OR_RETURN(const auto piece, answer.running->next());
    if (!piece) break;
    row += *piece;
  }
  boost::system::error_code error;
  const boost::json::value counts = boost::json::parse(row, error);
  if (error || !counts.is_array() || counts.as_array().size() != names.size()) {
    return make_error(Code::kInternal, "the columns' counts could not be read", row);
  }
  std::vector<std::string> with_values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (counts.as_array()[i] != boost::json::value(0)) with_values.push_back(names[i]);
  }
  return with_values;
}

Error would_be_left_out(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kColumnsNamed);
  return make_error(
      Code::kConflict,
      fmt::format(
          "rows of this stream have values in {} that the list leaves out: '{}'{}. Keep {} "
          "in it, or send the new records to a receiver of their own.",
          names.size() == 1 ? "a column" : fmt::format("{} columns", names.size()),
          fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), "', '"),
          shown < names.size() ? " and others" : "", names.size() == 1 ? "it" : "them"));
}

}  // namespace

Result<std::vector<std::string>> Streams::missing_columns(Stream& stream, const Receiver& next,
                                                          duck::WorkerPool& workers) {
  std::set<std::string> named;
  for (const std::string& name : *next.columns) named.insert(ascii_lower(name));
  std::vector<std::string> missing = stream.columns().list();
  std::erase_if(missing,
                [&](const std::string& name) { return named.contains(ascii_lower(name)); });
  if (missing.empty()) return missing;

  STRATA_ASSIGN_OR_RETURN(const auto data, stream.publisher().open_data(""));
  STRATA_ASSIGN_OR_RETURN(const auto entries, services_.fs.list(*data));
  const bool landed = std::ranges::any_of(
      entries, [](const io::DirEntry& entry) { return !entry.name.starts_with('.'); });
  if (!landed) return std::vector<std::string>();
  if (!views_.want_and_wait(stream, limits::kFirstViewWait)) {
    return make_error(Code::kBusy,
                      "the stream's view is not ready, so its columns cannot be looked "
                      "at; try again in a moment.");
  }
  std::vector<std::string> with_values;
  for (std::size_t at = 0; at < missing.size(); at += kColumnsAskedAtOnce) {
    const std::size_t count = std::min(kColumnsAskedAtOnce, missing.size() - at);
    STRATA_ASSIGN_OR_RETURN(const auto some,
                            filled(stream, std::span(missing).subspan(at, count), workers));
    with_values.insert(with_values.end(), some.begin(), some.end());
  }
  return with_values;
}

Result<void> Streams::check_columns(Stream& stream, const Receiver& next,
                                    duck::WorkerPool& workers) {
  STRATA_RETURN_IF_ERROR(stream.columns().reload());
  std::map<std::string, std::string> spelled;
  for (const std::string& name : stream.columns().list()) spelled[ascii_lower(name)] = name;
  for (const std::string& name : *next.columns) {
    const auto known = spelled.find(ascii_lower(name));
    if (known == spelled.end() || known->second == name) continue;
    return make_error(Code::kConflict,
                      fmt::format("the stream has the column '{}' already: spell '{}' that way.",
                                  known->second, name));
  }
  STRATA_ASSIGN_OR_RETURN(const auto missing, missing_columns(stream, next, workers));
  if (!missing.empty()) return would_be_left_out(missing);
  // Before the settings that name them, so that the cap is met before anything is promised.
  const auto stored = stream.columns().store(*next.columns);
  if (stored) return {};
  Error error = stored.error();
  if (error.code == Code::kBadBatch) error.code = Code::kConflict;
  return error;
}

Result<void> Streams::change(Stream& stream, const ReceiverChange& change,
                             duck::WorkerPool& workers) {
  STRATA_RETURN_IF_ERROR(stream.knowledgebase().check_not_migrating());
  const std::lock_guard changing(change_mutex_);
  for (int i = 0; i < kRaceTries; ++i) {
    STRATA_RETURN_IF_ERROR(stream.refresh_receiver());
    Stream::Settings settings = stream.settings();
    Receiver next = changed(settings.receiver, change);
    STRATA_RETURN_IF_ERROR(check_receiver(next));
    if (next.same_settings(settings.receiver)) return {};
    if (next.columns && next.columns != settings.receiver.columns) {
      STRATA_RETURN_IF_ERROR(check_columns(stream, next, workers));
    }
    settings.receiver = std::move(next);
    const auto published = stream.publish_receiver(settings);
    if (!published && published.error().code == Code::kExists) continue;
    STRATA_RETURN_IF_ERROR(published);
    // Published into the folder, wherever that is by now.
    STRATA_ASSIGN_OR_RETURN(const bool there, stream.in_place());
    if (!there) return unknown_stream(stream.knowledgebase(), stream.id().str());
    indexes_.want(stream);
    return {};
  }
  return make_error(Code::kBusy, "the receiver's settings keep changing; try again in a moment.");
}

}  // namespace strata::stream
