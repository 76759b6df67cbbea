#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "io/file_system.h"
#include "kb/scope.h"

namespace strata::kb {

/// How long a revoked token may go on in another process, and so how often the folder is listed.
inline constexpr std::chrono::milliseconds kTokensLookEvery{500};
inline constexpr std::size_t kTokensMax = 10'000;
inline constexpr std::size_t kScopesPerTokenMax = 100;
inline constexpr std::size_t kTokenNameBytesMax = 100;
inline constexpr std::chrono::days kTokenLifetimeMax{3650};

/// What is known of a token without its secret.
struct Token {
  std::string id;    // 12 hex digits
  std::string name;  // may be empty
  std::vector<Scope> scopes;
  WallTime created_at{};
  std::optional<WallTime> expires_at;  // the first instant at which it is no longer valid

  bool valid_at(WallTime time) const { return !expires_at || time < *expires_at; }
};

/// `90d`, `12h` or `30m`, of at most kTokenLifetimeMax. kBadRequest.
Result<std::chrono::minutes> parse_lifetime(std::string_view text);

/// The tokens of a root: `tokens/<id>.json`, one immutable file a token, gone when it is revoked
/// (docs/adr/0004). A token is `strata_<id>_<secret>`; the file holds a hash of the secret.
/// Thread-safe; several processes may make and revoke at once.
class Tokens {
 public:
  virtual ~Tokens() = default;
  /// Makes nothing on the disk. All three outlive it.
  static std::unique_ptr<Tokens> open(io::FileSystem& fs, const Clock& clock,
                                      const io::Directory& root);

  struct Wanted {
    std::vector<Scope> scopes;
    std::optional<std::chrono::minutes> lifetime;  // none: for ever
    std::string name;
  };
  struct Made {
    Token token;
    std::string text;  // the whole token: nobody can show it again
  };
  /// Durable when it returns. kBadRequest: no scope, too many, or a name that is none. kConflict:
  /// there are kTokensMax.
  virtual Result<Made> create(const Wanted& wanted) = 0;

  /// All of them as the disk has them now, the expired ones too, by the time they were made.
  virtual Result<std::vector<Token>> list() = 0;

  /// Durable when it returns; not valid in this process from then on, nor in another one
  /// kTokensLookEvery later. kNotFound.
  virtual Result<void> revoke(std::string_view id) = 0;

  /// The valid token that `presented` is, or nothing: unknown, wrong, expired and revoked look the
  /// same. Lists the folder at most every kTokensLookEvery, and looks for the one file of an id
  /// that it has not met. An error: the folder could not be looked at, so nobody is let in.
  virtual Result<std::optional<Token>> check(std::string_view presented) = 0;

  /// Files that the last look could not make a token of: nobody is let in by them.
  virtual std::vector<std::string> problems() const = 0;
};

}  // namespace strata::kb
