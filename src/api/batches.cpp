#include "stream/batches.h"

#include "api/handlers.h"
#include "api/json.h"
#include "api/paging.h"
#include "stream/column_profile.h"

namespace strata::api {
namespace {

namespace json = boost::json;

json::value text_or_null(const std::optional<std::string>& text) {
  return text ? json::value(*text) : json::value();
}

/// As the ingest route answered it, and where its rows are now.
json::object render(const io::BatchFacts& facts, const std::optional<std::string>& where) {
  return {{"batch_id", facts.batch_id},
          {"rows", facts.rows},
          {"columns", facts.columns},
          {"bytes", facts.file_bytes},
          {"file", stream::batch_file_name(facts.batch_id)},
          {"body_sha256", facts.body_sha256},
          {"content_sha256", facts.content_sha256},
          {"file_sha256", facts.file_sha256},
          {"arrived_at", facts.arrived_at},
          {"where", text_or_null(where)}};
}

}  // namespace

Result<http::Response> list_batches(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const PageRequest asked, read_page(request));
  STRATA_ASSIGN_OR_RETURN(
      const auto page,
      stream::list_batches(services.stream_services.fs, *stream, asked.limit, asked.before));
  json::array list;
  for (const io::BatchFacts& facts : page.batches) {
    list.push_back(render(facts, stream::batch_file_name(facts.batch_id)));
  }
  return json_response(
      200, json::object{{"batches", std::move(list)}, {"next", text_or_null(page.next)}});
}

Result<http::Response> get_batch(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const BatchId id, batch_of(request));
  STRATA_ASSIGN_OR_RETURN(const auto found,
                          stream::find_batch(services.stream_services.fs, *stream, id));
  return json_response(200, render(found.facts, found.where));
}

Result<http::Response> list_columns(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const auto profile,
                          stream::profile_columns(services.stream_services.fs, *stream));
  json::array columns;
  for (const stream::ColumnProfile& column : profile.columns) {
    columns.push_back(json::object{{"column", column.name},
                                   {"filled", column.filled},
                                   {"rows", profile.rows},
                                   {"samples", json::value_from(column.samples)},
                                   {"first_batch", text_or_null(column.first_batch)}});
  }
  return json_response(200, json::object{{"columns", std::move(columns)},
                                         {"rows", profile.rows},
                                         {"files", profile.files},
                                         {"files_read", profile.files_read},
                                         {"complete", profile.complete()}});
}

Result<http::Response> get_rates(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  const auto asked = request.query.find("window");
  const std::string window = asked == request.query.end() ? "1h" : asked->second;
  STRATA_ASSIGN_OR_RETURN(const auto series, stream->rates().series(window));
  json::array points;
  for (const stream::Rates::Point& point : series.points) {
    points.push_back(json::object{
        {"at", format_iso8601(point.at)}, {"rows", point.rows}, {"batches", point.batches}});
  }
  return json_response(200, json::object{{"rates", std::move(points)},
                                         {"window", window},
                                         {"bucket_seconds", series.bucket.count()},
                                         {"since", format_iso8601(series.since)}});
}

}  // namespace strata::api
