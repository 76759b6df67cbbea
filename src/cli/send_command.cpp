#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <expected>
#include <filesystem>
#include <ostream>
#include <utility>

#include "base/cells.h"
#include "cli/batch_ids.h"
#include "cli/chunker.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/send.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

constexpr int kConnectionsMax = 16;
constexpr std::uint64_t kBatchRowsMax = 1'000'000'000;  // a batch of so many fits no limit

struct SendCommand final : Command {
  ConnectionOptions connection;
  std::string kb;
  std::string stream;
  std::string file = "-";
  std::string format;
  std::string run_name;
  std::uint64_t batch_rows = 0;  // 0: by bytes
  std::uint32_t parallel = 4;

  ExitCode run(CommandContext& context) override;

 private:
  using Clients = std::vector<std::unique_ptr<http::Client>>;

  InputFormat input_format() const;
  std::optional<std::uint64_t> rows_per_batch() const;
  Result<SendPlan> survey(InputFile& input) const;
  ExitCode send(CommandContext& context, const Endpoint& endpoint, const SendPlan& plan,
                InputFile& input) const;
};

// The reader knows lines, not files.
Error in_file(const InputFile& input, Error error) {
  if (error.code == Code::kBadRequest) error.message = input.name() + ", " + error.message;
  return error;
}

void report_refusals(CommandContext& context, const Tally& tally) {
  for (const auto& [number, refusal] : tally.refusals) {
    const Problem& problem = refusal.problem;
    const std::string& why = problem.detail.empty() ? problem.title : problem.detail;
    complain(context, fmt::format("batch {} refused: {}", refusal.batch_id, printable_lines(why)));
    const std::size_t shown = std::min(problem.errors.size(), kLineErrorsShown);
    for (std::size_t index = 0; index < shown; ++index) {
      *context.err << "  " << describe(problem.errors[index]) << '\n';
    }
    if (shown > 0 && problem.error_count > shown) {
      *context.err << "  and " << problem.error_count - shown << " more\n";
    }
  }
  const std::uint64_t unseen = tally.batches_refused - tally.refusals.size();
  if (unseen > 0) complain(context, fmt::format("and {} refused", counted(unseen, "more batch")));
}

// Why sending stopped, if it did, and the exit code of it all.
ExitCode report_end(CommandContext& context, const std::string& url, const Tally& tally) {
  if (tally.broken || tally.gave_up) {
    ExitCode code = ExitCode::kRefused;
    if (tally.broken) {
      code = report_usage(context, *tally.broken);
    } else if (!tally.gave_up->response) {
      code = report_out_of_reach(context, url, tally.gave_up->error);
    } else {
      complain(context, fmt::format("gave up after {} tries: {}", RetryPolicy{}.tries_max,
                                    describe(read_problem(*tally.gave_up->response))));
    }
    complain(
        context,
        "running the same command again is safe: what has landed is replayed, not added twice");
    return code;
  }
  if (tally.turned_away) {
    complain(context, describe(*tally.turned_away));
    return ExitCode::kRefused;
  }
  return tally.batches_refused > 0 ? ExitCode::kRefused : ExitCode::kDone;
}

void print_summary(CommandContext& context, const Tally& tally, std::uint64_t chunks,
                   std::chrono::duration<double> took) {
  std::string line = fmt::format(
      "{} landed in {}, {} replayed ({}), {} refused", counted(tally.rows_landed, "row"),
      counted(tally.batches_landed, "batch"), counted(tally.batches_replayed, "batch"),
      counted(tally.rows_replayed, "row"), counted(tally.batches_refused, "batch"));
  if (chunks > tally.batches_done()) {
    line += fmt::format(", {} without an answer", counted(chunks - tally.batches_done(), "batch"));
  }
  *context.out << line << fmt::format(", {:.2f} s\n", took.count()) << std::flush;
}

// After the last pass: what was read then must be what the ids stand for.
ExitCode check_unchanged(CommandContext& context, InputFile& input, const Digest& digest) {
  if (input.finish_pass() != digest) {
    complain(context,
             fmt::format("{} changed while it was being sent: what landed is neither the old file "
                         "nor the new one, and sending the new one adds its rows again; send files "
                         "that nobody writes to any more",
                         input.name()));
    return ExitCode::kUsage;
  }
  if (input.grew()) {
    complain(context, fmt::format("{} grew while it was being sent: what comes after its first {} "
                                  "bytes was not sent",
                                  input.name(), input.bytes()));
  }
  return ExitCode::kDone;
}

InputFormat SendCommand::input_format() const {
  if (!format.empty()) return format == "csv" ? InputFormat::kCsv : InputFormat::kNdjson;
  const std::string extension = std::filesystem::path(file).extension().string();
  return ascii_lower(extension) == ".csv" ? InputFormat::kCsv : InputFormat::kNdjson;
}

std::optional<std::uint64_t> SendCommand::rows_per_batch() const {
  if (batch_rows == 0) return std::nullopt;
  return batch_rows;
}

