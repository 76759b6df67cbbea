#include "io/testing/faulty_file_system.h"

#include <fmt/format.h>

#include <type_traits>

#include "base/check.h"

namespace strata::io {
namespace {

FileCall call_on(Operation operation, const Directory& directory) {
  return FileCall{.operation = operation, .directory = directory.path()};
}

FileCall call_on(Operation operation, Entry entry) {
  return FileCall{
      .operation = operation, .directory = entry.directory.path(), .name = std::string(entry.name)};
}

FileCall call_on(Operation operation, Entry from, Entry to) {
  FileCall call = call_on(operation, from);
  call.to_directory = to.directory.path();
  call.to_name = std::string(to.name);
  return call;
}

}  // namespace

void FaultyFileSystem::set_fault(Fault fault) {
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
  fired_ = false;
}

void FaultyFileSystem::fail_call(std::uint64_t number, Effect effect, Code code) {
  reset_counts();
  set_fault({[number](const FileCall& call) { return call.number == number; }, effect, code});
}

void FaultyFileSystem::fail_from_call(std::uint64_t number, Code code) {
  reset_counts();
  set_fault({[number](const FileCall& call) { return call.number >= number; }, Effect::kFailBefore,
             code});
}

void FaultyFileSystem::fail_if(Condition condition, Effect effect, Code code) {
  set_fault({std::move(condition), effect, code});
}

void FaultyFileSystem::heal() {
  const std::lock_guard lock(mutex_);
  fault_.reset();
}

bool FaultyFileSystem::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

void FaultyFileSystem::set_observer(std::function<void(const FileCall&)> observer) {
  const std::lock_guard lock(mutex_);
  observer_ = std::move(observer);
}

std::uint64_t FaultyFileSystem::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::uint64_t FaultyFileSystem::calls(Operation operation) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [key, count] : calls_by_directory_) {
    if (key.first == operation) sum += count;
  }
  return sum;
}

std::uint64_t FaultyFileSystem::calls(Operation operation, const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  const auto found = calls_by_directory_.find({operation, directory});
  return found == calls_by_directory_.end() ? 0 : found->second;
}

void FaultyFileSystem::reset_counts() {
  const std::lock_guard lock(mutex_);
  calls_ = 0;
  calls_by_directory_.clear();
}

