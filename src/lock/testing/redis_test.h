#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lock/redis_connection.h"
#include "lock/testing/redis_server.h"

namespace strata::lock {

/// So that no slow machine fails a test; a refused connection is an error at once all the same.
inline constexpr RedisTimeouts kPatient{.connect = std::chrono::minutes(1),
                                        .command = std::chrono::minutes(1)};

/// STRATA_REQUIRE_ALL=1: a test that cannot run here is a failure.
inline bool must_run_all_tests() {
  const char* const value = std::getenv("STRATA_REQUIRE_ALL");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace strata::lock

/// For SetUp and test bodies that are about to start a RedisServer.
#define STRATA_NEEDS_REDIS()                                              \
  do {                                                                    \
    const std::string obstacle = ::strata::lock::RedisServer::obstacle(); \
    if (obstacle.empty()) break;                                          \
    ASSERT_FALSE(::strata::lock::must_run_all_tests()) << obstacle;       \
    GTEST_SKIP() << "skipped: " << obstacle;                              \
  } while (false)
