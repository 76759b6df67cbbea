#include "sql_gate/functions.h"

#include <gtest/gtest.h>

#include <string>

namespace strata::sql_gate {
namespace {

TEST(FunctionsTest, AllowsWhatComputesAValue) {
  for (const char* name : {"+", "upper", "regexp_matches", "list_transform", "struct_pack", "count",
                           "row_number", "strftime", "json_extract", "unnest", "!__postfix"}) {
    EXPECT_TRUE(is_allowed_function(name)) << name;
  }
}

TEST(FunctionsTest, RefusesWhatReachesBeyondItsArguments) {
  for (const char* name : {"",
                           " ",
                           "upper lower",
                           "UPPER",
                           "upp",
                           "read_text",
                           "getenv",
                           "current_setting",
                           "getvariable",
                           "nextval",
                           "currval",
                           "query",
                           "query_table",
                           "glob",
                           "sleep_ms",
                           "pg_sleep",
                           "write_log",
                           "setseed",
                           "json_execute_serialized_sql",
                           "json_serialize_plan",
                           "duckdb_settings",
                           "pragma_version",
                           "txid_current",
                           "current_query",
                           "pg_get_viewdef"}) {
    EXPECT_FALSE(is_allowed_function(name)) << name;
  }
}

TEST(FunctionsTest, OfTableFunctionsAllowsThree) {
  for (const char* name : {"unnest", "range", "generate_series"}) {
    EXPECT_TRUE(is_allowed_table_function(name)) << name;
  }
  for (const char* name :
       {"", "read_csv", "parquet_scan", "glob", "query", "repeat", "unnest range", "json_each",
        "duckdb_views", "sniff_csv", "test_all_types"}) {
    EXPECT_FALSE(is_allowed_table_function(name)) << name;
  }
}

TEST(FunctionsTest, NamesTheNearest) {
  EXPECT_EQ(nearest_function("uper"), "upper");
  EXPECT_EQ(nearest_function("regexp_match"), "regexp_matches");
  EXPECT_EQ(nearest_function("read_parquet"), std::nullopt);
}

}  // namespace
}  // namespace strata::sql_gate
