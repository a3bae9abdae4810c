// HMAC-SHA256 for tests, from a library. Without that library (in wasm), `hmac` is a fake function
// and `hmac_is_real` is false; tests then skip checks of real signatures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#if __has_include(<nettle/hmac.h>) && !defined(__EMSCRIPTEN__)
#include <nettle/hmac.h>
#define ENTITABLE_REAL_HMAC 1
#else
#define ENTITABLE_REAL_HMAC 0
#endif

namespace entitable::test {

inline constexpr bool hmac_is_real = ENTITABLE_REAL_HMAC == 1;

// Returns 32 bytes that depend on every byte of the key and of the message. Not secure, but
// different messages give different results.
inline std::string fake_hmac(std::string_view key, std::string_view message) {
  std::uint64_t state = 0xcbf29ce484222325;
  const auto mix = [&](std::string_view bytes) {
    for (const char c : bytes) state = (state ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
    state ^= bytes.size();
  };
  mix(key);
  mix(message);
  std::string digest;
  while (digest.size() < 32) {
    state = (state ^ (state >> 29)) * 0xbf58476d1ce4e5b9 + 1;
    digest.push_back(static_cast<char>(state >> 56));
  }
  return digest;
}

#if ENTITABLE_REAL_HMAC
inline std::string hmac(std::string_view key, std::string_view message) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<const std::uint8_t*>(text.data());
  };
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, key.size(), bytes(key));
  hmac_sha256_update(&context, message.size(), bytes(message));
  std::string digest(SHA256_DIGEST_SIZE, '\0');
  hmac_sha256_digest(&context, digest.size(), reinterpret_cast<std::uint8_t*>(digest.data()));
  return digest;
}
#else
inline std::string hmac(std::string_view key, std::string_view message) {
  return fake_hmac(key, message);
}
#endif

}  // namespace entitable::test
