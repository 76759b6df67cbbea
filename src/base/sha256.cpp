#include "base/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/check.h"

namespace strata {

namespace {

/// Looked up once: OpenSSL 3 otherwise looks it up, under its locks, for every digest.
const EVP_MD* algorithm() {
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return sha256;
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  STRATA_CHECK(context_->evp != nullptr);
  STRATA_CHECK(EVP_DigestInit_ex(context_->evp, algorithm(), nullptr) == 1);
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  STRATA_CHECK(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

Digest Sha256::finish() {
  Digest digest{};
  unsigned size = 0;
  STRATA_CHECK(EVP_DigestFinal_ex(context_->evp, digest.data(), &size) == 1);
  STRATA_CHECK(size == digest.size());
  return digest;
}

std::string to_hex(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    hex.push_back(kDigits[byte >> 4U]);
    hex.push_back(kDigits[byte & 0xfU]);
  }
  return hex;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sha;
  sha.update(bytes);
  return to_hex(sha.finish());
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace strata
