#include "stream/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <set>
#include <utility>

#include "base/whole_number.h"
#include "io/kill_point.h"
#include "io/numbered.h"

namespace strata::stream {
namespace {

namespace json = boost::json;

constexpr std::string_view kSuffix = ".json";
constexpr std::uint64_t kCheckpointBytesMax = 64 * 1024;
constexpr std::chrono::seconds kOthersAge{1};

std::optional<Checkpoint> checkpoint_from_json(const std::string& text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  const json::object* object = error ? nullptr : value.if_object();
  if (object == nullptr) return std::nullopt;
  const auto number = [&](const char* key) -> std::uint64_t {
    const json::value* found = object->if_contains(key);
    if (found == nullptr) error = json::error::not_found;
    return found == nullptr ? 0 : found->to_number<std::uint64_t>(error);
  };
  Totals totals;
  totals.files = number("files");
  totals.rows = number("rows");
  totals.bytes = number("bytes");
  const json::value* last = object->if_contains("last_landed");
  const json::value* closed = object->if_contains("closed");
  if (error || last == nullptr || !last->is_string() || closed == nullptr || !closed->is_bool()) {
    return std::nullopt;
  }
  totals.last_landed = std::string_view(last->as_string());
  return Checkpoint{std::move(totals), closed->as_bool()};
}

Totals one(const io::BatchFacts& facts) {
  return {
      .files = 1, .rows = facts.rows, .bytes = facts.file_bytes, .last_landed = facts.arrived_at};
}

std::string process_of(const std::string& attempt) { return attempt.substr(0, attempt.find('/')); }

/// `<node>-<boot>-<pid>`: a file of any other name that is no checkpoint is somebody else's.
bool is_process(std::string_view name) {
  const auto pid = name.rfind('-');
  const auto boot = pid == std::string_view::npos || pid == 0 ? pid : name.rfind('-', pid - 1);
  return boot != std::string_view::npos && boot > 0 && pid > boot + 1 &&
         parse_whole_number(name.substr(pid + 1)).has_value();
}

}  // namespace

std::string checkpoint_json(const std::string& process, const Totals& totals, bool closed) {
  return json::serialize(json::object{{"process", process},
                                      {"files", totals.files},
                                      {"rows", totals.rows},
                                      {"bytes", totals.bytes},
                                      {"last_landed", totals.last_landed},
                                      {"closed", closed}});
}

void Totals::add(const Totals& other) {
  files += other.files;
  rows += other.rows;
  bytes += other.bytes;
  last_landed = std::max(last_landed, other.last_landed);
}

Numbers::Numbers(io::FileSystem& fs, const Clock& clock, io::Publisher& publisher,
                 io::FactsReader& facts, std::string process, std::unique_ptr<io::Directory> folder)
    : fs_(fs),
      clock_(clock),
      publisher_(publisher),
      facts_(facts),
      process_(std::move(process)),
      folder_(std::move(folder)) {}

Result<std::unique_ptr<Numbers>> Numbers::open(io::FileSystem& fs, const Clock& clock,
                                               io::Publisher& publisher, io::FactsReader& facts,
                                               std::string process) {
  STRATA_ASSIGN_OR_RETURN(auto folder, io::ensure_directory(fs, {publisher.stream(), "numbers"}));
  return std::make_unique<Numbers>(fs, clock, publisher, facts, std::move(process),
                                   std::move(folder));
}

void Numbers::landed(const io::BatchFacts& facts) {
  const std::lock_guard lock(mutex_);
  own_.add(one(facts));
}

void Numbers::in_doubt(const BatchId& id, const std::string& attempt) {
  const std::lock_guard lock(mutex_);
  doubts_.emplace(attempt, id);
}

Result<void> Numbers::settle_doubts() {
  std::map<std::string, BatchId> doubts;
  {
    const std::lock_guard lock(mutex_);
    doubts = doubts_;
  }
  if (doubts.empty()) return {};
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_.open_data(""));
  for (const auto& [attempt, id] : doubts) {
    const auto facts = facts_.read({*data, id.str() + ".parquet"});
    if (!facts) continue;  // not landed yet, or not readable now: looked at again
    const std::lock_guard lock(mutex_);
    // An attempt is told of as landed or as in doubt, never both, so this counts it once.
    if (doubts_.erase(attempt) == 1 && facts->attempt == attempt) own_.add(one(*facts));
  }
  return {};
}

