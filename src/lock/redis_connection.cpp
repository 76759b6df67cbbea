#include "lock/redis_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/time.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace strata::lock {
namespace {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

timeval to_timeval(std::chrono::milliseconds time) {
  STRATA_CHECK(time.count() > 0);  // the kernel takes zero for ever
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {.tv_sec = seconds.count(), .tv_usec = std::chrono::microseconds(time - seconds).count()};
}

Error login_refused(std::string detail) {
  return make_error(Code::kIo,
                    "Redis does not let this node in: set user and password in its Redis URL right",
                    std::move(detail));
}

Error not_done(std::string detail) {
  return make_error(Code::kIo, "Redis does not do what it is asked to: the server's log has why",
                    std::move(detail));
}

Error refusal(std::string_view name, std::string_view words) {
  std::string detail = fmt::format("redis {}: {}", name, words);
  // Also after a login: Redis may come back with other users than it had.
  if (words.starts_with("NOAUTH") || words.starts_with("WRONGPASS")) {
    return login_refused(std::move(detail));
  }
  return not_done(std::move(detail));
}

}  // namespace

void RedisConnection::Free::operator()(redisContext* context) const { redisFree(context); }

Error RedisConnection::out_of_reach() const {
  return make_error(
      Code::kIo, "Redis does not answer: see that it runs and that this node reaches it",
      fmt::format("redis {}: {}", name_, context_ ? context_->errstr : "no memory for hiredis"));
}

Result<RedisConnection> RedisConnection::open(const RedisAddress& address,
                                              const RedisTimeouts& timeouts) {
  RedisConnection connection(std::unique_ptr<redisContext, Free>(redisConnectWithTimeout(
                                 address.host.c_str(), address.port, to_timeval(timeouts.connect))),
                             fmt::format("{}:{}/{}", address.host, address.port, address.database));
  redisContext* const context = connection.context_.get();
  if (context == nullptr || context->err != 0 ||
      redisSetTimeout(context, to_timeval(timeouts.command)) != REDIS_OK ||
      redisEnableKeepAlive(context) != REDIS_OK) {
    return connection.out_of_reach();
  }
  // hiredis leaves it open for every program this process starts.
  static_cast<void>(::fcntl(context->fd, F_SETFD, FD_CLOEXEC));
  STRATA_RETURN_IF_ERROR(connection.log_in(address));
  return connection;
}

Result<void> RedisConnection::log_in(const RedisAddress& address) {
  if (!address.password.empty()) {
    const auto reply = address.user.empty() ? command({"AUTH", address.password})
                                            : command({"AUTH", address.user, address.password});
    if (!reply) {
      // Of a command that it does not know Redis repeats the arguments, in quotes.
      Error error = reply.error();
      error.detail.resize(std::min(error.detail.size(), error.detail.find_first_of("'`")));
      return error;
    }
  }
  if (address.database != 0) {
    STRATA_RETURN_IF_ERROR(command({"SELECT", std::to_string(address.database)}));
  }
  return {};
}

Result<RedisReply> RedisConnection::command(RedisCommand command) {
  std::vector<const char*> arguments;
  std::vector<std::size_t> sizes;
  for (const std::string_view argument : command) {
    arguments.push_back(argument.data());
    sizes.push_back(argument.size());
  }
  const Reply reply(static_cast<redisReply*>(redisCommandArgv(
      context_.get(), static_cast<int>(arguments.size()), arguments.data(), sizes.data())));
  if (reply == nullptr) return out_of_reach();
  switch (reply->type) {
    case REDIS_REPLY_NIL:
      return RedisReply{};
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_STRING:
      return RedisReply{.text = std::string(reply->str, reply->len)};
    case REDIS_REPLY_INTEGER:
      return RedisReply{.number = reply->integer};
    case REDIS_REPLY_ERROR:
      return refusal(name_, {reply->str, reply->len});
    default:
      return not_done(fmt::format("redis {}: an answer of type {}", name_, reply->type));
  }
}

bool RedisConnection::is_open() const {
  // Between commands Redis sends nothing: what can be read is the end.
  pollfd entry{.fd = context_->fd, .events = POLLIN | POLLRDHUP, .revents = 0};
  return ::poll(&entry, 1, 0) == 0;
}

}  // namespace strata::lock
