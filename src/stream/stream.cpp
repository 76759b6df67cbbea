#include "stream/stream.h"

#include <fmt/format.h>

#include <array>
#include <optional>
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
    : services_(services),
      knowledgebase_(knowledgebase),
      id_(std::move(id)),
      process_(services.root.process_for_opening()),
      facts_(services.fs) {}

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
  STRATA_ASSIGN_OR_RETURN(auto folded, io::ensure_directory(fs, {*made, "ledger"}));
  STRATA_ASSIGN_OR_RETURN(ledger_, io::FileLedger::open(fs, std::move(folded)));
  kb::Root& root = services_.root;
  STRATA_ASSIGN_OR_RETURN(
      publisher_,
      io::Publisher::open(fs, facts_, *ledger_,
                          {.stream_folder = folder,
                           .process = process_,
                           .degrade = [&root](const std::string& reason) { root.degrade(reason); },
                           .in_doubt =
                               [this](const BatchId& batch, const std::string& attempt) {
                                 numbers_->in_doubt(batch, attempt);
                               }}));
  STRATA_ASSIGN_OR_RETURN(receiver_folder_, io::ensure_directory(fs, {*made, "receiver"}));
  STRATA_ASSIGN_OR_RETURN(const auto reserved, io::ensure_directory(fs, {*made, "processed"}));
  STRATA_ASSIGN_OR_RETURN(columns_, Columns::open(fs, *publisher_, services_.writer));
  STRATA_ASSIGN_OR_RETURN(numbers_,
                          Numbers::open(fs, services_.clock, *publisher_, facts_, process_));
  STRATA_ASSIGN_OR_RETURN(rejects_, Rejects::open(fs, services_.clock, *publisher_));
  STRATA_ASSIGN_OR_RETURN(rates_, Rates::open(fs, services_.clock, *publisher_, *numbers_));
  // The parts were opened by the folder's name: all of them have to be of one folder.
  STRATA_ASSIGN_OR_RETURN(const io::FileStat first, fs.stat_handle(*made));
  STRATA_ASSIGN_OR_RETURN(const io::FileStat last, fs.stat_handle(publisher_->stream()));
  if (first.id != last.id) {
    return make_error(Code::kBusy, "the stream's folder was exchanged meanwhile; try again.");
  }
  folder_id_ = first.id;
  STRATA_ASSIGN_OR_RETURN(quarantined_counted_, quarantined());
  return {};
}

Receiver Stream::receiver() const {
  const std::lock_guard lock(mutex_);
  return receiver_;
}

Stream::Settings Stream::settings() const {
  const std::lock_guard lock(mutex_);
  return {receiver_, receiver_number_};
}

Result<void> Stream::load_receiver() {
  STRATA_ASSIGN_OR_RETURN(const auto newest,
                          io::read_newest(services_.fs, *receiver_folder_, kSuffix));
  if (!newest) return make_error(Code::kNotFound, "the stream has no receiver");
  STRATA_ASSIGN_OR_RETURN(Receiver receiver, receiver_from_json(newest->bytes));
  // Whoever published it may be on the way to its own sync, and batches will rest on it here.
  STRATA_RETURN_IF_ERROR(services_.fs.sync_directory(*receiver_folder_));
  const std::lock_guard lock(mutex_);
  if (newest->number <= receiver_number_) return {};
  receiver_ = std::move(receiver);
  receiver_number_ = newest->number;
  return {};
}

Result<void> Stream::refresh_receiver() {
  // Numbers are taken one after the other and never freed, so a free next one means there is none.
  const std::string next = io::numbered_name(settings().number + 1, kSuffix);
  const auto there = services_.fs.stat({*receiver_folder_, next});
  if (there) return load_receiver();
  if (there.error().code == Code::kNotFound) return {};
  return there.error();
}

Result<void> Stream::publish_receiver(const Settings& next) {
  const std::uint64_t number = next.number + 1;
  STRATA_RETURN_IF_ERROR(io::publish_numbered(
      services_.fs, {.folder = *receiver_folder_,
                     .staging = publisher_->staging(),
                     .number = number,
                     .suffix = kSuffix,
                     .bytes = to_json(next.receiver),
                     .points = {"receiver:after_sync", "receiver:after_claim"}}));
  io::kill_point("receiver:after_publish");
  const std::lock_guard lock(mutex_);
  if (number <= receiver_number_) return {};
  receiver_ = next.receiver;
  receiver_number_ = number;
  return {};
}

Result<bool> Stream::in_place() const {
  const auto there = services_.fs.stat_path(publisher_->stream().path());
  if (there) return there->id == folder_id_;
  if (there.error().code == Code::kNotFound) return false;
  return there.error();
}

void Stream::note_look(SteadyTime began) {
  SteadyTime last = looked_at_.load(std::memory_order_relaxed);
  while (last < began &&
         !looked_at_.compare_exchange_weak(last, began, std::memory_order_release)) {
  }
}

bool Stream::was_looked_at_since(SteadyTime time) const {
  return looked_at_.load(std::memory_order_acquire) >= time;
}

Result<std::shared_lock<std::shared_mutex>> Stream::enter() {
  const auto refusal = [this]() -> std::optional<Error> {
    switch (presence_.load(std::memory_order_acquire)) {
      case Presence::kHere:
        return std::nullopt;
      case Presence::kLeaving:
        return make_error(Code::kBusy, "The stream is being deleted; try again in a moment.");
      case Presence::kGone:
        break;
    }
    return make_error(Code::kUnknownStream,
                      "The stream was deleted; nothing of this batch landed.");
  };
  // Before the lock too, so that a steady flow of batches cannot keep leave() waiting.
  if (auto refused = refusal()) return std::move(*refused);
  {
    const std::lock_guard turn(turnstile_);
  }
  std::shared_lock inside(landings_);
  if (auto refused = refusal()) return std::move(*refused);
  return inside;
}

void Stream::leave() {
  presence_.store(Presence::kLeaving, std::memory_order_release);
  const std::unique_lock everybody(landings_);
}

void Stream::stay() { presence_.store(Presence::kHere, std::memory_order_release); }

void Stream::end() {
  presence_.store(Presence::kGone, std::memory_order_release);
  ignore(close(), "the folder is nobody's any more; what stays in its _tmp/ harms nobody");
}

Result<void> Stream::recover(std::size_t& files_left) {
  STRATA_RETURN_IF_ERROR(
      publisher_->recover([this](const std::string& process) { return numbers_->ended(process); }));
  return numbers_->count_ended(files_left);
}

Result<std::size_t> Stream::quarantined() {
  const auto folder = services_.fs.open_directory_at({publisher_->stream(), kQuarantineFolder});
  if (!folder && folder.error().code == Code::kNotFound) return 0;
  if (!folder) return folder.error();
  STRATA_ASSIGN_OR_RETURN(const auto names, services_.fs.list(**folder));
  return names.size();
}

Result<void> Stream::recount() {
  const std::lock_guard counting(recount_mutex_);
  // Before the count: what comes later is seen by the next look.
  STRATA_ASSIGN_OR_RETURN(const std::size_t names, quarantined());
  STRATA_RETURN_IF_ERROR(numbers_->recount_all([this] {
    const std::lock_guard turn(turnstile_);
    return std::unique_lock(landings_);
  }));
  quarantined_counted_ = names;
  return {};
}

Result<void> Stream::look_at_quarantine() {
  {
    const std::lock_guard counting(recount_mutex_);
    STRATA_ASSIGN_OR_RETURN(const std::size_t names, quarantined());
    if (names == quarantined_counted_) return {};
  }
  return recount();
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
