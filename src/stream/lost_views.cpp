#include "stream/lost_views.h"

#include <vector>

#include "io/kill_point.h"

namespace strata::stream {
namespace {

using Gone = std::function<Result<bool>(const std::string& id)>;

Result<std::vector<std::string>> lost_views(kb::Knowledgebase& knowledgebase, const Gone& gone) {
  constexpr std::string_view kPrefix = "stream_";
  STRATA_ASSIGN_OR_RETURN(const kb::Generation newest, knowledgebase.generations().newest());
  STRATA_ASSIGN_OR_RETURN(const auto views, knowledgebase.generations().views(newest));
  std::vector<std::string> lost;
  for (const duck::View& view : views) {
    if (view.schema != "raw_extracted" || !view.name.starts_with(kPrefix)) continue;
    const std::string id = view.name.substr(kPrefix.size());
    STRATA_ASSIGN_OR_RETURN(const bool is_gone, gone(id));
    if (is_gone) lost.push_back(id);
  }
  return lost;
}

}  // namespace

Result<void> drop_lost_views(kb::Knowledgebase& knowledgebase, const Gone& gone) {
  STRATA_ASSIGN_OR_RETURN(std::vector<std::string> lost, lost_views(knowledgebase, gone));
  if (lost.empty()) return {};
  STRATA_ASSIGN_OR_RETURN(
      const auto lease,
      knowledgebase.lock().acquire(
          {.kb = knowledgebase.id().str(), .stream = lost.front(), .purpose = kb::Purpose::kDrop}));
  STRATA_ASSIGN_OR_RETURN(lost, lost_views(knowledgebase, gone));
  if (lost.empty()) return {};
  std::vector<duck::Sql> ddl;
  for (const std::string& id : lost) {
    ddl.push_back(
        std::move(duck::Sql().raw("DROP VIEW IF EXISTS raw_extracted.").ident("stream_" + id)));
  }
  STRATA_RETURN_IF_ERROR(knowledgebase.generations().publish(ddl));
  io::kill_point("delete:after_view");
  return {};
}

}  // namespace strata::stream
