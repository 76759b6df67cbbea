#include "kb/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/ids.h"
#include "base/sha256.h"
#include "io/numbered.h"
#include "kb/failure.h"
#include "kb/json_object.h"
#include "kb/staging.h"

namespace strata::kb {
namespace {

namespace json = boost::json;

constexpr std::string_view kFolder = "tokens";
constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kStagedPrefix = ".staged.";
constexpr std::string_view kTextPrefix = "strata_";
constexpr std::size_t kIdBytes = 6;
constexpr std::size_t kSecretBytes = 32;
constexpr std::uint64_t kFileBytesMax = 64ULL * 1024;
constexpr std::string_view kCannotLook = "The tokens could not be looked at";

bool is_hex(std::string_view text, std::size_t bytes) {
  return text.size() == 2 * bytes && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// A plain SHA-256, without salt or stretching: those make guessing from a list of likely words
/// slow, and 256 random bits are on no list.
std::string hash_of(std::string_view secret) { return sha256_hex(secret); }

struct Kept {
  Token token;
  std::string secret_sha256;
};

std::string file_name(std::string_view id) { return fmt::format("{}{}", id, kSuffix); }

std::string to_file(const Kept& kept) {
  json::array scopes;
  for (const Scope& scope : kept.token.scopes) scopes.emplace_back(scope.str());
  const auto& expires = kept.token.expires_at;
  return render({{"id", kept.token.id},
                 {"name", kept.token.name},
                 {"scopes", std::move(scopes)},
                 {"created_at", format_iso8601(kept.token.created_at)},
                 {"expires_at", expires ? json::value(format_iso8601(*expires)) : json::value()},
                 {"secret_sha256", kept.secret_sha256}});
}

/// Nothing: the file is damaged, or a later version's. A part that cannot be read never widens what
/// the token allows, so there is no half of it.
std::optional<Kept> from_file(std::string_view bytes, std::string_view id) {
  const auto object = parse_object(bytes);
  if (!object) return std::nullopt;
  const auto hash = text_at(*object, "secret_sha256");
  const auto created = text_at(*object, "created_at");
  const json::value* scopes = object->if_contains("scopes");
  const json::value* expires = object->if_contains("expires_at");
  if (text_at(*object, "id") != id || !hash || !is_hex(*hash, kSecretBytes) || !created ||
      scopes == nullptr || !scopes->is_array() || expires == nullptr) {
    return std::nullopt;
  }
  Kept kept{.token = {.id = std::string(id), .name = text_at(*object, "name").value_or("")},
            .secret_sha256 = *hash};
  const auto created_at = parse_iso8601(*created);
  if (!created_at) return std::nullopt;
  kept.token.created_at = *created_at;
  if (!expires->is_null()) {
    const auto expires_at = expires->is_string() ? parse_iso8601(std::string(expires->as_string()))
                                                 : Result<WallTime>(make_error({}, ""));
    if (!expires_at) return std::nullopt;
    kept.token.expires_at = *expires_at;
  }
  for (const json::value& scope : scopes->as_array()) {
    if (!scope.is_string()) return std::nullopt;
    auto parsed = Scope::parse(std::string_view(scope.as_string()));
    if (!parsed) return std::nullopt;
    kept.token.scopes.push_back(*std::move(parsed));
  }
  return kept;
}

Result<void> check_wanted(const Tokens::Wanted& wanted) {
  if (wanted.scopes.empty() || wanted.scopes.size() > kScopesPerTokenMax) {
    return make_error(
        Code::kBadRequest,
        fmt::format("A token has 1 to {} scopes, such as read:demo.", kScopesPerTokenMax));
  }
  const bool printable = std::ranges::none_of(
      wanted.name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!printable || wanted.name.size() > kTokenNameBytesMax) {
    return make_error(
        Code::kBadRequest,
        fmt::format("A token's name is one line of at most {} bytes.", kTokenNameBytesMax));
  }
  return {};
}

class FileTokens final : public Tokens {
 public:
  FileTokens(io::FileSystem& fs, const Clock& clock, const io::Directory& root)
      : fs_(fs), clock_(clock), root_(root) {}

  Result<Made> create(const Wanted& wanted) override {
    STRATA_RETURN_IF_ERROR(check_wanted(wanted));
    const std::lock_guard lock(mutex_);
    STRATA_RETURN_IF_ERROR(look_now());
    if (known_.size() >= kTokensMax) {
      return make_error(Code::kConflict,
                        fmt::format("There are {} tokens, which is the most: revoke those that "
                                    "nobody needs with `strata token revoke ID`.",
                                    known_.size()));
    }
    const std::string secret = random_hex(kSecretBytes);
    Kept kept{.token = {.id = random_hex(kIdBytes), .name = wanted.name, .scopes = wanted.scopes},
              .secret_sha256 = hash_of(secret)};
    // As the file will say it, so that both answers are the same to the last digit.
    kept.token.created_at = std::chrono::floor<std::chrono::microseconds>(clock_.wall());
    if (wanted.lifetime) kept.token.expires_at = kept.token.created_at + *wanted.lifetime;
    STRATA_RETURN_IF_ERROR(publish(kept));
    Made made{.token = kept.token,
              .text = fmt::format("{}{}_{}", kTextPrefix, kept.token.id, secret)};
    known_.insert_or_assign(kept.token.id, std::move(kept));
    return made;
  }

  Result<std::vector<Token>> list() override {
    const std::lock_guard lock(mutex_);
    STRATA_RETURN_IF_ERROR(look_now());
    std::vector<Token> tokens;
    for (const auto& [id, kept] : known_) tokens.push_back(kept.token);
    std::ranges::stable_sort(tokens, {}, &Token::created_at);
    return tokens;
  }

  Result<void> revoke(std::string_view id) override {
    const Error unknown =
        make_error(Code::kNotFound,
                   fmt::format("There is no token '{:.40}': `strata token list` shows those there "
                               "are.",
                               id));
    if (!is_hex(id, kIdBytes)) return unknown;
    const std::lock_guard lock(mutex_);
    const auto folder = fs_.open_directory_at({root_, kFolder});
    if (!folder && folder.error().code == Code::kNotFound) return unknown;
    if (!folder) return failed_to("The token could not be revoked", folder.error());
    const auto gone = fs_.unlink({**folder, file_name(id)});
    known_.erase(std::string(id));
    if (!gone && gone.error().code != Code::kNotFound) {
      looked_.reset();  // whether the file went is for the disk to say
      return failed_to("The token could not be revoked", gone.error());
    }
    // Also where it was gone: who revoked it may not have come to the sync yet.
    const auto synced = fs_.sync_directory(**folder);
    if (!synced) return failed_to("The token may come back after a power cut", synced.error());
    return gone ? Result<void>() : unknown;
  }

  Result<std::optional<Token>> check(std::string_view presented) override {
    std::string_view rest = presented;
    if (!rest.starts_with(kTextPrefix)) return std::nullopt;
    rest.remove_prefix(kTextPrefix.size());
    const std::string_view id = rest.substr(0, rest.find('_'));
    if (!is_hex(id, kIdBytes) || rest.size() == id.size()) return std::nullopt;
    const std::string_view secret = rest.substr(id.size() + 1);
    if (!is_hex(secret, kSecretBytes)) return std::nullopt;
    const std::string hash = hash_of(secret);

    const std::lock_guard lock(mutex_);
    STRATA_RETURN_IF_ERROR(look());
    auto found = known_.find(id);
    if (found == known_.end()) {
      // Made a moment ago by another process: its first use must not be refused.
      STRATA_RETURN_IF_ERROR(meet(id));
      found = known_.find(id);
    }
    if (found == known_.end()) return std::nullopt;
    const Kept& kept = found->second;
    if (!equal_in_constant_time(hash, kept.secret_sha256)) return std::nullopt;
    if (!kept.token.valid_at(clock_.wall())) return std::nullopt;
    return kept.token;
  }

  std::vector<std::string> problems() const override {
    const std::lock_guard lock(mutex_);
    return {problems_.begin(), problems_.end()};
  }

 private:
  Result<void> publish(const Kept& kept) {
    constexpr std::string_view kCannot = "The token could not be kept";
    const auto folder = io::ensure_directory(fs_, {root_, kFolder});
    if (!folder) return failed_to(kCannot, folder.error());
    sweep_staging(fs_, {**folder, kStagedPrefix, clock_});
    const auto first = publish_once(fs_, {{**folder, file_name(kept.token.id)},
                                          **folder,
                                          staged_name({kStagedPrefix, kept.token.id, "json"}),
                                          to_file(kept)});
    if (!first) return failed_to(kCannot, first.error());
    if (!*first) return make_error(Code::kBusy, "The token's id is taken; try again.");
    return {};
  }

  /// Everything below is called with mutex_ held.
  Result<void> look() {
    if (looked_ && clock_.steady() - *looked_ < kTokensLookEvery) return {};
    return look_now();
  }

  /// Files never change, so only new names are read; a token without its file is revoked.
  Result<void> look_now() {
    looked_.reset();
    // By its path each time: whoever puts another folder in its place means that one.
    const auto folder = fs_.open_directory_at({root_, kFolder});
    std::set<std::string, std::less<>> ids;
    problems_.clear();
    if (folder) {
      const auto entries = fs_.list(**folder);
      if (!entries) return failed_to(kCannotLook, entries.error());
      for (const io::DirEntry& entry : *entries) {
        if (!entry.name.ends_with(kSuffix) || entry.name.starts_with('.')) continue;
        std::string id = entry.name.substr(0, entry.name.size() - kSuffix.size());
        if (!known_.contains(id)) STRATA_RETURN_IF_ERROR(read(**folder, id));
        ids.insert(std::move(id));
      }
    } else if (folder.error().code != Code::kNotFound) {
      return failed_to(kCannotLook, folder.error());
    }
    std::erase_if(known_, [&](const auto& known) { return !ids.contains(known.first); });
    looked_ = clock_.steady();
    return {};
  }

  Result<void> meet(std::string_view id) {
    const auto folder = fs_.open_directory_at({root_, kFolder});
    if (folder) return read(**folder, id);
    if (folder.error().code == Code::kNotFound) return {};
    return failed_to(kCannotLook, folder.error());
  }

  /// kBusy only: this process is short of something, which says nothing about the file.
  Result<void> read(const io::Directory& folder, std::string_view id) {
    const std::string name = file_name(id);
    const auto bytes = fs_.read({folder, name}, kFileBytesMax);
    if (!bytes && bytes.error().code == Code::kNotFound) return {};
    if (!bytes && bytes.error().code == Code::kBusy) return failed_to(kCannotLook, bytes.error());
    auto kept = bytes ? from_file(*bytes, id) : std::nullopt;
    if (kept) {
      known_.insert_or_assign(std::string(id), *std::move(kept));
    } else {
      problems_.insert(fmt::format("tokens/{} {}: nobody is let in by it.", name,
                                   bytes ? "holds no token" : "cannot be read by this user"));
    }
    return {};
  }

  io::FileSystem& fs_;
  const Clock& clock_;
  const io::Directory& root_;

  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, Kept, std::less<>> known_;
  std::set<std::string> problems_;
  std::optional<SteadyTime> looked_;  // nothing: known_ is not to be gone by
};

}  // namespace

Result<std::chrono::minutes> parse_lifetime(std::string_view text) {
  const Error bad =
      make_error(Code::kBadRequest,
                 fmt::format("A token expires after a whole number of days, hours or minutes, such "
                             "as 90d, 12h or 30m, and at most {}d; not '{:.40}'.",
                             kTokenLifetimeMax.count(), text));
  if (text.size() < 2 || text.front() < '1' || text.front() > '9') return bad;
  std::int32_t count = 0;
  const char* unit = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data(), unit, count);
  if (error != std::errc() || end != unit) return bad;
  std::chrono::minutes each{1};
  if (*unit == 'd') each = std::chrono::days(1);
  if (*unit == 'h') each = std::chrono::hours(1);
  if (*unit != 'd' && *unit != 'h' && *unit != 'm') return bad;
  const std::chrono::minutes lifetime = count * each;
  if (lifetime > kTokenLifetimeMax) return bad;
  return lifetime;
}

std::unique_ptr<Tokens> Tokens::open(io::FileSystem& fs, const Clock& clock,
                                     const io::Directory& root) {
  return std::make_unique<FileTokens>(fs, clock, root);
}

}  // namespace strata::kb