// The first pass: reads all of it, so that a file that is not what it claims to be sends nothing.
Result<SendPlan> SendCommand::survey(InputFile& input) const {
  const auto reader = RecordReader::create(input_format(), input);
  Chunker chunker(*reader, rows_per_batch());
  SendPlan plan;
  for (;;) {
    auto chunk = chunker.next();
    if (!chunk) return in_file(input, std::move(chunk).error());
    if (!*chunk) break;
    ++plan.chunks;
    plan.records += (*chunk)->lines.size();
  }
  plan.file_digest = input.finish_pass();
  plan.id_prefix = batch_id_prefix(
      {.file_digest = plan.file_digest, .run = run_name, .batch_rows = rows_per_batch()});
  plan.target = strata_path(kb, "/ingest/" + http::percent_encode(stream));
  return plan;
}

// The second pass.
ExitCode SendCommand::send(CommandContext& context, const Endpoint& endpoint, const SendPlan& plan,
                           InputFile& input) const {
  std::vector<std::unique_ptr<http::Client>> clients;
  while (clients.size() < std::min<std::uint64_t>(parallel, plan.chunks)) {
    auto client = context.connect(endpoint.url, kAnswerTimeout);
    if (!client) return report_usage(context, client.error());
    clients.push_back(std::move(*client));
  }
  if (auto rewound = input.rewind(); !rewound) return report_usage(context, rewound.error());
  if (plan.chunks > 1) {
    complain(context, fmt::format("{} in {}; several batches are not one transaction: each lands "
                                  "by itself",
                                  counted(plan.records, "row"), counted(plan.chunks, "batch")));
  }
  const SteadyTime started_at = context.clock->steady();
  const auto reader = RecordReader::create(input_format(), input);
  Chunker chunker(*reader, rows_per_batch());
  const Tally tally = Sender(context, plan).send(chunker, clients);
  const auto took = context.clock->steady() - started_at;
  report_refusals(context, tally);
  ExitCode code = report_end(context, endpoint.url, tally);
  if (code == ExitCode::kDone || tally.batches_done() == plan.chunks) {
    const ExitCode unchanged = check_unchanged(context, input, plan.file_digest);
    if (unchanged != ExitCode::kDone) code = unchanged;
  }
  print_summary(context, tally, plan.chunks, took);
  return code;
}

ExitCode SendCommand::run(CommandContext& context) {
  if (auto legal = check_run_name(run_name); !legal) return report_usage(context, legal.error());
  const auto endpoint = resolve_endpoint(context, connection);
  if (!endpoint) return report_usage(context, endpoint.error());
  if (file == "-" && context.in_is_terminal) {
    complain(context, "reading records from the terminal; Ctrl-D ends them");
  }
  auto input = InputFile::open(file, context.in);
  if (!input) return report_usage(context, input.error());
  auto plan = survey(*input);
  if (!plan) return report_usage(context, plan.error());
  if (plan->chunks == 0) {
    *context.out << "no record in " << input->name() << ": nothing was sent\n";
    return ExitCode::kDone;
  }
  plan->identity = endpoint->identity;
  return send(context, *endpoint, *plan, *input);
}

}  // namespace

void add_send_command(CLI::App& app, CommandContext& context) {
  const auto [command, fields] =
      add_command<SendCommand>(app, context, "send", "Send the records of a file to a receiver",
                               "strata send demo weather seattle-weather.csv");
  command->add_option("KB", fields->kb, "the knowledgebase")->required();
  command->add_option("STREAM", fields->stream, "the receiver")->required();
  command->add_option("FILE", fields->file, "the file; - or nothing: standard input")
      ->type_name("PATH");
  command->add_option("--format", fields->format, "default: csv for a file named .csv, else ndjson")
      ->check(CLI::IsMember({"ndjson", "csv"}));
  command
      ->add_option("--run", fields->run_name, "send the same file once more, under ids of its own")
      ->type_name("NAME");
  command
      ->add_option("--batch-rows", fields->batch_rows,
                   "close a batch after N rows, not at 524,288 bytes; other ids")
      ->check(CLI::Range(std::uint64_t{1}, kBatchRowsMax))
      ->type_name("N");
  command->add_option("--parallel", fields->parallel, "connections at once (4)")
      ->check(CLI::Range(1, kConnectionsMax))
      ->type_name("N");
  add_connection_options(*command, fields->connection);
  command->footer(
      "NDJSON: one JSON object per line. CSV: header row = keys, every cell text.\n"
      "A second run of the same file adds nothing: a batch's id is\n"
      "<first 16 hex digits of the file's SHA-256>-<batch number>. With --run NAME or\n"
      "--batch-rows N the digits are those of the SHA-256 of \"NAME\", a newline, then\n"
      "\"batch-rows N\" and a newline if given, then the file's SHA-256 in hex.\n"
      "Several batches are not one transaction: each lands by itself.\n"
      "Exit code: 0 all landed or replayed, 1 something was refused, 2 wrong usage or a file\n"
      "that cannot be read, 3 no server.\n\n"
      "Example:\n  strata send demo weather seattle-weather.csv");
}

}  // namespace strata::cli