std::optional<FaultyFileSystem::Fault> FaultyFileSystem::begin(FileCall call) {
  std::optional<Fault> fault;
  std::function<void(const FileCall&)> observer;
  {
    const std::lock_guard lock(mutex_);
    call.number = calls_++;
    ++calls_by_directory_[{call.operation, call.directory}];
    fault = fault_;
    observer = observer_;
  }
  if (observer) observer(call);
  if (!fault || !fault->condition(call)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  fired_ = true;
  return fault;
}

template <typename Function>
auto FaultyFileSystem::run(FileCall call, Function function) -> decltype(function()) {
  using Answer = decltype(function());
  constexpr bool kNoValue = std::is_same_v<Answer, Result<void>>;
  const std::string detail =
      fmt::format("fault put in by a test: {}/{}", call.directory, call.name);
  const std::optional<Fault> fault = begin(std::move(call));
  if (!fault) return function();
  if (fault->effect == Effect::kLost) {
    if constexpr (kNoValue) return {};
    STRATA_CHECK(kNoValue);  // there is no answer to make up
  }
  if (fault->effect == Effect::kFailAfter) {
    Answer answer = function();
    if (!answer) return answer;
  }
  return make_error(fault->code, "A test made this call fail.", detail);
}

Result<std::unique_ptr<Directory>> FaultyFileSystem::open_directory(const std::string& path) {
  return run({.operation = Operation::kOpenDirectory, .directory = path},
             [&] { return inner_.open_directory(path); });
}

Result<std::unique_ptr<Directory>> FaultyFileSystem::open_directory_at(Entry directory) {
  return run(call_on(Operation::kOpenDirectoryAt, directory),
             [&] { return inner_.open_directory_at(directory); });
}

Result<void> FaultyFileSystem::make_directory(Entry directory) {
  return run(call_on(Operation::kMakeDirectory, directory),
             [&] { return inner_.make_directory(directory); });
}

Result<void> FaultyFileSystem::remove_directory(Entry directory) {
  return run(call_on(Operation::kRemoveDirectory, directory),
             [&] { return inner_.remove_directory(directory); });
}

Result<std::vector<DirEntry>> FaultyFileSystem::list(const Directory& directory) {
  return run(call_on(Operation::kList, directory), [&] { return inner_.list(directory); });
}

Result<FileStat> FaultyFileSystem::stat(Entry entry) {
  return run(call_on(Operation::kStat, entry), [&] { return inner_.stat(entry); });
}

Result<FileStat> FaultyFileSystem::stat_path(const std::string& path) {
  return run({.operation = Operation::kStatPath, .directory = path},
             [&] { return inner_.stat_path(path); });
}

Result<FileStat> FaultyFileSystem::stat_handle(const Directory& directory) {
  return run(call_on(Operation::kStatHandle, directory),
             [&] { return inner_.stat_handle(directory); });
}

Result<void> FaultyFileSystem::write_new(Entry file, std::string_view bytes) {
  return run(call_on(Operation::kWriteNew, file), [&] { return inner_.write_new(file, bytes); });
}

Result<void> FaultyFileSystem::patch(Entry file, std::uint64_t offset, std::string_view bytes) {
  return run(call_on(Operation::kPatch, file), [&] { return inner_.patch(file, offset, bytes); });
}

Result<std::string> FaultyFileSystem::read(Entry file, std::uint64_t bytes_max) {
  return run(call_on(Operation::kRead, file), [&] { return inner_.read(file, bytes_max); });
}

Result<std::string> FaultyFileSystem::read_range(Entry file, std::uint64_t offset,
                                                 std::uint64_t size) {
  return run(call_on(Operation::kReadRange, file),
             [&] { return inner_.read_range(file, offset, size); });
}

Result<void> FaultyFileSystem::set_mode(Entry file, mode_t mode) {
  return run(call_on(Operation::kSetMode, file), [&] { return inner_.set_mode(file, mode); });
}

Result<void> FaultyFileSystem::sync_file(Entry file) {
  return run(call_on(Operation::kSyncFile, file), [&] { return inner_.sync_file(file); });
}

Result<void> FaultyFileSystem::sync_directory(const Directory& directory) {
  return run(call_on(Operation::kSyncDirectory, directory),
             [&] { return inner_.sync_directory(directory); });
}

Result<void> FaultyFileSystem::link(Entry from, Entry to) {
  return run(call_on(Operation::kLink, from, to), [&] { return inner_.link(from, to); });
}

Result<void> FaultyFileSystem::rename_no_replace(Entry from, Entry to) {
  return run(call_on(Operation::kRenameNoReplace, from, to),
             [&] { return inner_.rename_no_replace(from, to); });
}

Result<void> FaultyFileSystem::rename_replace(Entry from, Entry to) {
  return run(call_on(Operation::kRenameReplace, from, to),
             [&] { return inner_.rename_replace(from, to); });
}

Result<void> FaultyFileSystem::rename_exchange(Entry from, Entry to) {
  return run(call_on(Operation::kRenameExchange, from, to),
             [&] { return inner_.rename_exchange(from, to); });
}

Result<void> FaultyFileSystem::unlink(Entry file) {
  return run(call_on(Operation::kUnlink, file), [&] { return inner_.unlink(file); });
}

Result<void> FaultyFileSystem::symlink(const std::string& target, Entry link) {
  return run(call_on(Operation::kSymlink, link), [&] { return inner_.symlink(target, link); });
}

Result<std::string> FaultyFileSystem::read_link(Entry link) {
  return run(call_on(Operation::kReadLink, link), [&] { return inner_.read_link(link); });
}

Result<bool> FaultyFileSystem::is_held_for_writing(Entry file) {
  return run(call_on(Operation::kIsHeldForWriting, file),
             [&] { return inner_.is_held_for_writing(file); });
}

Result<std::unique_ptr<FileLock>> FaultyFileSystem::try_lock(Entry file) {
  return run(call_on(Operation::kTryLock, file), [&] { return inner_.try_lock(file); });
}

Result<DiskSpace> FaultyFileSystem::disk_space(const Directory& directory) {
  return run(call_on(Operation::kDiskSpace, directory),
             [&] { return inner_.disk_space(directory); });
}

}  // namespace strata::io
