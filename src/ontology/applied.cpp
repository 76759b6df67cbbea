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

#include "base/sha256.h"

namespace strata::ontology {
namespace {

namespace json = boost::json;
using duck::Sql;

constexpr std::string_view kFact = "fact";
constexpr std::string_view kDimension = "dimension";

json::object render(const AppliedTable& table) {
  return {
      {"view", table.view}, {"kind", table.kind == Kind::kFact ? kFact : kDimension},
      {"key", table.key},   {"columns", json::array(table.columns.begin(), table.columns.end())},
      {"file", table.file}, {"rows", table.rows}};
}

AppliedTable read_table(const json::object& object) {
  return {.view = json::value_to<std::string>(object.at("view")),
          .kind = object.at("kind").as_string() == kFact ? Kind::kFact : Kind::kDimension,
          .key = json::value_to<std::string>(object.at("key")),
          .columns = json::value_to<std::vector<std::string>>(object.at("columns")),
          .file = json::value_to<std::string>(object.at("file")),
          .rows = object.at("rows").to_number<std::uint64_t>()};
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

Sql rows_of(const AppliedTable& table, std::string_view kb_folder) {
  return Sql("read_parquet(").glob(fmt::format("{}/{}", kb_folder, table.file), "").raw(")");
}

Sql one_source(const Source& source, std::string_view kb_folder) {
  return Sql("SELECT *, ")
      .literal("stream:" + source.stream->stream)
      .raw(" AS _strata_source FROM ")
      .append(rows_of(*source.table, kb_folder));
}

/// Each key once; of a property the value of the first stream, by name, that has one.
Sql conformed(const std::vector<Source>& sources, std::string_view kb_folder) {
  Sql all;
  std::vector<std::string> columns;
  for (const Source& source : sources) {
    if (!all.str().empty()) all.raw(" UNION ALL BY NAME ");
    all.raw("(").append(one_source(source, kb_folder)).raw(")");
    for (const std::string& column : source.table->columns) {
      const bool is_new = std::ranges::find(columns, column) == columns.end();
      if (is_new && column != sources.front().table->key) {
        columns.push_back(column);
      }
    }
  }
  const std::string& key = sources.front().table->key;
  Sql select("SELECT ");
  select.ident(key);
  for (const std::string& column : columns) {
    select.raw(", arg_min(").ident(column).raw(", _strata_source) AS ").ident(column);
  }
  return select
      .raw(
          ", max(_strata_conflicts) AS _strata_conflicts, min(_strata_source) AS _strata_source "
          "FROM (")
      .append(all)
      .raw(") GROUP BY ")
      .ident(key);
}

Sql view(const std::string& name, const Sql& select) {
  return Sql("CREATE OR REPLACE VIEW ontology.").ident(name).raw(" AS ").append(select);
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

std::vector<OntologyView> views_of(const Applied& applied, std::string_view kb_folder) {
  // Dimensions of one name and key are one; facts never are.
  std::map<std::pair<std::string, std::string>, std::vector<Source>> dimensions;
  std::vector<Source> facts;
  for (const AppliedStream& stream : applied) {
    for (const AppliedTable& table : stream.tables) {
      if (table.kind == Kind::kFact) {
        facts.push_back({&stream, &table});
      } else {
        dimensions[{table.view, table.key}].push_back({&stream, &table});
      }
    }
  }
  std::map<std::string, Sql> views;
  const auto add = [&views](const std::string& name, const Sql& select) {
    std::string free = name;
    for (int number = 2; views.contains(free); ++number) free = fmt::format("{}_{}", name, number);
    views.emplace(free, view(free, select));
  };
  for (const auto& [name, sources] : dimensions) {
    add(name.first, sources.size() == 1 ? one_source(sources.front(), kb_folder)
                                        : conformed(sources, kb_folder));
  }
  for (const Source& source : facts) add(source.table->view, one_source(source, kb_folder));
  std::vector<OntologyView> all;
  for (auto& [name, ddl] : views) all.push_back({name, std::move(ddl)});
  return all;
}

}  // namespace strata::ontology
