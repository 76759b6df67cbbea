#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

struct pg_conn;

namespace strata::catalog {

/// An outside client, straight on libpq. A statement that fails is a failure of the test.
class PostgresClient {
 public:
  explicit PostgresClient(const std::string& url);

  void run(const std::string& sql) { value(sql); }
  /// The first value of the answer; empty: none.
  std::string value(const std::string& sql);

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  std::unique_ptr<pg_conn, Finish> connection_;
};

/// A PostgreSQL of the test's own: on a free port of 127.0.0.1, in a private folder below the
/// system's temp folder, without fsync; for root as the user `nobody`, since postgres refuses root.
/// It ends with this object, and with the thread that started it, even if that is killed. Its
/// databases order text as English does, not by bytes.
class PostgresServer {
 public:
  struct Database {
    std::string name;
    /// As a user who owns the database and no more, by TCP and with a password of special
    /// characters.
    std::string url;
    /// As the superuser, by a socket in the private folder.
    std::string admin_url;
  };
  static constexpr std::string_view kUser = "strata_app";
  /// All that a URL, a connection string or an SQL literal could trip over.
  static constexpr std::string_view kPassword = "p@s:s/w?r#d%&='\" \\\xc3\xa9";

  /// Whether Debian's server is on this machine.
  static bool is_installed();
  /// kIo: it did not start; the detail is the end of its log.
  static Result<std::unique_ptr<PostgresServer>> create();
  /// The program's own, started by the first call, ended with the program.
  static PostgresServer& shared();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// Fresh, and empty.
  Database create_database();
  /// At the port it had; does nothing while it runs.
  Result<void> start();
  /// As by a power cut, but what is written stays.
  void stop();
  std::uint16_t port() const { return port_; }

 private:
  explicit PostgresServer(std::string folder) : folder_(std::move(folder)) {}

  Result<void> initialize();
  Result<void> start_at(std::uint16_t port);
  void create_user();
  std::string admin_url(std::string_view database) const;
  Error failed_to(std::string_view what) const;
  pid_t spawn(const std::vector<std::string>& command, std::string_view death_signal) const;

  const std::string folder_;
  std::uint16_t port_ = 0;
  pid_t pid_ = 0;  // 0: does not run
};

/// Each byte but letters and digits as `%2F`.
std::string percent_encode(std::string_view text);

}  // namespace strata::catalog

/// In SetUp: the test runs only where there is a PostgreSQL to start, and fails there under
/// STRATA_REQUIRE_ALL=1.
#define STRATA_SKIP_WITHOUT_POSTGRES()                                          \
  do {                                                                          \
    if (::strata::catalog::PostgresServer::is_installed()) break;               \
    const char* all = std::getenv("STRATA_REQUIRE_ALL");                        \
    if (all != nullptr && std::string_view(all) == "1") {                       \
      GTEST_FAIL() << "PostgreSQL is missing, and STRATA_REQUIRE_ALL wants it"; \
    }                                                                           \
    GTEST_SKIP() << "skipped: PostgreSQL is missing";                           \
  } while (false)
