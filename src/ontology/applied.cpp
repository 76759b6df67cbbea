#include "ontology/applied.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>
#include <exception>
#include <map>
#include <optional>
#include <set>

#include "base/sha256.h"

namespace strata::ontology {
namespace {

namespace json = boost::json;
using duck::Sql;

constexpr std::string_view kFact = "fact";
constexpr std::string_view kDimension = "dimension";

constexpr std::string_view kStreamSource = "stream:";

json::object render(const AppliedTable& table) {
  json::array columns;
  for (const auto& [name, type] : table.columns) {
    columns.push_back({{"name", name},
                       {"type", type_name(type.type)},
                       {"precision", type.precision},
                       {"scale", type.scale}});
  }
  return {{"type_view", table.type_view},
          {"view", table.view},
          {"kind", table.kind == Kind::kFact ? kFact : kDimension},
          {"key", table.key},
          {"columns", std::move(columns)},
          {"file", table.file},
          {"rows", table.rows}};
}

Type type_called(std::string_view name) {
  for (const Type type : {Type::kBigint, Type::kDecimal, Type::kDouble, Type::kDate, Type::kMonth,
                          Type::kTimestamp, Type::kTimestampTz, Type::kBoolean}) {
    if (type_name(type) == name) return type;
  }
  return Type::kVarchar;
}

TypedColumn read_column(const json::object& object) {
  return {.name = json::value_to<std::string>(object.at("name")),
          .type = {.type = type_called(object.at("type").as_string()),
                   .precision = object.at("precision").to_number<std::uint8_t>(),
                   .scale = object.at("scale").to_number<std::uint8_t>()}};
}

AppliedTable read_table(const json::object& object) {
  AppliedTable table{
      .type_view = json::value_to<std::string>(object.at("type_view")),
      .view = json::value_to<std::string>(object.at("view")),
      .kind = object.at("kind").as_string() == kFact ? Kind::kFact : Kind::kDimension,
      .key = json::value_to<std::string>(object.at("key")),
      .columns = {},
      .file = json::value_to<std::string>(object.at("file")),
      .rows = object.at("rows").to_number<std::uint64_t>()};
  for (const json::value& column : object.at("columns").as_array()) {
    table.columns.push_back(read_column(column.as_object()));
  }
  return table;
}

AppliedStream read_stream(const json::object& object) {
  AppliedStream stream{.stream = json::value_to<std::string>(object.at("stream")),
                       .snapshot = object.at("snapshot").to_number<std::uint64_t>(),
                       .rows = object.at("rows").to_number<std::uint64_t>(),
                       .taken_at = json::value_to<std::string>(object.at("taken_at")),
                       .fingerprint = json::value_to<std::string>(object.at("fingerprint")),
                       .model_json = json::value_to<std::string>(object.at("model")),
                       .tables = {}};
  for (const json::value& table : object.at("tables").as_array()) {
    stream.tables.push_back(read_table(table.as_object()));
  }
  return stream;
}

struct Source {
  const AppliedStream* stream;
  const AppliedTable* table;
};

std::string source_name(const Source& source) {
  return std::string(kStreamSource) + source.stream->stream;
}

Sql rows_of(const AppliedTable& table, std::string_view kb_folder) {
  // Not what folders above the kb's are called: `/backups/day=1/`.
  return Sql("read_parquet(")
      .glob(fmt::format("{}/{}", kb_folder, table.file), "")
      .raw(", hive_partitioning=false)");
}

Sql one_source(const Source& source, std::string_view kb_folder) {
  return Sql("SELECT *, ")
      .literal(source_name(source))
      .raw(" AS _strata_source FROM ")
      .append(rows_of(*source.table, kb_folder));
}

/// Of each source's rows the columns as `columns` types them.
Sql cast_source(const Source& source, const std::vector<TypedColumn>& columns,
                std::string_view kb_folder) {
  Sql select("SELECT ");
  for (const TypedColumn& column : source.table->columns) {
    const TypedColumn& wanted = *std::ranges::find(columns, column.name, &TypedColumn::name);
    select.raw("CAST(").ident(column.name).raw(" AS ").append(sql_type(wanted.type));
    select.raw(") AS ").ident(column.name).raw(", ");
  }
  return select.raw("_strata_conflicts, ")
      .literal(source_name(source))
      .raw(" AS _strata_source FROM ")
      .append(rows_of(*source.table, kb_folder));
}

/// Of all sources; what is of several types that no type holds is text.
std::vector<TypedColumn> columns_of(const std::vector<Source>& sources) {
  std::vector<TypedColumn> columns;
  for (const Source& source : sources) {
    for (const TypedColumn& column : source.table->columns) {
      const auto known = std::ranges::find(columns, column.name, &TypedColumn::name);
      if (known == columns.end()) {
        columns.push_back(column);
      } else {
        known->type = common_type(known->type, column.type).value_or(ColumnType());
      }
    }
  }
  return columns;
}

/// Each key once; of a property the value of the first stream, by name, that has one. Where streams
/// say different things, that is a conflict as it is within one.
Sql conformed(const std::vector<Source>& sources, std::string_view kb_folder) {
  const std::vector<TypedColumn> columns = columns_of(sources);
  Sql all;
  for (const Source& source : sources) {
    if (!all.str().empty()) all.raw(" UNION ALL BY NAME ");
    all.raw("(").append(cast_source(source, columns, kb_folder)).raw(")");
  }
  const std::string& key = sources.front().table->key;
  Sql select("SELECT ");
  select.ident(key);
  Sql conflicts("0");
  for (const auto& [column, type] : columns) {
    if (column == key) continue;
    select.raw(", arg_min(").ident(column).raw(", _strata_source) AS ").ident(column);
    conflicts.raw(" + coalesce(min(").ident(column).raw(") <> max(").ident(column);
    conflicts.raw("), FALSE)::INTEGER");
  }
  return select.raw(", greatest(max(_strata_conflicts), ")
      .append(conflicts)
      .raw(") AS _strata_conflicts, min(_strata_source) AS _strata_source FROM (")
      .append(all)
      .raw(") GROUP BY ")
      .ident(key);
}

const ColumnType& key_type(const AppliedTable& table) {
  return std::ranges::find(table.columns, table.key, &TypedColumn::name)->type;
}

/// The view over what others have of the dimension `table`, if all their keys are of one kind; of
/// several the one it had.
std::string shared_view(const AppliedTable& table, const std::vector<Source>& others,
                        const std::string& old) {
  std::map<std::string, std::optional<ColumnType>> views;
  for (const auto& [stream, other] : others) {
    if (other->kind != Kind::kDimension || other->key != table.key ||
        other->type_view != table.type_view) {
      continue;
    }
    auto& type = views.try_emplace(other->view, key_type(table)).first->second;
    if (type) type = common_type(*type, key_type(*other));
  }
  std::erase_if(views, [](const auto& view) { return !view.second; });
  if (views.contains(old)) return old;
  return views.empty() ? std::string() : views.begin()->first;
}

}  // namespace

std::string to_json(const Applied& applied) {
  json::array streams;
  for (const AppliedStream& stream : applied) {
    json::array tables;
    for (const AppliedTable& table : stream.tables) tables.push_back(render(table));
    streams.push_back(json::object{{"stream", stream.stream},
                                   {"snapshot", stream.snapshot},
                                   {"rows", stream.rows},
                                   {"taken_at", stream.taken_at},
                                   {"fingerprint", stream.fingerprint},
                                   {"model", stream.model_json},
                                   {"tables", std::move(tables)}});
  }
  return json::serialize(json::object{{"streams", std::move(streams)}});
}

Result<Applied> parse_applied(std::string_view text) {
  try {
    Applied applied;
    const json::value whole = json::parse(text);
    for (const json::value& stream : whole.as_object().at("streams").as_array()) {
      applied.push_back(read_stream(stream.as_object()));
    }
    return applied;
  } catch (const std::exception& error) {
    return make_error(Code::kIo, "The stored model of this knowledgebase is damaged.",
                      error.what());
  }
}

std::string model_digest(const Applied& applied) {
  std::string all;
  for (const AppliedStream& stream : applied) {
    all += fmt::format("{}\n{}\n", stream.stream, stream.model_json);
  }
  return sha256_hex(all);
}

void name_views(AppliedStream& stream, const Applied& applied) {
  std::vector<Source> others;
  std::vector<Source> before;
  for (const AppliedStream& one : applied) {
    for (const AppliedTable& table : one.tables) {
      (one.stream == stream.stream ? before : others).push_back({&one, &table});
    }
  }
  std::set<std::string> taken;
  for (const Source& other : others) taken.insert(other.table->view);
  std::vector<AppliedTable*> unnamed;
  for (AppliedTable& table : stream.tables) {
    const auto old = std::ranges::find_if(before, [&table](const Source& one) {
      return one.table->type_view == table.type_view && one.table->kind == table.kind;
    });
    if (old != before.end() && taken.insert(old->table->view).second) {
      table.view = old->table->view;
      continue;
    }
    if (table.kind == Kind::kDimension) {
      table.view = shared_view(table, others, old == before.end() ? "" : old->table->view);
    }
    if (table.view.empty()) unnamed.push_back(&table);
  }
  for (AppliedTable* const table : unnamed) {
    table->view = table->type_view;
    for (int number = 2; !taken.insert(table->view).second; ++number) {
      table->view = fmt::format("{}_{}", table->type_view, number);
    }
  }
}

std::vector<OntologyView> views_of(const Applied& applied, std::string_view kb_folder) {
  std::map<std::string, std::vector<Source>> views;
  for (const AppliedStream& stream : applied) {
    for (const AppliedTable& table : stream.tables) {
      views[table.view].push_back({&stream, &table});
    }
  }
  std::vector<OntologyView> all;
  for (const auto& [name, sources] : views) {
    all.push_back({name, sources.size() == 1 ? one_source(sources.front(), kb_folder)
                                             : conformed(sources, kb_folder)});
  }
  return all;
}

}  // namespace strata::ontology
