#include "catalog/postgres_connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/whole_number.h"

namespace strata::catalog {
namespace {

/// How much longer than the server's own limit we wait for an answer. Then nobody will send one: a
/// cut line says nothing.
constexpr std::chrono::milliseconds kAnswerGrace{1'000};

constexpr std::string_view kOutOfReach =
    "PostgreSQL is out of reach, or does not let Strata in. See that it runs and that --postgres "
    "names its host, database, user and password; Strata goes on trying by itself.";

struct Refusal {
  std::string_view state;  // an SQLSTATE or its beginning
  Code code;
  std::string_view message;
};

constexpr std::string_view kWriterInTheWay =
    "The catalog is being written by somebody else; try again.";
constexpr std::string_view kSlow = "PostgreSQL took too long to answer; try again.";
constexpr std::string_view kFilesFailed =
    "PostgreSQL could not read or write files of its own: look at its log.";

/// The first that fits holds.
constexpr std::array kRefusals = {
    Refusal{"55P03", Code::kBusy, kWriterInTheWay},  // lock_timeout
    Refusal{"40", Code::kBusy, kWriterInTheWay},     // a deadlock, a serialization failure
    Refusal{"57014", Code::kBusy, kSlow},            // statement_timeout
    Refusal{"25P03", Code::kBusy, kSlow},            // idle_in_transaction_session_timeout
    Refusal{"53100", Code::kDiskFull,
            "The disk that holds PostgreSQL is full; free some space and try again."},
    Refusal{"53", Code::kBusy, "PostgreSQL has no room for more work now; try again."},
    Refusal{"08", Code::kIo, kOutOfReach},
    Refusal{"57", Code::kIo, kOutOfReach},
    Refusal{"25006", Code::kIo,
            "PostgreSQL takes no writes: it is a standby or set to read-only. Let --postgres name "
            "the primary."},
    Refusal{"42501", Code::kIo,
            "PostgreSQL does not let Strata's user use or make the schema 'strata': run GRANT "
            "CREATE ON DATABASE for that user, or make it the owner of the schema and its tables."},
    Refusal{"58", Code::kIo, kFilesFailed},
    Refusal{"XX001", Code::kIo, kFilesFailed},
    Refusal{"XX002", Code::kIo, kFilesFailed},
};

/// libpq's own words, which have lines and tabs, for a log.
std::string one_line(std::string words) {
  std::ranges::replace_if(words, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  words.erase(words.find_last_not_of(' ') + 1);
  return words;
}

Error out_of_reach(std::string detail) {
  return make_error(Code::kIo, std::string(kOutOfReach), one_line(std::move(detail)));
}

/// What a statement was refused with. No state: libpq made the result up because the line broke.
Error failure(const pg_result* result) {
  const char* state_text = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (state_text == nullptr) return out_of_reach(PQresultErrorMessage(result));
  const std::string_view state = state_text;
  // The primary message alone: the server's details quote values.
  const char* words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  std::string detail = fmt::format("PostgreSQL {}: {}", state, words == nullptr ? "" : words);
  const auto* refusal = std::ranges::find_if(
      kRefusals, [&](const Refusal& known) { return state.starts_with(known.state); });
  if (refusal == kRefusals.end()) {
    return make_error(Code::kInternal, "The catalog refused a statement of ours.",
                      std::move(detail));
  }
  return make_error(refusal->code, std::string(refusal->message), std::move(detail));
}

}  // namespace

void PostgresConnection::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }
void PostgresAnswer::Clear::operator()(pg_result* result) const { PQclear(result); }

int PostgresAnswer::rows() const { return PQntuples(result_.get()); }

std::string PostgresRow::text(int column) const {
  return {PQgetvalue(result_, row_, column),
          static_cast<std::size_t>(PQgetlength(result_, row_, column))};
}

std::optional<std::uint64_t> PostgresRow::number(int column) const {
  if (PQgetisnull(result_, row_, column) == 1) return std::nullopt;
  return parse_whole_number(text(column));
}

PostgresConnection::PostgresConnection(const PostgresTimeouts& timeouts, const Clock& clock)
    : clock_(clock), answer_wait_(timeouts.statement + kAnswerGrace) {}

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::connect(
    const PostgresUrl& url, const PostgresTimeouts& timeouts, const Clock& clock) {
  const std::string connect_seconds = std::to_string(timeouts.connect.count());
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  const auto add = [&](const char* keyword, const char* value) {
    keywords.push_back(keyword);
    values.push_back(value);
  };
  add("fallback_application_name", "strata");
  for (const auto& [keyword, value] : url.parts()) add(keyword.c_str(), value.c_str());
  // Of two equal keywords the later one holds.
  add("connect_timeout", connect_seconds.c_str());
  add("client_encoding", "UTF8");
  add(nullptr, nullptr);
  // The blocking call and not PQconnectStart: only it has a timeout for each of several hosts.
  Handle handle(PQconnectdbParams(keywords.data(), values.data(), 0));
  if (handle == nullptr) {
    return make_error(Code::kBusy, "There is no memory left for a connection; try again.");
  }
  if (PQstatus(handle.get()) != CONNECTION_OK) return out_of_reach(PQerrorMessage(handle.get()));
  auto connection = std::unique_ptr<PostgresConnection>(new PostgresConnection(timeouts, clock));
  connection->handle_ = std::move(handle);
  STRATA_RETURN_IF_ERROR(connection->set_up(timeouts));
  return connection;
}

Result<void> PostgresConnection::set_up(const PostgresTimeouts& timeouts) {
  // Notices ("already exists, skipping") would go to standard error.
  PQsetNoticeProcessor(handle_.get(), [](void*, const char*) {}, nullptr);
  // Nothing blocks but the waits of finish, which end.
  if (PQsetnonblocking(handle_.get(), 1) != 0) return lost();
  const std::string statement_ms = std::to_string(timeouts.statement.count());
  const std::string lock_ms = std::to_string(timeouts.statement.count() * 4 / 5);
  // The third: a process that is paused within a transaction keeps nobody waiting longer than a
  // slow statement would.
  STRATA_ASSIGN_OR_RETURN([[maybe_unused]] const auto set, run(R"sql(
      SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false),
             set_config('idle_in_transaction_session_timeout', $1, false))sql",
                                                               {statement_ms, lock_ms}));
  return {};
}

