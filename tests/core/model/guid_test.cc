#include "core/model/guid.h"

#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;

TEST_CASE("a guid reads in any case and prints in lower case, bytes in text order") {
  const Guid expected = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                         0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};
  CHECK(parse_guid("00112233-4455-6677-8899-aabbccddeeff") == expected);
  CHECK(parse_guid("00112233-4455-6677-8899-AABBCCDDEEFF") == expected);
  CHECK(parse_guid("00112233-4455-6677-8899-AaBbCcDdEeFf") == expected);
  CHECK(guid_text(expected) == "00112233-4455-6677-8899-aabbccddeeff");
  CHECK(guid_text(Guid{}) == "00000000-0000-0000-0000-000000000000");
}

TEST_CASE("other forms of a guid are rejected") {
  for (const char* bad :
       {"", "00112233445566778899aabbccddeeff", "{00112233-4455-6677-8899-aabbccddeeff}",
        "(00112233-4455-6677-8899-aabbccddeeff)", "00112233-4455-6677-8899-aabbccddeef",
        "00112233-4455-6677-8899-aabbccddeeff0", "00112233-4455-6677-8899-aabbccddeefg",
        "0011223-34455-6677-8899-aabbccddeeff", "00112233_4455_6677_8899_aabbccddeeff",
        "00112233-4455-6677-88990aabbccddeeff", "-0112233-4455-6677-8899-aabbccddeeff",
        " 0112233-4455-6677-8899-aabbccddeeff", "00112233-4455-6677-8899-aabbccddeef ",
        "0x112233-4455-6677-8899-aabbccddeeff"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_guid(bad));
  }
}

TEST_CASE("random guids round-trip, and byte order is text order") {
  constexpr std::uint64_t seed = 23;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 1000; ++round) {
    const Guid a = test::random_guid(prng);
    const Guid b = test::random_guid(prng);
    CHECK(parse_guid(guid_text(a)) == a);
    CHECK((a < b) == (guid_text(a) < guid_text(b)));
  }
}
