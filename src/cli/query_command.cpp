#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/query_answer.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

// Beyond the query's own deadline, for its answer to arrive.
constexpr std::chrono::seconds kAnswerSlack{30};

struct Format {
  std::string_view name;
  std::string_view media_type;
  bool is_streamed;  // the server's bytes as they come; else the answer is read before it is shown
  bool is_binary;
};
constexpr std::array kFormats = {
    Format{"table", "application/json", false, false},
    Format{"csv", "text/csv", true, false},
    Format{"ndjson", "application/x-ndjson", true, false},
    Format{"json", "application/json", false, false},
    Format{"parquet", "application/vnd.apache.parquet", true, true},
    Format{"arrow", "application/vnd.apache.arrow.stream", true, true},
};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

// Where the answer goes. A file gets its name only when all of the answer is in it: until then an
// older one stays as it was, and a process that dies leaves nothing that looks whole.
class Output {
 public:
  Output(std::ostream& standard, const std::string& path) : standard_(standard), path_(path) {
    std::error_code ignored;
    // A pipe or a device cannot be replaced; a link's target is, not the link.
    const auto canonical = std::filesystem::weakly_canonical(path, ignored);
    target_ = canonical.empty() ? std::filesystem::path(path) : canonical;
    const auto status = std::filesystem::status(target_, ignored);
    if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
      part_ = target_.string() + fmt::format(".part-{}", ::getpid());
    }
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() { discard(); }

  void write(std::string_view bytes) {
    if (path_.empty()) {
      standard_ << bytes;
    } else if (open()) {
      file_ << bytes;
    }
  }

  // kIo: not all of it is where it should be.
  Result<void> finish() {
    if (path_.empty()) {
      standard_ << std::flush;
      return standard_ ? Result<void>() : failed("standard output", errno);
    }
    if (!open()) return failed(path_, reason_);
    file_.close();
    if (!file_) return failed(path_, errno);
    if (part_.empty()) return {};
    std::error_code error;
    std::filesystem::rename(part_, target_, error);
    if (error) return failed(path_, error.value());
    opened_ = false;
    return {};
  }

  // A piece of an answer must not lie there like a whole one.
  void discard() {
    if (!opened_) return;
    opened_ = false;
    file_.close();
    std::error_code ignored;
    if (!part_.empty()) std::filesystem::remove(part_, ignored);
  }

  bool is_file() const { return !path_.empty(); }

 private:
  static Error failed(const std::string& what, int reason) {
    return make_error(Code::kIo,
                      fmt::format("{} cannot be written: {}", what, std::strerror(reason)));
  }
  bool open() {
    if (!opened_ && reason_ == 0) {
      file_.open(part_.empty() ? target_ : part_, std::ios::binary | std::ios::trunc);
      opened_ = file_.is_open();
      if (!opened_) reason_ = errno;
    }
    return opened_;
  }

  std::ostream& standard_;
  const std::string path_;
  std::filesystem::path target_;
  std::filesystem::path part_;  // empty: written in place
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
  // The command line has been checked.
  const Format& chosen() const { return *std::ranges::find(kFormats, format, &Format::name); }
  http::ClientRequest request(const Endpoint& endpoint) const;
  std::chrono::milliseconds answer_timeout() const;
  ExitCode whole(CommandContext& context, http::Client& client, const Endpoint& endpoint,
                 Output& output) const;
  ExitCode streamed(CommandContext& context, http::Client& client, const Endpoint& endpoint,
                    Output& output) const;
  ExitCode end(CommandContext& context, bool cut, Output& output) const;
};

ExitCode report_cut(CommandContext& context, bool written) {
  complain(context,
           fmt::format("the answer is cut: it is not whole{}. Ask for less, or for more rows with "
                       "--max-rows (at most {})",
                       written ? "" : ", so nothing was written", limits::kQueryRowsCeiling));
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
  sent.headers.emplace_back("Content-Type", "application/json");
  sent.headers.emplace_back("Accept", chosen().media_type);
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
  return end(context, answer->truncated || response->header("Strata-Truncated").has_value(),
             output);
}

// The server's bytes as they come.
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
    return report_broken_off(context, response.error().message);
  }
  if (response->status != 200) return report_refused(context, *response);
  if (format == "ndjson" && last_line.tells_failure()) {
    return report_broken_off(context, last_line.head());
  }
  return end(context, response->header("Strata-Truncated").has_value(), output);
}

// A file that is cut although nobody asked for a cut would be taken for a whole one later.
ExitCode QueryCommand::end(CommandContext& context, bool cut, Output& output) const {
  if (cut && output.is_file() && max_rows == 0) return report_cut(context, false);
  if (auto done = output.finish(); !done) return report_usage(context, done.error());
  return cut ? report_cut(context, true) : ExitCode::kDone;
}

ExitCode QueryCommand::run(CommandContext& context) {
  if (chosen().is_binary && output_file.empty() && context.out_is_terminal) {
    return report_usage(
        context,
        make_error(Code::kBadRequest, fmt::format("--format {} is not for a terminal: name a file "
                                                  "with -o, or send it to a pipe",
                                                  format)));
  }
  const auto endpoint = resolve_endpoint(context, connection);
  if (!endpoint) return report_usage(context, endpoint.error());
  auto client = context.connect(endpoint->url, answer_timeout());
  if (!client) return report_usage(context, client.error());
  Output output(*context.out, output_file);
  if (chosen().is_streamed) return streamed(context, **client, *endpoint, output);
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
  command
      ->add_option("--format", fields->format,
                   "table (the default), csv, ndjson, json, parquet or arrow (an IPC stream)")
      ->check(CLI::IsMember(format_names()));
  command
      ->add_option("-o,--output", fields->output_file,
                   "write the answer there, if all of it arrives")
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
