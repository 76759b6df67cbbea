#include "stream/stream.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "io/kill_point.h"
#include "io/numbered.h"

namespace strata::stream {
namespace {

constexpr std::string_view kSuffix = ".json";

}  // namespace

std::string_view view_state_name(ViewState state) {
  switch (state) {
    case ViewState::kDeferred:
      return "deferred";
    case ViewState::kReady:
      return "ready";
    case ViewState::kError:
      return "error";
  }
  return "error";
}

Stream::Stream(const StreamServices& services, kb::Knowledgebase& knowledgebase, StreamId id)
    : services_(services), knowledgebase_(knowledgebase), id_(std::move(id)), facts_(services.fs) {}

Result<std::unique_ptr<Stream>> Stream::open(const StreamServices& services,
                                             kb::Knowledgebase& knowledgebase, const StreamId& id) {
  auto stream = std::make_unique<Stream>(services, knowledgebase, id);
  STRATA_RETURN_IF_ERROR(stream->open_parts(knowledgebase.streams().path() + "/" + id.str()));
  return stream;
}

Result<void> Stream::open_parts(const std::string& folder) {
  io::FileSystem& fs = services_.fs;
  STRATA_ASSIGN_OR_RETURN(const auto made,
                          io::ensure_directory(fs, {knowledgebase_.streams(), id_.str()}));
  kb::Root& root = services_.root;
  STRATA_ASSIGN_OR_RETURN(
      publisher_,
      io::Publisher::open(fs, facts_, ledger_,
                          {.stream_folder = folder,
                           .process = root.process(),
                           .degrade = [&root](const std::string& reason) { root.degrade(reason); },
                           .in_doubt =
                               [this](const BatchId& batch, const std::string& attempt) {
                                 numbers_->in_doubt(batch, attempt);
                               }}));
  STRATA_ASSIGN_OR_RETURN(receiver_folder_, io::ensure_directory(fs, {*made, "receiver"}));
  for (const std::string_view name : {"ledger", "processed"}) {
    STRATA_ASSIGN_OR_RETURN(const auto reserved, io::ensure_directory(fs, {*made, name}));
  }
  STRATA_ASSIGN_OR_RETURN(columns_, Columns::open(fs, *publisher_, services_.writer));
  STRATA_ASSIGN_OR_RETURN(numbers_,
                          Numbers::open(fs, services_.clock, *publisher_, facts_, root.process()));
  STRATA_ASSIGN_OR_RETURN(rejects_, Rejects::open(fs, services_.clock, *publisher_));
  STRATA_ASSIGN_OR_RETURN(rates_, Rates::open(fs, services_.clock, *publisher_, *numbers_));
  return {};
}

Receiver Stream::receiver() const {
  const std::lock_guard lock(mutex_);
  return receiver_;
}

Result<void> Stream::load_receiver() {
  STRATA_ASSIGN_OR_RETURN(const auto newest,
                          io::read_newest(services_.fs, *receiver_folder_, kSuffix));
  if (!newest) return make_error(Code::kNotFound, "the stream has no receiver");
  STRATA_ASSIGN_OR_RETURN(Receiver receiver, receiver_from_json(newest->bytes));
  // Whoever published it may be on the way to its own sync, and batches will rest on it here.
  STRATA_RETURN_IF_ERROR(services_.fs.sync_directory(*receiver_folder_));
  const std::lock_guard lock(mutex_);
  receiver_ = std::move(receiver);
  receiver_number_ = newest->number;
  return {};
}

Result<void> Stream::publish_receiver(const Receiver& receiver) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = receiver_number_ + 1;
  }
  STRATA_RETURN_IF_ERROR(io::publish_numbered(
      services_.fs, {.folder = *receiver_folder_,
                     .staging = publisher_->staging(),
                     .number = number,
                     .suffix = kSuffix,
                     .bytes = to_json(receiver),
                     .points = {"receiver:after_sync", "receiver:after_claim"}}));
  io::kill_point("receiver:after_publish");
  const std::lock_guard lock(mutex_);
  receiver_ = receiver;
  receiver_number_ = number;
  return {};
}

Result<io::Publisher::Recovery> Stream::recover() {
  return publisher_->recover(
      [this](const std::string& process) { return numbers_->recount(process); });
}

Result<void> Stream::close() {
  STRATA_RETURN_IF_ERROR(numbers_->checkpoint(true));
  return publisher_->close();
}

void Stream::set_view_ready() {
  const std::lock_guard lock(mutex_);
  view_error_.clear();
  view_ready_.store(true, std::memory_order_release);
}

void Stream::set_view_error(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  view_error_ = reason;
  view_ready_.store(false, std::memory_order_release);
}

ViewState Stream::view_state() const {
  const std::lock_guard lock(mutex_);
  if (view_ready()) return ViewState::kReady;
  return view_error_.empty() ? ViewState::kDeferred : ViewState::kError;
}

std::string Stream::view_error() const {
  const std::lock_guard lock(mutex_);
  return view_error_;
}

}  // namespace strata::stream