Totals Numbers::totals() {
  const std::lock_guard lock(mutex_);
  const SteadyTime now = clock_.steady();
  if (!others_known_ || now - others_read_at_ >= kOthersAge) {
    // Unreadable for the moment: what was known holds until the next look.
    if (auto others = read_others()) {
      others_ = std::move(*others);
      others_known_ = true;
      others_read_at_ = now;
    }
  }
  Totals sum = own_;
  for (const auto& [process, checkpoint] : others_) sum.add(checkpoint.totals);
  return sum;
}

/// Nothing: it has none.
Result<std::optional<Checkpoint>> Numbers::read_checkpoint(const std::string& process) {
  const auto text = fs_.read({*folder_, process + std::string(kSuffix)}, kCheckpointBytesMax);
  if (!text && text.error().code == Code::kNotFound) return std::nullopt;
  if (!text) return text.error();
  auto checkpoint = checkpoint_from_json(*text);
  // A damaged one says nothing, so its process is counted again once it ended.
  if (!checkpoint && is_process(process)) checkpoint = Checkpoint{.totals = {}, .closed = false};
  return checkpoint;
}

Result<std::map<std::string, Checkpoint>> Numbers::read_others() {
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(*folder_));
  std::map<std::string, Checkpoint> others;
  for (const io::DirEntry& entry : entries) {
    if (!entry.name.ends_with(kSuffix)) continue;
    const std::string process = entry.name.substr(0, entry.name.size() - kSuffix.size());
    if (process == process_) continue;
    STRATA_ASSIGN_OR_RETURN(auto checkpoint, read_checkpoint(process));
    if (checkpoint) others.emplace(process, *std::move(checkpoint));
  }
  return others;
}

Result<void> Numbers::checkpoint(bool closed) {
  STRATA_RETURN_IF_ERROR(settle_doubts());
  Totals now;
  {
    const std::lock_guard lock(mutex_);
    const bool never_landed = own_ == Totals{} && written_ == Totals{};
    if (never_landed || (own_ == written_ && closed == closed_)) return {};
    now = own_;
  }
  STRATA_RETURN_IF_ERROR(write(process_, now, closed));
  io::kill_point("numbers:after_checkpoint");
  const std::lock_guard lock(mutex_);
  written_ = now;
  closed_ = closed;
  return {};
}

Result<void> Numbers::write(const std::string& process, const Totals& totals, bool closed) {
  const std::string text = checkpoint_json(process, totals, closed);
  const std::string name = process + std::string(kSuffix);
  return io::publish_replacing(fs_, {.to = {*folder_, name},
                                     .staging = publisher_.staging(),
                                     .bytes = text,
                                     .points = {"numbers:after_sync", "numbers:after_rename"}});
}

Result<void> Numbers::ended(const std::string& process) {
  STRATA_ASSIGN_OR_RETURN(const auto known, read_checkpoint(process));
  if (known && !known->closed) return {};
  return write(process, known ? known->totals : Totals{}, false);
}

Result<void> Numbers::count_ended(std::size_t& files_left) {
  const std::lock_guard counting(count_mutex_);
  if (!ended_count_) {
    STRATA_ASSIGN_OR_RETURN(ended_count_, begin_count());
    if (!ended_count_) return {};
  }
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_.open_data(""));
  for (EndedCount& count = *ended_count_; count.next < count.names.size(); ++count.next) {
    if (files_left == 0) return {};
    --files_left;
    STRATA_RETURN_IF_ERROR(count_file(count, {*data, count.names[count.next]}));
  }
  // What an error leaves half done is counted anew.
  EndedCount count = *std::exchange(ended_count_, std::nullopt);
  STRATA_ASSIGN_OR_RETURN(const bool whole, finish_count(count, *data));
  if (!whole) {
    STRATA_ASSIGN_OR_RETURN(ended_count_, begin_count());
    return {};
  }
  const std::lock_guard lock(mutex_);
  others_known_ = false;
  return {};
}

bool Numbers::counting() {
  const std::lock_guard counting(count_mutex_);
  return ended_count_.has_value();
}

/// Nothing: every process that ended is counted.
Result<std::optional<Numbers::EndedCount>> Numbers::begin_count() {
  STRATA_ASSIGN_OR_RETURN(const auto others, read_others());
  EndedCount count;
  for (const auto& [process, checkpoint] : others) {
    if (!checkpoint.closed && !publisher_.is_staging(process)) count.totals[process];
  }
  if (count.totals.empty()) return std::nullopt;
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_.open_data(""));
  STRATA_ASSIGN_OR_RETURN(count.names, file_names(*data));
  return count;
}

/// Of all that may be batches, sorted.
Result<std::vector<std::string>> Numbers::file_names(const io::Directory& data) {
  STRATA_ASSIGN_OR_RETURN(auto entries, fs_.list(data));
  std::vector<std::string> names;
  for (io::DirEntry& entry : entries) {
    if (entry.type != io::FileType::kFile || !entry.name.ends_with(".parquet")) continue;
    names.push_back(std::move(entry.name));
  }
  std::ranges::sort(names);
  return names;
}

