#include "kb/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/handlers.h"
#include "api/json.h"
#include "api/problem.h"
#include "base/limits.h"

namespace strata::api {
namespace {

namespace json = boost::json;

/// Answers up to this size are sent whole, with a length and with a true status if they fail late.
constexpr std::size_t kWholeBytesMax = 1024 * 1024;

struct Format {
  std::string_view media_type;
  std::string_view content_type;
  duck::ResultFormat format;
};
constexpr Format kFormats[] = {
    {"application/json", "application/json", duck::ResultFormat::kJson},
    {"application/x-ndjson", "application/x-ndjson", duck::ResultFormat::kNdjson},
    {"text/csv", "text/csv; charset=utf-8; header=present", duck::ResultFormat::kCsv},
};

/// The first format of Accept that there is; none asked for means JSON.
Result<Format> choose_format(const http::Request& request) {
  const auto accept = request.header("Accept");
  if (!accept) return kFormats[0];
  std::string_view rest = *accept;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::string type = media_type_of(item);
    if (type == "*/*" || type == "application/*") return kFormats[0];
    if (type == "text/*") return kFormats[2];
    for (const Format& format : kFormats) {
      if (type == format.media_type) return format;
    }
  }
  return make_error(Code::kNotAcceptable,
                    "A query answers application/json, application/x-ndjson or text/csv.");
}

Result<std::uint64_t> whole_number(const json::object& body, const char* name,
                                   std::uint64_t otherwise, std::uint64_t ceiling) {
  const json::value* value = body.if_contains(name);
  if (value == nullptr || value->is_null()) return otherwise;
  boost::system::error_code error;
  const auto number = value->to_number<std::uint64_t>(error);
  if (error || number < 1 || number > ceiling) {
    return make_error(Code::kBadRequest,
                      fmt::format("{} is a whole number from 1 to {}.", name, ceiling));
  }
  return number;
}

/// The members of a GET's address as those of a POST's body.
Result<json::object> body_of_address(const http::Request& request) {
  json::object body;
  for (const auto& [name, value] : request.query) {
    if (name == "sql") {
      body[name] = value;
      continue;
    }
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = error == std::errc() && end == value.data() + value.size();
    if ((name != "max_rows" && name != "timeout_ms") || !whole) {
      return make_error(
          Code::kBadRequest,
          "A query's address takes sql, and the whole numbers max_rows and timeout_ms.");
    }
    body[name] = number;
  }
  return body;
}

Result<kb::QueryRequest> read_query(const http::Request& request, const Format& format) {
  kb::QueryRequest query;
  query.format = format.format;
  json::object body;
  if (request.method == "POST") {
    STRATA_ASSIGN_OR_RETURN(body, read_json_body(request, {"sql", "max_rows", "timeout_ms"}));
    const json::value* sql = body.if_contains("sql");
    if (sql != nullptr && sql->is_string()) query.sql = std::string_view(sql->as_string());
  } else {
    STRATA_ASSIGN_OR_RETURN(body, body_of_address(request));
    if (const json::value* sql = body.if_contains("sql")) {
      query.sql = std::string_view(sql->as_string());
    }
  }
  if (query.sql.empty()) {
    return make_error(Code::kBadRequest, R"(Send the query: {"sql":"SELECT 1"}.)");
  }
  STRATA_ASSIGN_OR_RETURN(query.rows_max, whole_number(body, "max_rows", limits::kQueryRowsDefault,
                                                       limits::kQueryRowsCeiling));
  STRATA_ASSIGN_OR_RETURN(
      const std::uint64_t timeout_ms,
      whole_number(body, "timeout_ms",
                   static_cast<std::uint64_t>(limits::kQueryTimeoutDefault.count()),
                   static_cast<std::uint64_t>(limits::kQueryTimeoutCeiling.count())));
  query.timeout = std::chrono::milliseconds(timeout_ms);
  query.cancel = request.client_left;
  return query;
}

/// The streams of the kb whose view's name stands in `text` as a word.
std::vector<stream::Stream*> streams_named(const std::string& text,
                                           const std::vector<stream::Stream*>& streams) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const std::string folded = ascii_lower(text);
  std::vector<stream::Stream*> named;
  for (stream::Stream* stream : streams) {
    const std::string view = "stream_" + stream->id().str();
    for (auto at = folded.find(view); at != std::string::npos; at = folded.find(view, at + 1)) {
      const bool starts = at == 0 || !is_word(folded[at - 1]);
      const auto end = at + view.size();
      if (starts && (end == folded.size() || !is_word(folded[end]))) {
        named.push_back(stream);
        break;
      }
    }
  }
  return named;
}

std::vector<stream::Stream*> open_streams_of(const kb::Knowledgebase& knowledgebase,
                                             Services& services) {
  std::vector<stream::Stream*> streams;
  for (stream::Stream* stream : services.streams.open_streams()) {
    if (&stream->knowledgebase() == &knowledgebase) streams.push_back(stream);
  }
  return streams;
}

