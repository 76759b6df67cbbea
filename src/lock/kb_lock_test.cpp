#include "lock/kb_lock.h"

#include <gtest/gtest.h>

namespace strata::lock {
namespace {

TEST(Purpose, NamesAreThoseOfTheMetric) {
  EXPECT_EQ(purpose_name(Purpose::kView), "view");
  EXPECT_EQ(purpose_name(Purpose::kOntology), "ontology");
  EXPECT_EQ(purpose_name(Purpose::kResync), "resync");
  EXPECT_EQ(purpose_name(Purpose::kRelocate), "relocate");
  EXPECT_EQ(purpose_name(Purpose::kUpload), "upload");
  EXPECT_EQ(purpose_name(Purpose::kDrop), "drop");
}

}  // namespace
}  // namespace strata::lock
