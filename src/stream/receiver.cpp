#include "stream/receiver.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <set>

#include "base/cells.h"
#include "ndjson/parse.h"

namespace strata::stream {

namespace json = boost::json;

bool Receiver::same_settings(const Receiver& other) const {
  return stream == other.stream && columns == other.columns && partition == other.partition &&
         max_body_bytes == other.max_body_bytes;
}

Receiver changed(Receiver receiver, const ReceiverChange& change) {
  if (change.columns) receiver.columns = *change.columns;
  if (change.partition) receiver.partition = *change.partition;
  if (change.max_body_bytes) receiver.max_body_bytes = *change.max_body_bytes;
  return receiver;
}

std::string to_json(const Receiver& receiver) {
  json::object object;
  object["stream"] = receiver.stream;
  object["columns"] = receiver.columns ? json::value_from(*receiver.columns) : json::value();
  object["partition"] = receiver.partition;
  object["max_body_bytes"] = receiver.max_body_bytes;
  object["created_at"] = receiver.created_at;
  return json::serialize(object);
}

Result<Receiver> receiver_from_json(std::string_view text) {
  const Error damaged = make_error(Code::kIo, "the receiver's settings cannot be read");
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !value.is_object()) return damaged;
  const json::object& object = value.as_object();
  Receiver receiver;
  const auto text_of = [&](const char* key, std::string& into) {
    const json::value* found = object.if_contains(key);
    if (found == nullptr || !found->is_string()) return false;
    into = std::string_view(found->as_string());
    return true;
  };
  const json::value* limit = object.if_contains("max_body_bytes");
  const json::value* columns = object.if_contains("columns");
  if (!text_of("stream", receiver.stream) || !text_of("partition", receiver.partition) ||
      !text_of("created_at", receiver.created_at) || limit == nullptr || columns == nullptr) {
    return damaged;
  }
  receiver.max_body_bytes = limit->to_number<std::uint64_t>(error);
  if (error) return damaged;
  if (const json::array* names = columns->if_array()) {
    receiver.columns.emplace();
    for (const json::value& name : *names) {
      if (!name.is_string()) return damaged;
      receiver.columns->emplace_back(name.as_string());
    }
  } else if (!columns->is_null()) {
    return damaged;
  }
  return receiver;
}

Result<void> check_receiver(const Receiver& receiver) {
  if (receiver.partition == "day" || receiver.partition == "hour") {
    return make_error(Code::kNotYet,
                      "partitioned receivers are not built yet: use \"partition\":\"none\".");
  }
  if (receiver.partition != "none") {
    return make_error(Code::kBadRequest, "partition is one of none, day, hour.");
  }
  if (receiver.max_body_bytes < 1 || receiver.max_body_bytes > limits::kBodyBytesCeiling) {
    return make_error(Code::kBadRequest,
                      fmt::format("max_body_bytes is from 1 to {}.", limits::kBodyBytesCeiling));
  }
  if (!receiver.columns) return {};
  if (receiver.columns->empty()) {
    return make_error(Code::kBadRequest,
                      "columns is empty: name at least one, or leave it out to accept any.");
  }
  if (receiver.columns->size() > limits::kColumnsPerStreamMax) {
    return make_error(Code::kBadRequest, fmt::format("a stream has at most {} columns.",
                                                     limits::kColumnsPerStreamMax));
  }
  std::set<std::string> seen;
  for (const std::string& name : *receiver.columns) {
    if (std::string problem = ndjson::column_name_problem(name); !problem.empty()) {
      return make_error(Code::kBadRequest, std::move(problem));
    }
    if (!seen.insert(ascii_lower(name)).second) {
      return make_error(Code::kBadRequest,
                        fmt::format("the column '{}' is named twice; SQL does not tell names apart "
                                    "by the case of A to Z.",
                                    name));
    }
  }
  return {};
}

}  // namespace strata::stream
