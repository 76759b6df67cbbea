#include "cli/send.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <ostream>
#include <random>
#include <thread>
#include <utility>

#include "cli/batch_ids.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

// Whether an answer speaks of this batch alone, so that others may fare better.
bool is_about_the_batch(int status) {
  constexpr std::array kOfTheBatch{400, 413, 422};
  return std::find(kOfTheBatch.begin(), kOfTheBatch.end(), status) != kOfTheBatch.end();
}

// A refused batch's detail begins with its first error, by the line of the body; errors are shown
// by the lines of the file, so that one goes and what else the detail says stays.
void drop_repeated_error(Problem& problem) {
  if (problem.errors.empty()) return;
  const Problem::LineError& first = problem.errors.front();
  const std::string repeated = fmt::format("line {}: {}", first.line, first.reason);
  if (!problem.detail.starts_with(repeated)) return;
  problem.detail.erase(0, repeated.size());
  problem.detail.erase(0, problem.detail.find_first_not_of(' '));
}

}  // namespace

Sender::Sender(CommandContext& context, const SendPlan& plan)
    : context_(context),
      plan_(plan),
      progress_(context.err_is_terminal ? context.err : nullptr, *context.clock, plan.records) {}

Tally Sender::send(Chunker& chunker, const std::vector<std::unique_ptr<http::Client>>& clients) {
  queue_.emplace(clients.size());
  {
    std::vector<std::jthread> threads;
    threads.reserve(clients.size());
    for (const auto& client : clients) {
      threads.emplace_back([this, borrowed = client.get()] { work(*borrowed); });
    }
    const CloseOnExit close(*queue_);  // before the threads are joined, whatever happens
    produce(chunker);
  }
  progress_.clear();
  return std::move(tally_);
}

void Sender::produce(Chunker& chunker) {
  for (;;) {
    auto chunk = chunker.next();
    if (!chunk) {
      const std::lock_guard lock(mutex_);
      tally_.broken = std::move(chunk).error();
      stop();
      return;
    }
    if (!*chunk || !queue_->push(std::move(**chunk))) return;
  }
}

void Sender::work(http::Client& client) {
  std::minstd_rand random{std::random_device{}()};
  std::uniform_real_distribution<double> chance(0.0, 1.0);
  const Courier::Hooks hooks{.sleep = context_.sleep,
                             .chance = [&random, &chance] { return chance(random); },
                             .on_retry = [this](const std::string& reason) { tell_retry(reason); }};
  Courier courier(client, RetryPolicy{}, hooks, cancelled_);
  try {
    while (auto chunk = queue_->pop()) {
      http::ClientRequest request{.method = "POST",
                                  .target = plan_.target,
                                  .headers = plan_.identity,
                                  .body = std::move(chunk->body)};
      request.headers.emplace_back("Content-Type", "application/x-ndjson");
      request.headers.emplace_back("Idempotency-Key", batch_id(plan_.id_prefix, chunk->number));
      record(*chunk, courier.deliver(request));
    }
  } catch (const std::exception& failure) {  // the task boundary: memory, most likely
    const std::lock_guard lock(mutex_);
    tally_.broken = make_error(Code::kInternal, "sending broke off on this side", failure.what());
    stop();
  }
}

void Sender::record(const Chunk& chunk, Delivery delivery) {
  const std::lock_guard lock(mutex_);
  switch (delivery.kind) {
    case Delivery::Kind::kLanded:
      ++tally_.batches_landed;
      tally_.rows_landed += delivery.rows;
      break;
    case Delivery::Kind::kReplayed:
      ++tally_.batches_replayed;
      tally_.rows_replayed += delivery.rows;
      break;
    case Delivery::Kind::kRefused:
      record_refusal(chunk, *delivery.response);
      break;
    case Delivery::Kind::kGaveUp:
      if (!tally_.gave_up) tally_.gave_up = std::move(delivery);
      stop();
      break;
    case Delivery::Kind::kCancelled:
      break;
  }
  progress_.show(tally_.rows_done());
}

void Sender::record_refusal(const Chunk& chunk, const http::ClientResponse& response) {
  Problem problem = read_problem(response);
  if (!is_about_the_batch(response.status)) {
    if (!tally_.turned_away) tally_.turned_away = std::move(problem);
    stop();
    return;
  }
  ++tally_.batches_refused;
  tally_.rows_refused += chunk.lines.size();
  drop_repeated_error(problem);
  for (Problem::LineError& error : problem.errors) {
    // A line of the batch's body is a record; the file has blank lines and rows of several lines.
    if (error.line >= 1 && error.line <= chunk.lines.size()) {
      error.line = chunk.lines[error.line - 1];
    }
  }
  tally_.refusals.emplace(chunk.number, Refusal{.batch_id = batch_id(plan_.id_prefix, chunk.number),
                                                .problem = std::move(problem)});
  if (tally_.refusals.size() > kRefusedBatchesShown) {
    tally_.refusals.erase(std::prev(tally_.refusals.end()));
  }
}

void Sender::tell_retry(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(retry_told_, true)) return;
  progress_.clear();
  *context_.err << "strata: trying again with the same ids: " << printable_lines(reason) << '\n'
                << std::flush;
}

void Sender::stop() {
  cancelled_.store(true);
  queue_->abandon();
}

}  // namespace strata::cli
