#include "kb/query.h"

#include <fmt/format.h>

#include <algorithm>
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

Result<kb::QueryRequest> read_query(const http::Request& request, const Format& format) {
  kb::QueryRequest query;
  query.format = format.format;
  json::object body;
  if (request.method == "POST") {
    STRATA_ASSIGN_OR_RETURN(body, read_json_body(request, {"sql", "max_rows", "timeout_ms"}));
    const json::value* sql = body.if_contains("sql");
    if (sql != nullptr && sql->is_string()) query.sql = sql->as_string().c_str();
  } else if (const auto sql = request.query.find("sql"); sql != request.query.end()) {
    query.sql = sql->second;
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
  const auto named = streams_named(query.sql, streams);
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
  AnswerBody(std::unique_ptr<duck::RunningQuery> running, std::string before, std::string after)
      : running_(std::move(running)), before_(std::move(before)), after_(std::move(after)) {}

  Result<std::optional<std::string>> next() override {
    if (before_) return std::exchange(before_, std::nullopt);
    if (running_) {
      auto piece = running_->next();
      if (!piece || *piece) return piece;
      running_.reset();
    }
    return std::exchange(after_, std::nullopt);
  }

 private:
  std::unique_ptr<duck::RunningQuery> running_;
  std::optional<std::string> before_;
  std::optional<std::string> after_;
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
  auto source =
      std::make_unique<AnswerBody>(std::move(answer.running), std::move(before), std::move(after));
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
