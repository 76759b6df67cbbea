#include "ontology/date_look.h"

#include <gtest/gtest.h>

namespace strata::ontology {
namespace {

TEST(DateLookTest, OfDaysMonthsAndInstants) {
  for (const char* const date :
       {"2026-02-28", "2026/2/28", "31.05.2023", "02/15/2023", "15/02/2023", "06/2026", "Jun 2026",
        "Jun 12 1998", "12 june 1998", "12-Jun-1998", "31.05.2023 10:00", "31.05.2023T10:00:00Z",
        "2026/02/28 10:00:00.5+02:00"}) {
    EXPECT_TRUE(reads_like_date(date)) << date;
  }
}

TEST(DateLookTest, NotOfVersionsNumbersAndWords) {
  for (const char* const other :
       {"", "2026", "2.10.1", "117/2026", "0/2026", "13/2026", "05.32.2023", "13.14.2023",
        "31.05/2023", "31.05.", "31.05.23", "10:00", "May", "Juniper 2026", "12 Monkeys 1995",
        "1/2/3/2026", "2026/2027/01", "1850-01-01", "31.05.2023 late"}) {
    EXPECT_FALSE(reads_like_date(other)) << other;
  }
}

}  // namespace
}  // namespace strata::ontology
