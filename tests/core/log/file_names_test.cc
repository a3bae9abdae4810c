#include "core/log/file_names.h"

#include <limits>

#include "tests/support/catch.h"

using namespace entitable;

TEST_CASE("files are named by their number in 16 hex digits") {
  CHECK(segment_name(1) == "wal-0000000000000001");
  CHECK(segment_name(0x0123456789ABCDEF) == "wal-0123456789abcdef");
  CHECK(part_name(0) == "part-0000000000000000");
  CHECK(part_name(std::numeric_limits<PartId>::max()) == "part-ffffffffffffffff");
  CHECK(std::string(manifest_name) == "manifest");
}

TEST_CASE("the order of names is the order of numbers") {
  CHECK(segment_name(9) < segment_name(10));
  CHECK(segment_name(0xFF) < segment_name(0x100));
}

TEST_CASE("names are parsed to their numbers") {
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xFEDCBA9876543210},
        std::numeric_limits<std::uint64_t>::max()}) {
    CHECK(parse_segment_name(segment_name(number)) == number);
    CHECK(parse_part_name(part_name(number)) == number);
  }
}

TEST_CASE("other names are rejected") {
  for (const char* name :
       {"", "wal-", "manifest", "wal-000000000000001", "wal-00000000000000001",
        "wal-000000000000000G", "wal-000000000000000A", "Wal-0000000000000001",
        "part-0000000000000001", "wal_0000000000000001", " wal-000000000000001"}) {
    CAPTURE(name);
    CHECK(!parse_segment_name(name).has_value());
  }
  CHECK(!parse_part_name("wal-0000000000000001").has_value());
  CHECK(!parse_part_name("part-1").has_value());
}
