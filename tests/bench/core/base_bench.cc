#include <string>

#include "core/base/crc32c.h"
#include "core/base/utf8.h"
#include "tests/bench/core/sizes.h"

namespace entitable::bench {
namespace {

void base_checksum_per_kilobyte(benchmark::State& state) {
  const std::string bytes(64 * 1024, 'x');
  for (auto _ : state) benchmark::DoNotOptimize(crc32c(bytes));
  per_operation(state, 64);
}
BENCHMARK(base_checksum_per_kilobyte);

void base_utf16_length_of_30_bytes(benchmark::State& state) {
  const std::string text = "a note of some length, number.";
  for (auto _ : state) {
    std::string_view view = text;
    benchmark::DoNotOptimize(view);
    benchmark::DoNotOptimize(utf16_length(view));
  }
  per_operation(state, 1);
}
BENCHMARK(base_utf16_length_of_30_bytes);

}  // namespace
}  // namespace entitable::bench
