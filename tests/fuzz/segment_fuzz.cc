// Decodes arbitrary bytes as a segment, either unchanged or as records with correct checksums. The
// result must be an error, or values that survive encoding and decoding.
#include <cstddef>
#include <cstdint>

#include "tests/support/log_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  entitable::test::check_fuzz_input(entitable::FileKind::segment, input);
  return 0;
}
