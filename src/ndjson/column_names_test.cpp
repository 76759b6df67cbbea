#include "ndjson/column_names.h"

#include <gtest/gtest.h>

#include <string>

#include "ndjson/parse.h"

namespace strata::ndjson {
namespace {

using namespace std::string_literals;

TEST(ReservedColumn, AnyAsciiCaseOfTheNamesAndThePrefix) {
  for (const char* name :
       {"filename", "FILENAME", "FileName", "_batch_id", "_Batch_Id", "_dt", "_DT", "_hour",
        "_received_at", "_RECEIVED_AT", "_strata", "_STRATA", "_strata_manifest", "_stratagem"}) {
    EXPECT_TRUE(is_reserved_column(name)) << name;
  }
  EXPECT_TRUE(is_reserved_column("_strata" + std::string(1000, 'x')));
  for (const char* name : {"", "file", "filename2", "file_name", " filename", "filename ",
                           "batch_id", "_batch_id_", "_batch", "dt", "_dt_", "hour", "received_at",
                           "_received_at2", "strata", "_strat", "__strata", "ﬁlename"}) {
    EXPECT_FALSE(is_reserved_column(name)) << name;
  }
  EXPECT_FALSE(is_reserved_column("filename\0"s));
}

TEST(ColumnName, SaysWhyItCannotBeOne) {
  const struct {
    std::string name;
    std::string problem;
  } rows[] = {
      {"temp", ""},
      {"a.b c\"d\\e;--", ""},
      {" a ", ""},
      {"É値😀", ""},
      {std::string(255, 'k'), ""},
      {"select", ""},
      {"", "The column name is empty: name it at the producer."},
      {"a\nb", "The column name 'a\\u000ab' has a control character: rename it at the producer."},
      {"a\0"s, "The column name 'a\\u0000' has a control character: rename it at the producer."},
      {"a\x7f", "The column name 'a\\u007f' has a control character: rename it at the producer."},
      {"\u0080", "The column name '\\u0080' has a control character: rename it at the producer."},
      {std::string(256, 'k'), "The column name '" + std::string(40, 'k') +
                                  "…' is 256 bytes long: at most 255 are allowed."},
      {"Filename", "The column name 'Filename' is reserved for Strata: rename it at the producer."},
      {"_strata_x",
       "The column name '_strata_x' is reserved for Strata: rename it at the producer."},
      {"a\xff", "The column name is not valid UTF-8: send it in UTF-8."},
      {std::string(300, '\xff'), "The column name is not valid UTF-8: send it in UTF-8."}};
  for (const auto& row : rows) {
    EXPECT_EQ(column_name_problem(row.name), row.problem) << row.name;
    EXPECT_EQ(is_legal_column(row.name), row.problem.empty()) << row.name;
  }
}

}  // namespace
}  // namespace strata::ndjson
