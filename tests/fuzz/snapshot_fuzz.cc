// Decodes arbitrary bytes as a snapshot, either unchanged or as records with correct checksums. The
// result must be an error, or content that survives encoding and decoding. It must not depend on
// the chunks in which the file is read.
#include <cstddef>
#include <cstdint>

#include "tests/support/log_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  entitable::test::check_fuzz_input(entitable::FileKind::snapshot, input);
  return 0;
}