Result<PostgresAnswer> PostgresConnection::run(SqlText sql, PostgresValues values) {
  STRATA_ASSIGN_OR_RETURN(const std::string name, prepare(sql));
  std::vector<const char*> pointers;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const PostgresValue& value : values) {
    const bool is_null = !value.is_text() && value.digits().empty();
    // A text that is empty may have no address, which would be a NULL.
    const char* bytes = value.is_text() ? value.text().data() : value.digits().c_str();
    pointers.push_back(is_null ? nullptr : bytes == nullptr ? "" : bytes);
    lengths.push_back(value.is_text() ? static_cast<int>(value.text().size()) : 0);
    formats.push_back(value.is_text() ? 1 : 0);  // as it is, by its length; or as digits
  }
  return finish(PQsendQueryPrepared(handle_.get(), name.c_str(), static_cast<int>(values.size()),
                                    pointers.data(), lengths.data(), formats.data(), 0) == 1);
}

Result<void> PostgresConnection::run_script(SqlText script) {
  STRATA_ASSIGN_OR_RETURN([[maybe_unused]] const auto answer,
                          finish(PQsendQuery(handle_.get(), script.text) == 1));
  return {};
}

Result<std::string> PostgresConnection::prepare(SqlText sql) {
  if (const auto known = prepared_.find(sql.text); known != prepared_.end()) return known->second;
  std::string name = fmt::format("strata_{}", prepared_.size());
  STRATA_ASSIGN_OR_RETURN(
      [[maybe_unused]] const auto answer,
      finish(PQsendPrepare(handle_.get(), name.c_str(), sql.text, 0, nullptr) == 1));
  prepared_.emplace(sql.text, name);
  return name;
}

/// The answer to what was just sent, the last where there are several; the first error if any.
Result<PostgresAnswer> PostgresConnection::finish(bool sent) {
  if (!sent) return lost();
  const SteadyTime deadline = clock_.steady() + answer_wait_;
  STRATA_RETURN_IF_ERROR(send_rest(deadline));
  auto answer = collect(deadline);
  if (!answer && answer.error().code != Code::kBusy) spoiled_ = true;
  return answer;
}

Result<void> PostgresConnection::send_rest(SteadyTime deadline) {
  while (true) {
    const int flushed = PQflush(handle_.get());
    if (flushed == 0) return {};
    if (flushed < 0) return lost();
    // Reading too: a server that waits for us to take its words takes none of ours.
    STRATA_RETURN_IF_ERROR(wait_for(POLLIN | POLLOUT, deadline));
    if (PQconsumeInput(handle_.get()) == 0) return lost();
  }
}

Result<PostgresAnswer> PostgresConnection::collect(SteadyTime deadline) {
  std::optional<Error> refused;
  std::optional<PostgresAnswer> answer;
  while (true) {
    while (PQisBusy(handle_.get()) == 1) {
      STRATA_RETURN_IF_ERROR(wait_for(POLLIN, deadline));
      // What a server said before it hung up is still to be read, and tells more than that it did.
      if (PQconsumeInput(handle_.get()) == 0) break;
    }
    pg_result* const result = PQgetResult(handle_.get());
    if (result == nullptr) break;
    PostgresAnswer next(result);
    const auto status = PQresultStatus(result);
    const bool worked = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (!worked && !refused) refused = failure(result);
    answer = std::move(next);
  }
  if (refused) return *std::move(refused);
  if (!answer) return lost();
  return *std::move(answer);
}

Result<void> PostgresConnection::wait_for(short events, SteadyTime deadline) {
  pollfd socket{.fd = PQsocket(handle_.get()), .events = events, .revents = 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock_.steady());
    const int ready = ::poll(&socket, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready > 0) return {};
    if (ready < 0 && errno == EINTR) continue;
    spoiled_ = true;
    return out_of_reach("no answer in time");
  }
}

Error PostgresConnection::lost() {
  spoiled_ = true;
  return out_of_reach(PQerrorMessage(handle_.get()));
}

bool PostgresConnection::is_reusable() const {
  if (spoiled_ || PQstatus(handle_.get()) != CONNECTION_OK) return false;
  if (PQtransactionStatus(handle_.get()) != PQTRANS_IDLE) return false;
  // Between statements a server says nothing but farewell.
  pollfd socket{.fd = PQsocket(handle_.get()), .events = POLLIN, .revents = 0};
  return ::poll(&socket, 1, 0) == 0;
}

}  // namespace strata::catalog
