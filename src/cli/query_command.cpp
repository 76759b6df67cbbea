#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "base/limits.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/query_answer.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

// Beyond the query's own deadline, for its answer to arrive.
constexpr std::chrono::seconds kAnswerSlack{30};

// Where the answer goes. A file is opened at the first byte, so that a refused query leaves an
// older file as it was.
class Output {
 public:
  Output(std::ostream& standard, const std::string& path) : standard_(standard), path_(path) {}

  void write(std::string_view bytes) {
    if (path_.empty()) {
      standard_ << bytes;
    } else if (open()) {
      file_ << bytes;
    }
  }

  // kIo: not all of it is where it should be.
  Result<void> finish() {
    std::ostream& stream = path_.empty() ? standard_ : file_;
    if (!path_.empty() && open()) file_.close();
    if (path_.empty()) standard_ << std::flush;
    if (stream) return {};
    return make_error(Code::kIo, fmt::format("{} cannot be written: {}",
                                             path_.empty() ? "standard output" : path_,
                                             std::strerror(reason_ != 0 ? reason_ : errno)));
  }

  // A piece of an answer must not lie there like a whole one.
  void discard() {
    if (!opened_) return;
    file_.close();
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  bool open() {
    if (!opened_ && reason_ == 0) {
      file_.open(path_, std::ios::binary | std::ios::trunc);
      opened_ = file_.is_open();
      if (!opened_) reason_ = errno;
    }
    return opened_;
  }

  std::ostream& standard_;
  std::string path_;
  std::ofstream file_;
  bool opened_ = false;
  int reason_ = 0;
};

// Remembers how the last line of a stream begins: there NDJSON tells a late failure.
class LastLine {
 public:
  void take(std::string_view bytes) {
    const std::size_t end = bytes.find_last_not_of('\n');
    if (end == std::string_view::npos) {
      ended_ = ended_ || !bytes.empty();
      return;
    }
    const std::size_t newline = bytes.rfind('\n', end);
    if (newline != std::string_view::npos) {
      head_.clear();
      bytes.remove_prefix(newline + 1);
    } else if (ended_) {
      head_.clear();
    }
    ended_ = bytes.back() == '\n';
    constexpr std::size_t kHeadBytes = 4096;
    head_ += bytes.substr(0, kHeadBytes - std::min(head_.size(), kHeadBytes));
  }
  bool tells_failure() const { return head_.starts_with(R"({"_strata_error")"); }
  const std::string& head() const { return head_; }

 private:
  std::string head_;
  bool ended_ = false;
};

struct QueryCommand final : Command {
  ConnectionOptions connection;
  std::string kb;
  std::string sql;
  std::string format = "table";
  std::string output_file;
  std::uint64_t max_rows = 0;         // 0: the server's default
  std::uint64_t timeout_seconds = 0;  // 0: the server's default

  ExitCode run(CommandContext& context) override;

