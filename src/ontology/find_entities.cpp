#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

#include "ontology/rules.h"
#include "ontology/words/identifiers.h"
#include "ontology/words/labels.h"
#include "ontology/words/lists.h"
#include "ontology/words/measures.h"
#include "ontology/words/times.h"
#include "ontology/words/types.h"

namespace strata::ontology {
namespace {

std::size_t preference(const Column& column, const auto& list) {
  const std::string word = column.words.empty() ? "" : column.words.back();
  return static_cast<std::size_t>(std::ranges::find(list, word) - std::ranges::begin(list));
}

/// Smaller is the better key: identifier, category, label; then by word; then by name.
auto key_order(const Column& column) {
  const int kind = column.role == Role::kIdentifier ? 0 : column.role == Role::kCategory ? 1 : 2;
  const std::size_t word = kind == 0   ? preference(column, words::kKeyPreference)
                           : kind == 2 ? preference(column, words::kLabelPreference)
                                       : 0;
  return std::tuple(kind, word, column.name());
}

/// Texts without letters that are written like amounts, dates or versions: what would not cast.
bool looks_like_amounts(const ColumnProfile& column) {
  std::uint64_t all = 0;
  std::uint64_t without_letters = 0;
  bool written = false;
  for (const CountedText& mask : column.masks) {
    all += mask.count;
    if (mask.text.find_first_of("aA") != std::string::npos || !mask.text.contains('9')) continue;
    without_letters += mask.count;
    written |= mask.text.find_first_of(".,/:$%") != std::string::npos;
  }
  return column.type.type == Type::kVarchar && written && 10 * without_letters >= 9 * all;
}

bool may_be_entity(const Column& column, std::uint64_t rows) {
  const bool groups = column.role == Role::kIdentifier || column.role == Role::kLabel ||
                      column.role == Role::kCategory;
  return groups && !only_describes(column, rows);
}

/// Few names for many codes (event_id, event_name) are no names of the coded things.
bool names_enough(const Column& label, const Column& key) {
  return 2 * label.profile->distinct > key.profile->distinct;
}

/// `key` and those of `others` that are its labels, or other codes of the same.
Result<Entity> entity_of(const Words& stem, std::vector<const Column*> members,
                         Dependencies& dependencies) {
  std::ranges::sort(members, {}, [](const Column* column) { return key_order(*column); });
  Entity entity{.stem = stem, .prefix = stem, .key = members.front(), .rules = {"S1"}};
  entity.unique = is_unique(*entity.key->profile, dependencies.rows());
  for (const Column* member : members | std::views::drop(1)) {
    if (!names_enough(*member, *entity.key)) continue;
    STRATA_ASSIGN_OR_RETURN(const bool agrees, dependencies.agrees(*entity.key, *member));
    if (agrees) entity.attributes.push_back({.column = member, .rule = "S1"});
  }
  return entity;
}

/// Half of the most frequent cells are words with blanks between and no digits.
bool looks_like_names(const ColumnProfile& column) {
  const auto names = std::ranges::count_if(column.top, [](const CountedText& cell) {
    return cell.text.contains(' ') &&
           std::ranges::none_of(cell.text, [](char c) { return c >= '0' && c <= '9'; });
  });
  return 2 * static_cast<std::size_t>(names) >= column.top.size();
}

/// page_path of page_title.
bool says_where(const Column& column) {
  return !column.words.empty() && words::is_in(column.words.back(), words::kLocatorEndings);
}

bool is_code_only(const Entity& entity) {
  return entity.attributes.empty() &&
         (entity.key->role == Role::kIdentifier ||
          (entity.key->role == Role::kCategory &&
           (looks_like_codes(*entity.key->profile) || says_where(*entity.key))));
}

bool is_name_only(const Entity& entity) {
  return entity.attributes.empty() &&
         (entity.key->role == Role::kLabel ||
          (entity.key->role == Role::kCategory && looks_like_names(*entity.key->profile)));
}

/// S2, its first half, for one entity of names.
Result<void> join_to_code(Draft& draft, std::size_t names, Dependencies& dependencies) {
  const Entity& named = draft.entities[names];
  for (Entity& codes : draft.entities) {
    if (&codes == &named || !is_code_only(codes) || codes.stem.empty()) continue;
    // Not the other way round: each slip in a name is one more. That names are too many for their
    // codes, same_thing() sees.
    if (!names_enough(*named.key, *codes.key)) continue;
    STRATA_ASSIGN_OR_RETURN(const bool same, dependencies.same_thing(*codes.key, *named.key));
    if (!same) continue;
    // A column that only looks like names has no better word than one that says it is a code.
    const bool says_name = named.key->role == Role::kLabel;
    if (says_name || codes.key->role != Role::kIdentifier) {
      codes.stem = named.stem;
      codes.prefix = named.stem;
    }
    codes.attributes.push_back({.column = named.key, .rule = "S2"});
    codes.rules.emplace_back("S2");
    draft.erase(names);
    break;
  }
  return {};
}

/// S2, its second half: whose `name` or `email` this is. The coarsest entity that fixes it; of
/// entities that each have one row, a person.
Result<Entity*> owner_of_label(Draft& draft, const Column& label, Dependencies& dependencies) {
  Entity* owner = nullptr;
  Entity* person = nullptr;
  for (Entity& entity : draft.entities) {
    if (entity.stem.empty() || entity.key->role == Role::kLabel) continue;
    if (entity.unique && words::is_in(entity.stem.back(), words::kPersonNouns)) person = &entity;
    if (owner != nullptr && owner->key->profile->distinct <= entity.key->profile->distinct) {
      continue;
    }
    STRATA_ASSIGN_OR_RETURN(const bool fixed, dependencies.determines(*entity.key, label));
    if (fixed) owner = &entity;
  }
  return owner != nullptr ? owner : person;
}

bool is_event_time(const Column& column) {
  return column.role == Role::kTime && !words::any_in(column.words, words::kLifeWords);
}

/// An amount of money or of something that moved; a price and a weight stand on the thing itself.
bool is_flow(const Column& column) {
  if (column.role != Role::kMeasure || words::is_in("price", column.words)) return false;
  if (words::any_in(column.words, words::kSizeWords)) return false;
  return words::any_in(column.words, words::kMoneyWords) ||
         words::any_in(column.words, words::kQuantityWords);
}

/// Of rows that are things, each with its own code and its own name: the name's entity; nothing
/// else ties them together, as nothing repeats.
std::optional<std::size_t> own_names(const Draft& draft) {
  for (std::size_t i = 0; i < draft.entities.size(); ++i) {
    const Entity& entity = draft.entities[i];
    if (entity.unique && entity.attributes.empty() && entity.key->role == Role::kLabel) return i;
  }
  return std::nullopt;
}

/// A name that says not whose it is, beside codes: of an airport's iata.
bool has_nameless_label(const Draft& draft, const Entity& entity) {
  return std::ranges::any_of(draft.columns, [&](const Column& column) {
    return column.role == Role::kLabel && column.stem.empty() && draft.is_free(column) &&
           names_enough(column, *entity.key);
  });
}

bool is_named(const Draft& draft, const Entity& entity) {
  if (entity.key->role != Role::kIdentifier) return false;
  return entity.labelled() || own_names(draft) || has_nameless_label(draft, entity);
}

/// S2, where a stream lists things: names join their codes; what has only an iata or an isbn is
/// called like the stream.
void name_feed(Draft& draft) {
  Entity& feed = draft.entities[*draft.feed];
  const auto names = own_names(draft);
  if (!feed.labelled() && feed.key->role == Role::kIdentifier && names) {
    const Entity named = draft.entities[*names];
    feed.stem = named.stem;
    feed.prefix = named.stem;
    feed.attributes.push_back({.column = named.key, .rule = "S2"});
    feed.rules.emplace_back("S2");
    draft.erase(*names);
  } else if (feed.stem.size() == 1 && feed.key->stem == feed.stem &&
             words::is_in(feed.stem.front(), words::kIdentifierNouns)) {
    feed.stem.clear();
    feed.prefix.clear();
  }
}

bool better_feed(const Entity& one, const Entity& other) {
  return std::tuple(!one.labelled(), key_order(*one.key)) <
         std::tuple(!other.labelled(), key_order(*other.key));
}

}  // namespace

bool only_describes(const Column& column, std::uint64_t rows) {
  if (column.stem.empty()) return false;
  // `status_code` is a status all the same, so the stem is looked at.
  const std::string& noun = column.stem.back();
  if (words::is_in(noun, words::kAttributeEndings)) return true;
  // A unit that is called SN-17 is a thing.
  const bool thing = noun == "unit" && looks_like_codes(*column.profile);
  if (words::is_in(noun, words::kEnumEndings) && !thing) {
    return has_few_values(*column.profile, rows);
  }
  if (column.role != Role::kCategory) return false;
  if (words::is_in(column.words.back(), words::kTimeParts)) return true;
  if (looks_like_amounts(*column.profile)) return true;
  return is_number(column.profile->type) && !words::is_in(noun, words::kTypeEndings);
}

Result<void> propose_entities(Draft& draft, Dependencies& dependencies) {
  std::map<Words, std::vector<const Column*>> by_stem;
  for (const Column& column : draft.columns) {
    if (may_be_entity(column, dependencies.rows())) by_stem[column.stem].push_back(&column);
  }
  for (const auto& [stem, members] : by_stem) {
    const bool named = !stem.empty() || std::ranges::any_of(members, [](const Column* column) {
      return column->role == Role::kIdentifier;
    });
    if (!named) continue;  // labels of nobody: S2 looks for whose they are
    STRATA_ASSIGN_OR_RETURN(Entity entity, entity_of(stem, members, dependencies));
    draft.entities.push_back(std::move(entity));
  }
  return {};
}

Result<void> join_names_to_codes(Draft& draft, Dependencies& dependencies) {
  for (std::size_t i = draft.entities.size(); i-- > 0;) {
    if (!is_name_only(draft.entities[i])) continue;
    STRATA_RETURN_IF_ERROR(join_to_code(draft, i, dependencies));
  }
  for (const Column& column : draft.columns) {
    if (column.role != Role::kLabel || !column.stem.empty() || !draft.is_free(column)) continue;
    STRATA_ASSIGN_OR_RETURN(Entity* const owner, owner_of_label(draft, column, dependencies));
    if (owner != nullptr) owner->attributes.push_back({.column = &column, .rule = "S2"});
  }
  return {};
}

void find_feed(Draft& draft, const Dependencies& dependencies) {
  const bool events = std::ranges::any_of(draft.columns, is_event_time);
  if (events || std::ranges::any_of(draft.columns, is_flow)) return;
  const bool only_lists = std::ranges::none_of(draft.columns, [](const Column& column) {
    return column.role == Role::kTime || column.role == Role::kMeasure;
  });
  for (std::size_t i = 0; i < draft.entities.size(); ++i) {
    const Entity& entity = draft.entities[i];
    if (!entity.unique || !(only_lists || is_named(draft, entity))) continue;
    if (!draft.feed || better_feed(entity, draft.entities[*draft.feed])) draft.feed = i;
  }
  if (draft.feed) {
    name_feed(draft);
    return;
  }
  for (const Column& column : draft.columns) {
    if (column.role != Role::kLabel || !is_unique(*column.profile, dependencies.rows())) continue;
    draft.entities.push_back(
        {.stem = column.stem, .prefix = column.stem, .key = &column, .unique = true});
    draft.feed = draft.entities.size() - 1;
    return;
  }
}

void drop_unique_without_label(Draft& draft) {
  for (std::size_t i = draft.entities.size(); i-- > 0;) {
    const Entity& entity = draft.entities[i];
    const bool named = entity.labelled() && entity.key->role == Role::kIdentifier;
    if (entity.unique && !named && draft.feed != i) draft.erase(i);
  }
}

const Column* row_id(const Draft& draft, const Dependencies& dependencies) {
  const Column* best = nullptr;
  for (const Column& column : draft.columns) {
    if (column.role != Role::kIdentifier || !draft.is_free(column)) continue;
    if (!is_unique(*column.profile, dependencies.rows())) continue;
    if (best == nullptr || key_order(column) < key_order(*best)) best = &column;
  }
  return best;
}

}  // namespace strata::ontology
