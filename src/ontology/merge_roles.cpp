#include <algorithm>
#include <optional>
#include <ranges>

#include "ontology/rules.h"
#include "ontology/words/lists.h"
#include "ontology/words/party_roles.h"
#include "ontology/words/types.h"

namespace strata::ontology {
namespace {

constexpr double kContainmentMin = 0.5;

bool is_role(const std::string& word) {
  return words::value_of(word, words::kPartyRoles).has_value() ||
         words::is_in(word, words::kOwnKindRoles);
}

/// The noun that two stems end in, with something that tells them apart before it in one of them:
/// airport of origin_airport and destination_airport. Types of things (pay_grade, job_grade) are no
/// things in roles.
Words shared_noun(const Words& one, const Words& other) {
  const auto ends = std::ranges::mismatch(one.rbegin(), one.rend(), other.rbegin(), other.rend());
  const Words noun(ends.in1.base(), one.end());
  if (noun.empty() || words::is_in(noun.back(), words::kTypeEndings)) return {};
  return noun;
}

/// What both are in some role; empty: nothing that the names say.
Words common_kind(const Entity& one, const Entity& other) {
  if (one.stem.empty() || other.stem.empty()) return {};
  if (Words noun = shared_noun(one.stem, other.stem); !noun.empty()) return noun;
  if (one.stem.size() != 1 || other.stem.size() != 1) return {};
  const auto first = words::value_of(one.stem.front(), words::kPartyRoles);
  const auto second = words::value_of(other.stem.front(), words::kPartyRoles);
  return first && first == second ? Words{std::string(*first)} : Words{};
}

/// manager_id of employee_id: a code of the same kind in a role towards it.
bool is_own_kind_role(const Entity& role, const Entity& kind) {
  return !role.stem.empty() && words::is_in(role.stem.back(), words::kOwnKindRoles) &&
         role.key->role == Role::kIdentifier && kind.key->role == Role::kIdentifier &&
         !is_role(kind.stem.empty() ? "" : kind.stem.back());
}

Result<bool> share_values(const Entity& one, const Entity& other, Evidence& evidence) {
  const bool first = one.key->profile->distinct <= other.key->profile->distinct;
  const Column& fewer = first ? *one.key : *other.key;
  const Column& more = first ? *other.key : *one.key;
  STRATA_ASSIGN_OR_RETURN(const double part, evidence.containment(fewer.name(), more.name()));
  return part >= kContainmentMin;
}

/// The kind of both, if they are one; nothing if they are two.
Result<std::optional<Words>> kind_of_both(const Entity& one, const Entity& other,
                                          Evidence& evidence) {
  std::optional<Words> kind;
  if (is_own_kind_role(other, one)) {
    kind = one.stem;
  } else if (is_own_kind_role(one, other)) {
    kind = other.stem;
  } else if (Words noun = common_kind(one, other); !noun.empty()) {
    kind = std::move(noun);
  }
  if (!kind) return std::nullopt;
  STRATA_ASSIGN_OR_RETURN(const bool share, share_values(one, other, evidence));
  if (!share) return std::nullopt;
  return kind;
}

/// Entities that are one in several roles: indices, the one that is called like the kind first.
struct Group {
  Words kind;
  std::vector<std::size_t> members;
};

Result<std::vector<Group>> find_groups(const Draft& draft, Evidence& evidence) {
  std::vector<Group> groups;
  std::vector<bool> grouped(draft.entities.size());
  for (std::size_t i = 0; i < draft.entities.size(); ++i) {
    if (grouped[i]) continue;
    Group group{.members = {i}};
    for (std::size_t j = i + 1; j < draft.entities.size(); ++j) {
      if (grouped[j]) continue;
      STRATA_ASSIGN_OR_RETURN(const auto kind,
                              kind_of_both(draft.entities[i], draft.entities[j], evidence));
      if (!kind) continue;
      grouped[j] = true;
      group.members.push_back(j);
      if (group.kind.empty() || kind->size() < group.kind.size()) group.kind = *kind;
    }
    if (group.members.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

/// Makes `role` one more role of `kind`: columns that are called alike below the names of both are
/// one property; what only one role tells stays in the fact.
void add_role(Entity& kind, const Entity& role) {
  kind.more_keys.push_back(role.key);
  for (Attribute& mine : kind.attributes) {
    const std::string name = name_below(mine.column->name(), kind.prefix);
    const auto same = std::ranges::find_if(role.attributes, [&](const Attribute& other) {
      return name_below(other.column->name(), role.prefix) == name;
    });
    mine.more.push_back(same == role.attributes.end() ? nullptr : same->column);
  }
}

}  // namespace

Result<void> merge_roles(Draft& draft, Dependencies& dependencies) {
  STRATA_ASSIGN_OR_RETURN(const auto groups, find_groups(draft, dependencies.evidence()));
  std::vector<std::size_t> merged;
  for (const Group& group : groups) {
    auto members = group.members;
    std::ranges::stable_partition(members, [&](std::size_t member) {
      return draft.is_feed(draft.entities[member]) || draft.entities[member].stem == group.kind;
    });
    Entity& kind = draft.entities[members.front()];
    for (const std::size_t member : members | std::views::drop(1)) {
      add_role(kind, draft.entities[member]);
      merged.push_back(member);
    }
    kind.stem = group.kind;
    kind.rules.emplace_back("S7");
  }
  std::ranges::sort(merged, std::ranges::greater());
  for (const std::size_t member : merged) draft.erase(member);
  return {};
}

}  // namespace strata::ontology
