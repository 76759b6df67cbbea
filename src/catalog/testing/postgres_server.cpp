#include "catalog/testing/postgres_server.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/testing/child_program.h"
#include "base/testing/loopback.h"

namespace strata::catalog {
namespace {

constexpr std::string_view kUnprivilegedUser = "nobody";
constexpr std::string_view kAdmin = "postgres";
constexpr std::chrono::seconds kStartWait{60};
constexpr std::chrono::milliseconds kTick{10};
constexpr int kPortTries = 10;
constexpr std::size_t kLogBytesShown = 2'000;

/// The folder of the newest version's programs; empty: none is installed.
std::string programs() {
  std::string newest;
  std::error_code none;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
    const std::string folder = (version.path() / "bin").string();
    if (::access((folder + "/postgres").c_str(), X_OK) == 0) newest = std::max(newest, folder);
  }
  return newest;
}

/// What puts a command under a user that postgres accepts, and ties its life to ours. Twice
/// setpriv: a change of user forgets the signal.
std::vector<std::string> guarded(std::string_view death_signal) {
  std::vector<std::string> command;
  if (::geteuid() == 0) {
    const passwd* user = ::getpwnam(kUnprivilegedUser.data());
    STRATA_CHECK(user != nullptr);
    command = {"setpriv", fmt::format("--reuid={}", user->pw_uid),
               fmt::format("--regid={}", user->pw_gid), "--clear-groups", "--"};
  }
  command.insert(command.end(), {"setpriv", "--pdeathsig", std::string(death_signal), "--"});
  return command;
}

void give_to_unprivileged_user(const std::string& path) {
  if (::geteuid() != 0) return;
  const passwd* user = ::getpwnam(kUnprivilegedUser.data());
  STRATA_CHECK(user != nullptr);
  STRATA_CHECK(::chown(path.c_str(), user->pw_uid, user->pw_gid) == 0);
}

}  // namespace

std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

void PostgresClient::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }

PostgresClient::PostgresClient(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
  EXPECT_EQ(PQstatus(connection_.get()), CONNECTION_OK) << PQerrorMessage(connection_.get());
  run("SET client_min_messages = warning");  // notices would go to standard error
}

std::string PostgresClient::value(const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection_.get(), sql.c_str()),
                                                             &PQclear);
  const auto status = PQresultStatus(result.get());
  EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
      << sql << ": " << PQerrorMessage(connection_.get());
  if (PQntuples(result.get()) == 0 || PQnfields(result.get()) == 0) return {};
  return PQgetvalue(result.get(), 0, 0);
}

bool PostgresServer::is_installed() { return !programs().empty(); }

PostgresServer& PostgresServer::shared() {
  static const std::unique_ptr<PostgresServer> server = [] {
    auto created = create();
    if (!created) ADD_FAILURE() << created.error().message << '\n' << created.error().detail;
    STRATA_CHECK(created.has_value());
    return std::move(created).value();
  }();
  return *server;
}

Result<std::unique_ptr<PostgresServer>> PostgresServer::create() {
  std::string folder = (std::filesystem::temp_directory_path() / "strata-postgres-XXXXXX").string();
  STRATA_CHECK(::mkdtemp(folder.data()) != nullptr);
  auto server = std::unique_ptr<PostgresServer>(new PostgresServer(folder));
  give_to_unprivileged_user(folder);
  STRATA_RETURN_IF_ERROR(server->initialize());
  STRATA_RETURN_IF_ERROR(server->start());
  server->create_user();
  return server;
}

PostgresServer::~PostgresServer() {
  stop();
  std::error_code left_behind;  // a leftover in the temp folder fails no test
  std::filesystem::remove_all(folder_, left_behind);
}

pid_t PostgresServer::spawn(const std::vector<std::string>& command,
                            std::string_view death_signal) const {
  std::vector<std::string> words = guarded(death_signal);
  words.insert(words.end(), command.begin(), command.end());
  return start_program(std::move(words), folder_ + "/log");
}

Error PostgresServer::failed_to(std::string_view what) const {
  std::ostringstream log;
  log << std::ifstream(folder_ + "/log").rdbuf();
  const std::string text = log.str();
  return make_error(Code::kIo, fmt::format("PostgreSQL did not {}", what),
                    text.substr(text.size() - std::min(text.size(), kLogBytesShown)));
}

Result<void> PostgresServer::initialize() {
  const pid_t pid =
      spawn({programs() + "/initdb", "-D", folder_ + "/data", "-U", std::string(kAdmin),
             "--no-sync", "--no-instructions", "--auth-local=trust", "--auth-host=scram-sha-256",
             "--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US"},
            "KILL");
  if (wait_for_end(pid) != 0) return failed_to("initialize its folder");
  return {};
}

Result<void> PostgresServer::start() {
  if (pid_ != 0) return {};
  Result<void> started;
  for (int tries = 0; tries < kPortTries; ++tries) {
    // Somebody else may take a free port before our server does.
    const std::uint16_t port = port_ == 0 ? free_port() : port_;
    started = start_at(port);
    if (!started) continue;
    port_ = port;
    break;
  }
  return started;
}

Result<void> PostgresServer::start_at(std::uint16_t port) {
  std::vector<std::string> command{programs() + "/postgres", "-D", folder_ + "/data"};
  for (const std::string& setting :
       {std::string("listen_addresses=127.0.0.1"), fmt::format("port={}", port),
        "unix_socket_directories=" + folder_, std::string("fsync=off"),
        std::string("full_page_writes=off"), std::string("autovacuum=off"),
        std::string("wal_level=minimal"), std::string("max_wal_senders=0"),
        std::string("shared_buffers=8MB"), std::string("max_connections=60")}) {
    command.insert(command.end(), {"-c", setting});
  }
  // QUIT: ended at once, but with its children and its shared memory.
  pid_ = spawn(command, "QUIT");
  const std::string ping = fmt::format("host={} port={} connect_timeout=2", folder_, port);
  const SteadyTime deadline = SystemClock().steady() + kStartWait;
  while (SystemClock().steady() < deadline) {
    if (ended(pid_)) {
      pid_ = 0;
      return failed_to("start");
    }
    if (PQping(ping.c_str()) == PQPING_OK) return {};
    std::this_thread::sleep_for(kTick);
  }
  stop();
  return failed_to("start in time");
}

void PostgresServer::stop() {
  if (pid_ == 0) return;
  static_cast<void>(::kill(pid_, SIGQUIT));
  wait_for_end(pid_);
  pid_ = 0;
}

std::string PostgresServer::admin_url(std::string_view database) const {
  return fmt::format("postgresql://{}@{}:{}/{}", kAdmin, percent_encode(folder_), port_, database);
}

void PostgresServer::create_user() {
  PostgresClient client(admin_url("postgres"));
  std::string password(kPassword);
  for (std::size_t at = 0; (at = password.find('\'', at)) != std::string::npos; at += 2) {
    password.insert(at, 1, '\'');
  }
  client.run(fmt::format("CREATE ROLE {} LOGIN PASSWORD '{}'", kUser, password));
}

PostgresServer::Database PostgresServer::create_database() {
  const std::string name = "test_" + random_hex(8);
  PostgresClient(admin_url("postgres"))
      .run(fmt::format("CREATE DATABASE {} OWNER {}", name, kUser));
  return {name,
          fmt::format("postgresql://{}:{}@127.0.0.1:{}/{}", kUser, percent_encode(kPassword), port_,
                      name),
          admin_url(name)};
}

}  // namespace strata::catalog
