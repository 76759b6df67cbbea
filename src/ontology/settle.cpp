#include "ontology/settle.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "duck/sql.h"

namespace strata::ontology {
namespace {

using duck::Sql;

constexpr std::string_view kSchema = "ontology";

/// Without the tables whose files are gone. Their views answered nobody, and kept all others from
/// being made; to apply ontology to their stream makes them again.
Result<Applied> readable(kb::Knowledgebase& knowledgebase, const Applied& applied) {
  Applied readable = applied;
  for (AppliedStream& stream : readable) {
    std::vector<AppliedTable> there;
    for (AppliedTable& table : stream.tables) {
      STRATA_ASSIGN_OR_RETURN(const bool is_there,
                              knowledgebase.table_files().has_typed_table(table.file));
      if (is_there) there.push_back(std::move(table));
    }
    stream.tables = std::move(there);
  }
  return readable;
}

struct Look {
  bool pending = false;
  Applied active;
  bool views = false;  // those of `active` are there
};

Result<Look> look(kb::Knowledgebase& knowledgebase) {
  catalog::OntologyVersions& versions = knowledgebase.catalog().ontology();
  Look seen;
  // Pending first: what becomes active in between is met as the active one.
  STRATA_ASSIGN_OR_RETURN(const auto pending, versions.pending());
  STRATA_ASSIGN_OR_RETURN(const auto active, versions.active());
  seen.pending = pending.has_value();
  if (active) {
    STRATA_ASSIGN_OR_RETURN(seen.active, parse_applied(active->content));
  }
  STRATA_ASSIGN_OR_RETURN(seen.views, has_views_of(knowledgebase, seen.active));
  return seen;
}

}  // namespace

Result<bool> has_views_of(kb::Knowledgebase& knowledgebase, const Applied& all) {
  if (all.empty()) return true;
  STRATA_ASSIGN_OR_RETURN(const Applied applied, readable(knowledgebase, all));
  STRATA_ASSIGN_OR_RETURN(const kb::Generation newest, knowledgebase.generations().newest());
  STRATA_ASSIGN_OR_RETURN(const auto views, knowledgebase.generations().views(newest));
  std::set<std::string> names;
  for (const AppliedStream& stream : applied) {
    for (const AppliedTable& table : stream.tables) names.insert(table.view);
  }
  const auto is_ontology = [](const duck::View& view) { return view.schema == kSchema; };
  const bool no_other = std::ranges::all_of(views, [&](const duck::View& view) {
    return !is_ontology(view) || names.contains(view.name);
  });
  // A view's text has the paths of the tables it reads: those of another version, or of the folder
  // that a moved kb had before, are others.
  return no_other && std::ranges::all_of(applied, [&](const AppliedStream& stream) {
           return std::ranges::all_of(stream.tables, [&](const AppliedTable& table) {
             const std::string path =
                 Sql().glob(fmt::format("{}/{}", knowledgebase.folder(), table.file), "").str();
             return std::ranges::any_of(views, [&](const duck::View& view) {
               return is_ontology(view) && view.sql.contains(path);
             });
           });
         });
}

Result<void> publish_views(kb::Knowledgebase& knowledgebase, const Applied& all) {
  STRATA_ASSIGN_OR_RETURN(const Applied applied, readable(knowledgebase, all));
  STRATA_ASSIGN_OR_RETURN(const kb::Generation newest, knowledgebase.generations().newest());
  STRATA_ASSIGN_OR_RETURN(const auto there, knowledgebase.generations().views(newest));
  const auto wanted = views_of(applied, knowledgebase.folder());
  std::vector<Sql> ddl;
  for (const duck::View& view : there) {
    const bool stays =
        std::ranges::any_of(wanted, [&](const OntologyView& one) { return one.name == view.name; });
    if (view.schema == kSchema && !stays) {
      ddl.push_back(Sql("DROP VIEW IF EXISTS ontology.").ident(view.name));
    }
  }
  for (const auto& [name, select] : wanted) {
    ddl.push_back(Sql("CREATE OR REPLACE VIEW ontology.").ident(name).raw(" AS ").append(select));
  }
  STRATA_RETURN_IF_ERROR(knowledgebase.generations().publish(ddl));
  return {};
}

Result<void> settle_pending(kb::Knowledgebase& knowledgebase) {
  catalog::OntologyVersions& versions = knowledgebase.catalog().ontology();
  STRATA_ASSIGN_OR_RETURN(const auto pending, versions.pending());
  if (!pending) return {};
  STRATA_ASSIGN_OR_RETURN(const Applied applied, parse_applied(pending->content));
  STRATA_ASSIGN_OR_RETURN(const bool there, has_views_of(knowledgebase, applied));
  return there ? versions.activate(pending->version) : versions.drop_pending(pending->version);
}

Result<void> settle(kb::Knowledgebase& knowledgebase, std::chrono::milliseconds wait) {
  STRATA_ASSIGN_OR_RETURN(Look seen, look(knowledgebase));
  if (seen.views && !seen.pending) return {};
  STRATA_ASSIGN_OR_RETURN(const auto lease,
                          knowledgebase.lock().acquire({.kb = knowledgebase.id().str(),
                                                        .stream = {},
                                                        .purpose = kb::Purpose::kRelocate,
                                                        .wait = wait}));
  STRATA_RETURN_IF_ERROR(settle_pending(knowledgebase));
  // Whoever held the lock may have done it all.
  STRATA_ASSIGN_OR_RETURN(seen, look(knowledgebase));
  return seen.views ? Result<void>() : publish_views(knowledgebase, seen.active);
}

}  // namespace strata::ontology
