#include "kb/testing/fake_worker_pool.h"

#include <filesystem>
#include <sstream>

namespace strata::kb {
namespace {

constexpr std::uint64_t kBytesMax = 1 << 20;

}  // namespace

Result<std::unique_ptr<duck::RunningQuery>> FakeWorkerPool::query(const duck::QuerySpec& spec) {
  return on_query(spec);
}

Result<void> FakeWorkerPool::run_ddl(const duck::DdlSpec& spec) {
  ++ddl_calls_;
  if (on_ddl) STRATA_RETURN_IF_ERROR(on_ddl(spec));
  const std::filesystem::path path(spec.database_file);
  STRATA_ASSIGN_OR_RETURN(const auto folder, fs_.open_directory(path.parent_path().string()));
  const std::string name = path.filename().string();
  auto content = fs_.read({*folder, name}, kBytesMax);
  if (!content && content.error().code != Code::kNotFound) return content.error();
  if (content) STRATA_RETURN_IF_ERROR(fs_.unlink({*folder, name}));
  std::string text = content.value_or("");
  for (const duck::Sql& statement : spec.statements) text += statement.str() + '\n';
  if (leave_wal) STRATA_RETURN_IF_ERROR(fs_.write_new({*folder, name + ".wal"}, "left"));
  return fs_.write_new({*folder, name}, text);
}

Result<std::vector<duck::View>> FakeWorkerPool::views(const duck::Source& source) {
  ++views_calls_;
  const std::filesystem::path path(source.generation_file);
  STRATA_ASSIGN_OR_RETURN(const auto folder, fs_.open_directory(path.parent_path().string()));
  STRATA_ASSIGN_OR_RETURN(const auto content,
                          fs_.read({*folder, path.filename().string()}, kBytesMax));
  std::vector<duck::View> views;
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) views.push_back({"", line, line});
  return views;
}

}  // namespace strata::kb
