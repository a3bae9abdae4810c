// Reads numbers from environment variables, which repeat a random run (its seed) or make it longer.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace entitable::test {

inline std::uint64_t number_from_env(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace entitable::test