/// Ready is a level: a query that finds a named stream's view not known to be ready asks for it
/// too. Whether one of them came up.
bool see_to_views(const std::vector<stream::Stream*>& named, Services& services) {
  bool came_up = false;
  for (stream::Stream* stream : named) {
    if (stream->view_ready() || stream->numbers().totals().files == 0) continue;
    came_up |= services.views.want_and_wait(*stream, limits::kFirstViewWait);
  }
  return came_up;
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

Result<kb::QueryAnswer> answer(const kb::QueryRequest& query, kb::Knowledgebase& knowledgebase,
                               Services& services) {
  see_to_views(streams_named(query.sql, open_streams_of(knowledgebase, services)), services);
  auto first = kb::run_query(services.workers, knowledgebase, query);
  if (first || first.error().code != Code::kUnknownTable) return first;
  // The stream may be another process's, and new; or nothing has landed in it.
  STRATA_ASSIGN_OR_RETURN(const auto streams, services.streams.list(knowledgebase));
  const auto named = streams_named(first.error().detail, streams);
  for (stream::Stream* stream : named) {
    if (stream->numbers().totals().files == 0) return nothing_landed(*stream);
  }
  if (!see_to_views(named, services)) return first;
  return kb::run_query(services.workers, knowledgebase, query);
}

json::array render_columns(const duck::QueryHead& head) {
  json::array columns;
  for (const duck::ResultColumn& column : head.columns) {
    columns.push_back(json::object{{"name", column.name}, {"type", column.type}});
  }
  return columns;
}

/// What was read: how many files of the streams the statement names, and their newest arrival.
json::object render_read(const kb::QueryAnswer& answer, kb::Knowledgebase& knowledgebase,
                         Services& services) {
  stream::Totals totals;
  std::string tables;
  for (const std::string& table : answer.running->head().tables) tables += table + ' ';
  for (stream::Stream* stream : streams_named(tables, open_streams_of(knowledgebase, services))) {
    totals.add(stream->numbers().totals());
  }
  return {{"generation", answer.generation},
          {"files", totals.files},
          {"newest_arrival",
           totals.last_landed.empty() ? json::value() : json::value(totals.last_landed)}};
}

/// The rows on their way, with what stands around them.
class AnswerBody final : public http::BodySource {
 public:
  /// With `cut_line` a last line ends an answer that fails on its way, besides the connection's
  /// abort: a reader of lines sees it even behind a proxy that hides the abort.
  AnswerBody(std::unique_ptr<duck::RunningQuery> running, std::string before, std::string after,
             bool cut_line)
      : running_(std::move(running)),
        before_(std::move(before)),
        after_(std::move(after)),
        cut_line_(cut_line) {}

  Result<std::optional<std::string>> next() override {
    if (before_) return std::exchange(before_, std::nullopt);
    if (failed_) return *failed_;
    if (running_) {
      auto piece = running_->next();
      if (piece && *piece) return piece;
      if (!piece && !cut_line_) return piece;
      if (!piece) {
        failed_ = piece.error();
        return json::serialize(json::object{{"_strata_error", failed_->message}}) + "\n";
      }
      running_.reset();
    }
    return std::exchange(after_, std::nullopt);
  }

 private:
  std::unique_ptr<duck::RunningQuery> running_;
  std::optional<std::string> before_;
  std::optional<std::string> after_;
  const bool cut_line_;
  std::optional<Error> failed_;
};

Result<http::Response> render(kb::QueryAnswer answer, const Format& format,
                              kb::Knowledgebase& knowledgebase, Services& services) {
  const duck::QueryHead& head = answer.running->head();
  std::string before;
  std::string after;
  if (format.format == duck::ResultFormat::kJson) {
    before = fmt::format(R"({{"columns":{},"rows":[)", json::serialize(render_columns(head)));
    after =
        fmt::format(R"(],"row_count":{},"truncated":{},"read":{}}})", head.row_count,
                    head.truncated, json::serialize(render_read(answer, knowledgebase, services)));
    after += '\n';
  }
  http::Response response;
  response.headers.emplace_back("Content-Type", format.content_type);
  response.headers.emplace_back("Strata-Generation", fmt::format("{}", answer.generation));
  if (head.truncated) response.headers.emplace_back("Strata-Truncated", "true");
  const bool lines = format.format == duck::ResultFormat::kNdjson;
  auto source = std::make_unique<AnswerBody>(std::move(answer.running), std::move(before),
                                             std::move(after), lines);
  while (response.body.size() < kWholeBytesMax) {
    STRATA_ASSIGN_OR_RETURN(const auto piece, source->next());
    if (!piece) return response;
    response.body += *piece;
  }
  response.source = std::move(source);
  return response;
}

Result<http::Response> run(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const Format format, choose_format(request));
  STRATA_ASSIGN_OR_RETURN(const kb::QueryRequest query, read_query(request, format));
  STRATA_ASSIGN_OR_RETURN(kb::QueryAnswer answered, answer(query, *knowledgebase, services));
  return render(std::move(answered), format, *knowledgebase, services);
}

}  // namespace

Result<http::Response> run_query(const http::Request& request, Services& services) {
  auto response = run(request, services);
  services.metrics.count_query(response ? "ok" : wire_name(response.error().code));
  return response;
}

}  // namespace strata::api
