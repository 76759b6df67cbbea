#include "ontology/cells_sql.h"

#include <algorithm>
#include <cstddef>

namespace strata::ontology {
namespace {

/// Every number of so many significant digits survives the way into a DOUBLE and back.
constexpr std::uint64_t kDoubleDigits = 15;

duck::Sql number_of(CellKind kind) { return duck::Sql().number(static_cast<std::uint64_t>(kind)); }

/// A cell that the pattern matches whole is of the kind if the cast, spelled around it, says so (no
/// spelling: none is needed), else text.
struct Gate {
  duck::Sql::Text pattern;
  duck::Sql::Text cast_before;
  duck::Sql::Text cast_after;
  CellKind kind;
};

/// How else days are written that can be read one way only: a year first, days before points, names
/// of months. Between `before` and `after` a cell becomes what ISO 8601 has for it.
struct Spelling {
  duck::Sql::Text pattern;
  duck::Sql::Text before;
  duck::Sql::Text after;
  CellKind kind;
};

const std::vector<Spelling>& spellings() {
  static const std::vector<Spelling> all = {
      {"'[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}'", "replace(", ", '/', '-')", CellKind::kDate},
      {"'[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}[T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,9})?)?'",
       "replace(", ", '/', '-')", CellKind::kTimestamp},
      {"'[0-9]{1,2}\\.[0-9]{1,2}\\.[0-9]{4}'", "regexp_replace(",
       ", '^([0-9]+)\\.([0-9]+)\\.([0-9]+)', '\\3-\\2-\\1')", CellKind::kDate},
      {"'[0-9]{1,2}\\.[0-9]{1,2}\\.[0-9]{4}[T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,9})?)?'",
       "regexp_replace(", ", '^([0-9]+)\\.([0-9]+)\\.([0-9]+)', '\\3-\\2-\\1')",
       CellKind::kTimestamp},
      {"'[0-9]{1,2} [A-Z][a-z]{2} [0-9]{4}'", "strftime(try_strptime(",
       ", '%d %b %Y'), '%Y-%m-%d')", CellKind::kDate},
      {"'[A-Z][a-z]{2} [0-9]{1,2},? [0-9]{4}'", "strftime(try_strptime(replace(",
       ", ',', ''), '%b %d %Y'), '%Y-%m-%d')", CellKind::kDate},
      {"'(0[1-9]|1[0-2])/[0-9]{4}'", "regexp_replace(", ", '^([0-9]+)/([0-9]+)$', '\\2-\\1')",
       CellKind::kMonth},
      {"'[A-Z][a-z]{2} [0-9]{4}'", "strftime(try_strptime(", ", '%b %Y'), '%Y-%m')",
       CellKind::kMonth},
  };
  return all;
}

/// What TRY_CAST is asked behind a cell that ISO 8601 would spell so.
duck::Sql::Text cast_after(CellKind kind) {
  if (kind == CellKind::kMonth) return " || '-01' AS DATE)";
  return kind == CellKind::kDate ? duck::Sql::Text(" AS DATE)") : " AS TIMESTAMP)";
}

void append_spellings(duck::Sql& sql, const duck::Sql& cell) {
  for (const Spelling& one : spellings()) {
    sql.raw(" WHEN regexp_full_match(").append(cell).raw(", ").raw(one.pattern);
    sql.raw(") THEN CASE WHEN TRY_CAST(").raw(one.before).append(cell).raw(one.after);
    sql.raw(cast_after(one.kind)).raw(" IS NOT NULL THEN ").append(number_of(one.kind));
    sql.raw(" ELSE ").append(number_of(CellKind::kText)).raw(" END");
  }
}

void append_gate(duck::Sql& sql, const duck::Sql& cell, const Gate& gate) {
  sql.raw(" WHEN regexp_full_match(").append(cell).raw(", ").raw(gate.pattern).raw(") THEN ");
  if (gate.cast_before.text.empty()) {
    sql.append(number_of(gate.kind));
    return;
  }
  sql.raw("CASE WHEN ").raw(gate.cast_before).append(cell).raw(gate.cast_after).raw(" THEN ");
  sql.append(number_of(gate.kind)).raw(" ELSE ").append(number_of(CellKind::kText)).raw(" END");
}

/// A number's digits without point, exponent and zeros at either end.
duck::Sql significant_digits(const duck::Sql& number) {
  duck::Sql sql("trim(replace(split_part(lower(");
  return sql.append(number).raw("), 'e', 1), '.', ''), '+-0')");
}

}  // namespace

duck::Sql normalised(const duck::Sql& cell) {
  duck::Sql trimmed("trim(");
  trimmed.append(cell).raw(", ' \t\r\n')");
  // The length first: longer text is not looked at again.
  duck::Sql sql("CASE WHEN strlen(");
  sql.append(trimmed)
      .raw(") <= 4 AND lower(")
      .append(trimmed)
      .raw(") IN ('', 'null', 'none', 'n/a', 'na', 'nan', '-', '--', 'nil') THEN NULL ELSE ")
      .append(trimmed)
      .raw(" END");
  return sql;
}

duck::Sql kind_of(const duck::Sql& cell) {
  duck::Sql sql("CASE WHEN ");
  // All but words begin with a digit, a sign or a point, and none is long: two comparisons spare
  // most text the expressions.
  sql.append(cell).raw(" < '+' OR (").append(cell).raw(" >= ':' AND (strlen(").append(cell);
  // `Jun 2026` and `Jun 12, 2026` are the dates that begin like a word.
  sql.raw(") NOT BETWEEN 8 AND 12 OR substr(").append(cell);
  sql.raw(", 4, 1) <> ' ')) THEN CASE WHEN strlen(");
  sql.append(cell).raw(") <= 5 AND lower(").append(cell);
  sql.raw(") IN ('true', 'false', 'yes', 'no', 't', 'f', 'y', 'n') THEN ");
  sql.append(number_of(CellKind::kWord)).raw(" ELSE ").append(number_of(CellKind::kText));
  sql.raw(" END WHEN strlen(").append(cell).raw(") > 64 THEN ").append(number_of(CellKind::kText));

  sql.raw(" WHEN regexp_full_match(").append(cell).raw(", '[+-]?(0|[1-9][0-9]*)') THEN CASE WHEN ");
  sql.raw("TRY_CAST(").append(cell).raw(" AS BIGINT) IS NOT NULL THEN ");
  sql.append(number_of(CellKind::kInteger)).raw(" WHEN ").append(integer_digits(cell));
  sql.raw(" <= 38 THEN ").append(number_of(CellKind::kHuge)).raw(" ELSE ");
  sql.append(number_of(CellKind::kText)).raw(" END");

  for (const Gate& gate : {
           Gate{"'[+-]?0[0-9]+'", "", "", CellKind::kZeros},
           Gate{"'[+-]?((0|[1-9][0-9]*)\\.[0-9]*|\\.[0-9]+)'", "", "", CellKind::kDecimal},
           // So small an exponent beside so few digits makes no DOUBLE zero or infinite.
           Gate{"'[+-]?((0|[1-9][0-9]*)(\\.[0-9]*)?|\\.[0-9]+)[eE][+-]?0*([0-9]{1,2}|1[0-9]{2})'",
                "", "", CellKind::kExponent},
           Gate{"'[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}'", "TRY_CAST(", " AS DATE) IS NOT NULL",
                CellKind::kDate},
           Gate{"'[0-9]{4}-(0[1-9]|1[0-2])'", "", "", CellKind::kMonth},
           Gate{"'[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,9})?)"
                "?'",
                "TRY_CAST(", " AS TIMESTAMP) IS NOT NULL", CellKind::kTimestamp},
           Gate{"'[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[T ][0-9]{1,2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?"
                "(Z|[+-](0[0-9]|1[0-8])(:?[0-5][0-9])?)'",
                "TRY_CAST(", " AS TIMESTAMPTZ) IS NOT NULL", CellKind::kTimestampTz},
       }) {
    append_gate(sql, cell, gate);
  }
  append_spellings(sql, cell);
  return sql.raw(" ELSE ").append(number_of(CellKind::kText)).raw(" END");
}

bool has_spellings(Type type) {
  return type == Type::kDate || type == Type::kMonth || type == Type::kTimestamp;
}

duck::Sql as_iso(const duck::Sql& cell, Type type) {
  const std::vector<CellKind> kinds = kinds_of(type);
  duck::Sql sql("CASE");
  for (const Spelling& one : spellings()) {
    if (std::ranges::find(kinds, one.kind) == kinds.end()) continue;
    sql.raw(" WHEN regexp_full_match(").append(cell).raw(", ").raw(one.pattern).raw(") THEN ");
    sql.raw(one.before).append(cell).raw(one.after);
  }
  return sql.raw(" ELSE ").append(cell).raw(" END");
}

duck::Sql integer_digits(const duck::Sql& cell) {
  return duck::Sql("strlen(split_part(ltrim(").append(cell).raw(", '+-'), '.', 1))");
}

duck::Sql scale(const duck::Sql& cell) {
  return duck::Sql("strlen(split_part(").append(cell).raw(", '.', 2))");
}

duck::Sql survives_double(const duck::Sql& cell, const duck::Sql& kind) {
  const duck::Sql digits = significant_digits(cell);
  duck::Sql read("CAST(TRY_CAST(");
  read.append(cell).raw(" AS DOUBLE) AS VARCHAR)");
  duck::Sql sql("(strlen(");
  sql.append(digits).raw(") <= ").number(kDoubleDigits).raw(" OR (NOT ");
  sql.append(is_one_of(kind, {CellKind::kInteger, CellKind::kHuge})).raw(" AND ");
  // Numbers of the same digits this near to each other have the same exponent.
  return sql.append(digits).raw(" = ").append(significant_digits(read)).raw("))");
}

duck::Sql is_one_of(const duck::Sql& kind, const std::vector<CellKind>& kinds) {
  duck::Sql sql;
  sql.append(kind).raw(" IN (");
  for (std::size_t index = 0; index < kinds.size(); ++index) {
    if (index != 0) sql.raw(", ");
    sql.append(number_of(kinds[index]));
  }
  return sql.raw(")");
}

std::vector<CellKind> kinds_of(Type type) {
  switch (type) {
    case Type::kVarchar:
      return {};
    case Type::kBigint:
      return {CellKind::kInteger};
    case Type::kDecimal:
      return {CellKind::kInteger, CellKind::kHuge, CellKind::kDecimal};
    case Type::kDouble:
      return {CellKind::kInteger, CellKind::kHuge, CellKind::kDecimal, CellKind::kExponent};
    case Type::kDate:
      return {CellKind::kDate};
    case Type::kMonth:
      return {CellKind::kMonth};
    case Type::kTimestamp:
      return {CellKind::kTimestamp};
    case Type::kTimestampTz:
      return {CellKind::kTimestampTz};
    case Type::kBoolean:
      return {CellKind::kWord};
  }
  return {};
}

duck::Sql stable_hash(const duck::Sql& text) {
  return duck::Sql("md5_number_lower(").append(text).raw(")");
}

}  // namespace strata::ontology
