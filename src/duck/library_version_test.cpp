#include "duck/library_version.h"

#include <gtest/gtest.h>

#include "duck/copy_batch_writer.h"

namespace strata::duck {
namespace {

TEST(LibraryVersionTest, OlderThanOnePointFiveIsRefused) {
  struct Case {
    const char* version;
    bool accepted;
  };
  const Case cases[] = {
      {"v1.5.0", true},       {"v1.5.6", true},  {"1.5", true},  {"v1.10.0", true},
      {"v2.0.0", true},       {"v1.4.5", false}, {"1.4", false}, {"v0.10.3", false},
      {"v1.5.0-dev17", true}, {"", false},       {"v1", false},  {"v1.", false},
      {"unknown", false},
  };
  for (const Case& example : cases) {
    const Result<void> checked = check_version(example.version);
    ASSERT_EQ(checked.has_value(), example.accepted) << example.version;
    if (checked) continue;
    EXPECT_NE(checked.error().message.find("needs 1.5 or newer"), std::string::npos);
    EXPECT_EQ(checked.error().message.find('\n'), std::string::npos);
  }
}

TEST(LibraryVersionTest, TheLoadedLibraryIsAccepted) {
  EXPECT_TRUE(check_library_version().has_value()) << library_version();
}

}  // namespace
}  // namespace strata::duck