Result<void> Numbers::count_file(EndedCount& count, io::Entry file) {
  const auto facts = facts_.read(file);
  // The anchor and foreign files are no batches; `strata verify` names the latter.
  if (!facts && facts.error().code == Code::kBadBatch) return {};
  if (!facts && facts.error().code == Code::kNotFound) return {};  // moved away meanwhile
  if (!facts) return facts.error();
  const auto process = count.totals.find(process_of(facts->attempt));
  if (process == count.totals.end()) return {};
  process->second.add(one(*facts));
  count.counted.emplace_back(file.name);
  return {};
}

/// False: files that were counted are no longer there.
Result<bool> Numbers::finish_count(EndedCount& count, const io::Directory& data) {
  STRATA_ASSIGN_OR_RETURN(const auto now, file_names(data));
  if (!std::ranges::includes(now, count.counted)) return false;
  // Somebody who sends an id again may have finished a batch of theirs since.
  std::vector<std::string> fresh;
  std::ranges::set_difference(now, count.names, std::back_inserter(fresh));
  for (const std::string& name : fresh) {
    STRATA_RETURN_IF_ERROR(count_file(count, {data, name}));
  }
  for (const auto& [process, totals] : count.totals) {
    if (totals.files > 0) {
      STRATA_RETURN_IF_ERROR(write(process, totals, true));
    } else {
      ignore(fs_.unlink({*folder_, process + std::string(kSuffix)}), "it is counted once more");
    }
    io::kill_point("numbers:after_recount");
  }
  return true;
}

Result<void> Numbers::count_files(CountedFiles& files) {
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_.open_data(""));
  STRATA_ASSIGN_OR_RETURN(const auto names, file_names(*data));
  CountedFiles now;
  for (const std::string& name : names) {
    const auto stat = fs_.stat({*data, name});
    if (!stat && stat.error().code == Code::kNotFound) continue;
    if (!stat) return stat.error();
    // A file never changes, so what is known of it stays true.
    if (auto known = files.extract(name); known && known.mapped().id == stat->id) {
      now.insert(std::move(known));
      continue;
    }
    const auto facts = facts_.read({*data, name});
    if (!facts && facts.error().code == Code::kNotFound) continue;
    if (!facts && facts.error().code != Code::kBadBatch) return facts.error();
    CountedFile file{.id = stat->id, .attempt = {}, .totals = {}};
    if (facts && facts->batch_id + ".parquet" == name) {
      file.attempt = facts->attempt;
      file.totals = one(*facts);
    }
    now.emplace(name, std::move(file));
  }
  files = std::move(now);
  return {};
}

void Numbers::take_own(const CountedFiles& files) {
  const std::string prefix = process_ + "/";
  Totals own;
  std::set<std::string> attempts;
  for (const auto& [name, file] : files) {
    if (!file.attempt.starts_with(prefix)) continue;
    own.add(file.totals);
    attempts.insert(file.attempt);
  }
  const std::lock_guard lock(mutex_);
  own_ = own;
  // Counted just now, so they must not be counted when they are looked at.
  std::erase_if(doubts_, [&](const auto& doubt) { return attempts.contains(doubt.first); });
}

Result<void> Numbers::write_ended(const CountedFiles& files) {
  STRATA_ASSIGN_OR_RETURN(const auto written, read_others());
  std::map<std::string, Totals> counted;
  for (const auto& [process, checkpoint] : written) counted[process];
  for (const auto& [name, file] : files) {
    if (!file.attempt.empty()) counted[process_of(file.attempt)].add(file.totals);
  }
  for (const auto& [process, totals] : counted) {
    const auto before = written.find(process);
    if (process == process_) continue;
    if (before != written.end() && before->second.closed && before->second.totals == totals) {
      continue;
    }
    if (publisher_.is_staging(process)) continue;  // it counts itself, or recovery does
    STRATA_RETURN_IF_ERROR(write(process, totals, true));
  }
  return {};
}

Result<void> Numbers::recount_all(const Hold& hold) {
  CountedFiles files;
  STRATA_RETURN_IF_ERROR(count_files(files));
  {
    const auto held = hold();
    STRATA_RETURN_IF_ERROR(count_files(files));
    take_own(files);
  }
  STRATA_RETURN_IF_ERROR(write_ended(files));
  const std::lock_guard lock(mutex_);
  others_known_ = false;
  return {};
}

}  // namespace strata::stream
