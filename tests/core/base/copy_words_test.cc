#include "core/base/copy_words.h"

#include <cstddef>
#include <vector>

#include "tests/support/catch.h"

namespace {

void copy_bytes(char* to, const char* from, std::size_t size) {
  entitable::copy_words(to, from, size, [](auto) {});
}

constexpr std::size_t size_max = 300;
constexpr std::size_t alignment = 8;

std::vector<char> rising(std::size_t size) {
  std::vector<char> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + 1);
  return bytes;
}

}  // namespace

TEST_CASE("bytes of any number are copied from any address to any address, and no others") {
  const std::vector<char> from = rising(size_max + alignment);
  for (std::size_t size = 0; size <= size_max; ++size) {
    for (std::size_t from_at = 0; from_at < alignment; ++from_at) {
      for (std::size_t to_at = 0; to_at < alignment; ++to_at) {
        std::vector<char> to(size_max + 2 * alignment, 'x');
        std::vector<char> wanted = to;
        for (std::size_t i = 0; i < size; ++i) wanted[to_at + i] = from[from_at + i];
        copy_bytes(to.data() + to_at, from.data() + from_at, size);
        if (to != wanted) FAIL("size " << size << " from " << from_at << " to " << to_at);
      }
    }
  }
}

// A sanitizer reports violations.
TEST_CASE("no byte outside the range is read or written") {
  for (std::size_t size = 1; size <= size_max; ++size) {
    const std::vector<char> from = rising(size);
    std::vector<char> to(size);
    copy_bytes(to.data(), from.data(), size);
    REQUIRE(to == from);
  }
}
