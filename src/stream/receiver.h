#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/limits.h"

namespace strata::stream {

/// A stream's registration, as `receiver/<n>.json` holds it.
struct Receiver {
  std::string stream;
  std::optional<std::vector<std::string>> columns;  // the only ones accepted; none: any
  std::string partition = "none";
  std::uint64_t max_body_bytes = limits::kBodyBytesDefault;
  std::string created_at;

  /// Equal but for the moment it was made.
  bool same_settings(const Receiver& other) const;
};

/// What a change asks for; what is not named stays.
struct ReceiverChange {
  std::optional<std::optional<std::vector<std::string>>> columns;
  std::optional<std::string> partition;
  std::optional<std::uint64_t> max_body_bytes;
};
Receiver changed(Receiver receiver, const ReceiverChange& change);

std::string to_json(const Receiver& receiver);
/// kIo: not a receiver file of ours.
Result<Receiver> receiver_from_json(std::string_view json);

/// Refuses what cannot be a receiver, with the reason (kBadRequest, kNotYet).
Result<void> check_receiver(const Receiver& receiver);

}  // namespace strata::stream
