#include "kb/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/accept.h"
#include "api/handlers.h"
#include "api/json.h"
#include "api/problem.h"
#include "api/query_streams.h"
#include "api/tables.h"
#include "base/cells.h"
#include "base/limits.h"
#include "base/whole_number.h"
#include "duck/worker_error.h"
#include "ontology/settle.h"

namespace strata::api {
namespace {

namespace json = boost::json;

/// Answers up to this size are sent whole, with a length and with a true status if they fail late.
constexpr std::size_t kWholeBytesMax = 1024 * 1024;

struct Format {
  std::string_view content_type;
  duck::ResultFormat format;
};
/// In the order of preference; one array's indices are the other's.
constexpr std::string_view kMediaTypes[] = {"application/json", "application/x-ndjson", "text/csv",
                                            "application/vnd.apache.parquet",
                                            "application/vnd.apache.arrow.stream"};
constexpr Format kFormats[] = {
    {"application/json", duck::ResultFormat::kJson},
    {"application/x-ndjson", duck::ResultFormat::kNdjson},
    {"text/csv; charset=utf-8; header=present", duck::ResultFormat::kCsv},
    {"application/vnd.apache.parquet", duck::ResultFormat::kParquet},
    {"application/vnd.apache.arrow.stream", duck::ResultFormat::kArrow},
};

/// What Accept wants most; none sent means JSON.
Result<Format> choose_format(const http::Request& request) {
  const auto accept = request.header("Accept");
  if (!accept) return kFormats[0];
  if (const auto chosen = choose_media_type(*accept, kMediaTypes)) return kFormats[*chosen];
  return make_error(Code::kNotAcceptable,
                    fmt::format("A query does not answer in this format; ask for one of {} "
                                "(Accept).",
                                fmt::join(kMediaTypes, ", ")));
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
    const auto number = parse_whole_number(value);
    if ((name != "max_rows" && name != "timeout_ms") || !number) {
      return make_error(
          Code::kBadRequest,
          "A query's address takes sql, and the whole numbers max_rows and timeout_ms.");
    }
    body[name] = *number;
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

/// With what `_strata_manifest` holds now, if the statement may name it.
Result<void> add_manifest(kb::QueryRequest& query, kb::Knowledgebase& knowledgebase,
                          Services& services) {
  if (ascii_lower(query.sql).find(duck::kManifestTable) == std::string::npos) return {};
  STRATA_ASSIGN_OR_RETURN(const auto tables, tables_of(knowledgebase, services));
  for (const auto& [row, stream] : tables) {
    query.manifest.push_back({row.table, row.source, row.rows, row.state});
  }
  return {};
}

bool names_ontology(const kb::QueryRequest& query) {
  return ascii_lower(query.sql).contains("ontology");
}

/// The views of the data model of a kb that was moved are over the folder it had before.
Result<void> relocate_ontology(kb::Knowledgebase& knowledgebase) {
  auto settled = ontology::settle(knowledgebase, limits::kFirstViewWait);
  if (settled) return {};
  return make_error(Code::kBusy,
                    "The views of the data model are not made again yet in the folder that this "
                    "knowledgebase was moved to; send the query again in a moment.",
                    fmt::format("{} [{}]", settled.error().message, settled.error().detail));
}

Result<kb::QueryAnswer> answer(const kb::QueryRequest& query, kb::Knowledgebase& knowledgebase,
                               QueryStreams& streams, Services& services) {
  streams.see_to_views();
  bool settled = false;
  while (true) {  // a statement may miss several tables, and is told of one at a time
    auto answered = kb::run_query(services.workers, knowledgebase, query);
    if (!answered && duck::leads_outside(answered.error())) {
      if (!std::exchange(settled, true) && names_ontology(query)) {
        STRATA_RETURN_IF_ERROR(relocate_ontology(knowledgebase));
        continue;
      }
      return streams.see_to_stale(std::move(answered).error());
    }
    if (answered || answered.error().code != Code::kUnknownTable) return answered;
    const Error& unknown = answered.error();
    STRATA_RETURN_IF_ERROR(streams.see_to_missing(unknown, unknown.detail));
  }
}

json::array render_columns(const duck::QueryHead& head) {
  json::array columns;
  for (const duck::ResultColumn& column : head.columns) {
    columns.push_back(json::object{{"name", column.name}, {"type", column.type}});
  }
  return columns;
}

/// What was read: how many files of the streams the statement names, and their newest arrival.
json::object render_read(const kb::QueryAnswer& answer, const QueryStreams& streams) {
  const stream::Totals totals = streams.held(answer.running->head().tables);
  return {{"generation", answer.generation},
          {"files", totals.files},
          {"newest_arrival",
           totals.last_landed.empty() ? json::value() : json::value(totals.last_landed)}};
}

/// The rows on their way, with what stands around them. Counts the query when it is over, however
/// it ends.
class AnswerBody final : public http::BodySource {
 public:
  struct Around {
    std::string before;
    std::string after;
    /// A last line ends an answer that fails on its way, besides the connection's abort: a reader
    /// of lines sees it even behind a proxy that hides the abort.
    bool cut_line = false;
  };
  AnswerBody(std::unique_ptr<duck::RunningQuery> running, Around around, Metrics& metrics)
      : running_(std::move(running)),
        before_(std::move(around.before)),
        after_(std::move(around.after)),
        cut_line_(around.cut_line),
        metrics_(metrics) {}
  AnswerBody(const AnswerBody&) = delete;
  AnswerBody& operator=(const AnswerBody&) = delete;
  ~AnswerBody() override { metrics_.count_query(result_); }

  Result<std::optional<std::string>> next() override {
    if (before_) return std::exchange(before_, std::nullopt);
    if (failed_) return *failed_;
    if (running_) {
      auto piece = running_->next();
      if (piece && *piece) {
        in_line_ = !(*piece)->ends_with('\n');
        return piece;
      }
      if (!piece) return cut(piece.error());
      running_.reset();
    }
    result_ = "ok";
    if (after_ && after_->empty()) after_.reset();  // no piece, and no chunk of length 0
    return std::exchange(after_, std::nullopt);
  }

 private:
  Result<std::optional<std::string>> cut(const Error& error) {
    result_ = wire_name(error.code);
    failed_ = error;
    if (!cut_line_) return error;
    // Pieces end anywhere: what came of the row before is a line of its own.
    return fmt::format("{}{}\n", in_line_ ? "\n" : "",
                       json::serialize(json::object{{"_strata_error", error.message}}));
  }

  std::unique_ptr<duck::RunningQuery> running_;
  std::optional<std::string> before_;
  std::optional<std::string> after_;
  const bool cut_line_;
  Metrics& metrics_;
  std::string_view result_ = "cancelled";  // nobody read it to its end
  std::optional<Error> failed_;
  bool in_line_ = false;  // the last piece ended within a line
};

Result<http::Response> render(kb::QueryAnswer answer, const Format& format,
                              const QueryStreams& streams, Services& services) {
  const duck::QueryHead& head = answer.running->head();
  AnswerBody::Around around{.cut_line = format.format == duck::ResultFormat::kNdjson};
  if (format.format == duck::ResultFormat::kJson) {
    around.before =
        fmt::format(R"({{"columns":{},"rows":[)", json::serialize(render_columns(head)));
    around.after = fmt::format(R"(],"row_count":{},"truncated":{},"read":{}}})", head.row_count,
                               head.truncated, json::serialize(render_read(answer, streams)));
    around.after += '\n';
  }
  http::Response response;
  response.headers.emplace_back("Content-Type", format.content_type);
  response.headers.emplace_back("Strata-Generation", fmt::format("{}", answer.generation));
  if (head.truncated) response.headers.emplace_back("Strata-Truncated", "true");
  auto source =
      std::make_unique<AnswerBody>(std::move(answer.running), std::move(around), services.metrics);
  while (response.body.size() < kWholeBytesMax) {
    STRATA_ASSIGN_OR_RETURN(const auto piece, source->next());
    if (!piece) return response;
    response.body += *piece;
  }
  response.source = std::move(source);
  return response;
}

/// A query that has waited for a thread as long as it may run is refused at once: it would be run
/// for a client that has given up, and hold up the next one.
Result<void> refuse_late(const http::Request& request, std::chrono::milliseconds timeout,
                         const Services& services) {
  if (services.clock.wall() - request.arrived_at < timeout) return {};
  return make_error(Code::kBusy,
                    fmt::format("No worker became free within the query's {} ms: send it again.",
                                timeout.count()));
}

Result<kb::QueryAnswer> run(const http::Request& request, const Format& format,
                            std::optional<QueryStreams>& streams, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(kb::QueryRequest query, read_query(request, format));
  STRATA_RETURN_IF_ERROR(refuse_late(request, query.timeout, services));
  STRATA_RETURN_IF_ERROR(add_manifest(query, *knowledgebase, services));
  streams.emplace(query.sql, *knowledgebase, services);
  return answer(query, *knowledgebase, *streams, services);
}

}  // namespace

Result<http::Response> run_query(const http::Request& request, Services& services) {
  const auto format = choose_format(request);
  std::optional<QueryStreams> streams;
  auto answered =
      format ? run(request, *format, streams, services) : Result<kb::QueryAnswer>(format.error());
  if (!answered) {
    services.metrics.count_query(wire_name(answered.error().code));
    if (streams) streams->note(answered.error());
    return answered.error();
  }
  // From here on the answer's body counts.
  auto rendered = render(std::move(answered).value(), *format, *streams, services);
  if (!rendered) streams->note(rendered.error());
  return rendered;
}

}  // namespace strata::api
