#include "stream/receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/testing/expect.h"

namespace strata::stream {
namespace {

using Names = std::vector<std::string>;

TEST(ReceiverFile, HoldsEverySetting) {
  const Receiver any{.stream = "s", .created_at = "2026-06-29T00:00:00.000000Z"};
  EXPECT_EQ(to_json(any),
            R"({"stream":"s","columns":null,"partition":"none","max_body_bytes":1048576,)"
            R"("created_at":"2026-06-29T00:00:00.000000Z"})");
  Receiver full = any;
  full.columns = Names{"a \"quoted\"", "é"};
  full.max_body_bytes = 5;
  ASSERT_OK_AND_ASSIGN(const auto read, receiver_from_json(to_json(full)));
  EXPECT_TRUE(read.same_settings(full));
  EXPECT_EQ(read.created_at, full.created_at);
  EXPECT_FALSE(read.same_settings(any));
}

TEST(ReceiverFile, RefusesWhatIsNone) {
  for (
      const char* text :
      {"", "[]", "{}",
       R"({"stream":"s","columns":[1],"partition":"none","max_body_bytes":1,)"
       R"("created_at":""})",
       R"({"stream":"s","columns":null,"partition":"none","max_body_bytes":-1,"created_at":""})"}) {
    EXPECT_CODE(Code::kIo, receiver_from_json(text)) << text;
  }
}

TEST(CheckReceiver, SaysWhatCannotBe) {
  struct Row {
    Receiver receiver;
    Code code;
    const char* says;
  };
  const Row rows[] = {
      {{.partition = "day"}, Code::kNotYet, "not built yet"},
      {{.partition = "week"}, Code::kBadRequest, "none, day, hour"},
      {{.max_body_bytes = 0}, Code::kBadRequest, "from 1 to 67108864"},
      {{.max_body_bytes = 67108865}, Code::kBadRequest, "from 1 to 67108864"},
      {{.columns = Names{}}, Code::kBadRequest, "empty"},
      {{.columns = Names{"a", "A"}}, Code::kBadRequest, "'A' is named twice"},
      {{.columns = Names{"FileName"}}, Code::kBadRequest, ""},
      {{.columns = Names{""}}, Code::kBadRequest, ""},
      {{.columns = Names(1025, "x")}, Code::kBadRequest, "at most 1024"},
  };
  for (const Row& row : rows) {
    const auto checked = check_receiver(row.receiver);
    EXPECT_CODE(row.code, checked);
    if (!checked) {
      EXPECT_THAT(checked.error().message, ::testing::HasSubstr(row.says));
    }
  }
  EXPECT_OK(check_receiver({.columns = Names{"a", "b"}, .max_body_bytes = 67108864}));
}

}  // namespace
}  // namespace strata::stream