 private:
  http::ClientRequest request(const Endpoint& endpoint) const;
  std::chrono::milliseconds answer_timeout() const;
  ExitCode whole(CommandContext& context, http::Client& client, const Endpoint& endpoint,
                 Output& output) const;
  ExitCode streamed(CommandContext& context, http::Client& client, const Endpoint& endpoint,
                    Output& output) const;
};

ExitCode report_cut(CommandContext& context) {
  complain(context,
           fmt::format("the answer is cut: it is not whole. Ask for less, or for more rows with "
                       "--max-rows (at most {})",
                       limits::kQueryRowsCeiling));
  return ExitCode::kRefused;
}

ExitCode report_broken_off(CommandContext& context, const std::string& reason) {
  complain(context, "the answer broke off: it is not whole: " + printable(reason));
  return ExitCode::kRefused;
}

http::ClientRequest QueryCommand::request(const Endpoint& endpoint) const {
  boost::json::object body{{"sql", sql}};
  if (max_rows > 0) body["max_rows"] = max_rows;
  if (timeout_seconds > 0) body["timeout_ms"] = timeout_seconds * 1000;
  http::ClientRequest sent{.method = "POST",
                           .target = strata_path(kb, "/query"),
                           .headers = endpoint.identity,
                           .body = boost::json::serialize(body)};
  const std::string accept = format == "csv"      ? "text/csv"
                             : format == "ndjson" ? "application/x-ndjson"
                                                  : "application/json";
  sent.headers.emplace_back("Content-Type", "application/json");
  sent.headers.emplace_back("Accept", accept);
  return sent;
}

std::chrono::milliseconds QueryCommand::answer_timeout() const {
  const auto asked = timeout_seconds > 0 ? std::chrono::milliseconds(timeout_seconds * 1000)
                                         : limits::kQueryTimeoutDefault;
  return asked + kAnswerSlack;
}

// table and json: the answer itself says whether it is cut, so it is read before it is shown.
ExitCode QueryCommand::whole(CommandContext& context, http::Client& client,
                             const Endpoint& endpoint, Output& output) const {
  auto response = client.send(request(endpoint));
  if (!response) return report_out_of_reach(context, endpoint.url, response.error());
  if (response->status != 200) return report_refused(context, *response);
  const auto answer = parse_query_answer(response->body);
  if (!answer) return report_broken_off(context, answer.error().message);
  if (format == "json") {
    output.write(response->body);
    if (!response->body.ends_with('\n')) output.write("\n");
  } else {
    output.write(render_table(answer->table));
    output.write(fmt::format("({}{})\n", counted(answer->table.rows.size(), "row"),
                             answer->truncated ? ", cut: there are more" : ""));
  }
  if (auto done = output.finish(); !done) return report_usage(context, done.error());
  const bool cut = answer->truncated || response->header("Strata-Truncated").has_value();
  return cut ? report_cut(context) : ExitCode::kDone;
}

// csv and ndjson: the server's bytes as they come.
ExitCode QueryCommand::streamed(CommandContext& context, http::Client& client,
                                const Endpoint& endpoint, Output& output) const {
  LastLine last_line;
  bool began = false;
  auto response = client.send_streaming(request(endpoint),
                                        [&output, &last_line, &began](std::string_view part) {
                                          began = began || !part.empty();
                                          output.write(part);
                                          last_line.take(part);
                                        });
  if (!response && !began) return report_out_of_reach(context, endpoint.url, response.error());
  if (!response) {
    output.discard();
    return report_broken_off(context, response.error().message);
  }
  if (response->status != 200) return report_refused(context, *response);
  if (format == "ndjson" && last_line.tells_failure()) {
    output.discard();
    return report_broken_off(context, last_line.head());
  }
  if (auto done = output.finish(); !done) return report_usage(context, done.error());
  const bool cut = response->header("Strata-Truncated").has_value();
  return cut ? report_cut(context) : ExitCode::kDone;
}

ExitCode QueryCommand::run(CommandContext& context) {
  const auto endpoint = resolve_endpoint(context, connection);
  if (!endpoint) return report_usage(context, endpoint.error());
  auto client = context.connect(endpoint->url, answer_timeout());
  if (!client) return report_usage(context, client.error());
  Output output(*context.out, output_file);
  if (format == "csv" || format == "ndjson") return streamed(context, **client, *endpoint, output);
  return whole(context, **client, *endpoint, output);
}

}  // namespace

void add_query_command(CLI::App& app, CommandContext& context) {
  const auto [command, fields] =
      add_command<QueryCommand>(app, context, "query", "Run one SELECT",
                                "strata query demo 'SELECT count(*) AS rows FROM "
                                "raw_extracted.stream_weather'");
  command->add_option("KB", fields->kb, "the knowledgebase")->required();
  command->add_option("SQL", fields->sql, "the statement")->required();
  command->add_option("--format", fields->format, "table (the default), csv, ndjson or json")
      ->check(CLI::IsMember({"table", "csv", "ndjson", "json"}));
  command->add_option("-o,--output", fields->output_file, "write the answer there")
      ->type_name("FILE");
  command->add_option("--max-rows", fields->max_rows, "cut the answer after N rows (10,000)")
      ->check(CLI::Range(std::uint64_t{1}, limits::kQueryRowsCeiling))
      ->type_name("N");
  command->add_option("--timeout", fields->timeout_seconds, "give up after N seconds (10)")
      ->check(CLI::Range(1, 60))
      ->type_name("N");
  add_connection_options(*command, fields->connection);
}

}  // namespace strata::cli
