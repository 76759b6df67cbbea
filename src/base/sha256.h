#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace strata {

using Digest = std::array<std::uint8_t, 32>;

/// SHA-256 in pieces. Not thread-safe; one per computation.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void update(std::string_view bytes);
  /// Ends the computation; call once.
  Digest finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// 64 lower-case hex digits.
std::string to_hex(const Digest& digest);
/// The digest of `bytes` as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

/// Whether they are equal, in a time that tells of their lengths only: for hashes of secrets.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace strata
