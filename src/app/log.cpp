#include "app/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <boost/json.hpp>
#include <memory>
#include <string_view>
#include <utility>

namespace strata::app {
namespace {

namespace json = boost::json;

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%fZ %l %v";
constexpr const char* kJsonPattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l",%*})";

/// `%*`: what follows the level in a line of JSON. Its members are serialized here, so that nothing
/// a client sent can end the line or the value.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text =
        json::serialize(json::string_view(message.payload.data(), message.payload.size()));
    out.append(std::string_view("\"message\":"));
    out.append(text);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

/// `%*` where the message is an object already: its members.
class JsonMembers final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    out.append(message.payload.begin() + 1, message.payload.end() - 1);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMembers>();
  }
};

template <class MessageFlag>
std::unique_ptr<spdlog::pattern_formatter> make_formatter(const char* pattern) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->template add_flag<MessageFlag>('*');
  formatter->set_pattern(pattern);
  return formatter;
}

json::object members_of(const http::AccessRecord& record) {
  json::object members{{"message", "request"},
                       {"request_id", record.request_id},
                       {"method", record.method},
                       {"route", record.pattern.empty() ? json::value() : record.pattern.c_str()},
                       {"path", record.target.substr(0, record.target.find('?'))},
                       {"status", record.status},
                       {"duration_us", record.duration.count()},
                       {"request_bytes", record.request_bytes},
                       {"response_bytes", record.response_bytes}};
  if (record.cut) members["cut"] = true;
  return members;
}

}  // namespace

void start_log(const std::string& format) {
  auto logger = spdlog::stderr_logger_mt("strata");
  logger->set_formatter(
      make_formatter<JsonMessage>(format == "json" ? kJsonPattern : kTextPattern));
  spdlog::set_default_logger(std::move(logger));
}

http::AccessLog access_log(const std::string& format) {
  if (format != "json") return {};
  const auto logger = spdlog::stderr_logger_mt("strata.requests");
  logger->set_formatter(make_formatter<JsonMembers>(kJsonPattern));
  return [logger](const http::AccessRecord& record) {
    logger->info("{}", json::serialize(members_of(record)));
  };
}

}  // namespace strata::app
