// Arbitrary bytes as a snapshot, as they are and with the right checksums: an error, or content
// that comes back the same when written again; the same in whatever pieces it comes; never a crash.
#include <cstddef>
#include <cstdint>

#include "tests/support/log_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  entitable::test::check_fuzz_input(entitable::FileKind::snapshot, input);
  return 0;
}
