#include "core/log/record_writer.h"

#include "core/base/crc32c.h"
#include "tests/support/catch.h"
#include "tests/support/log_files.h"

using namespace entitable;
using entitable::test::bytes_from_hex;

TEST_CASE("a checksum is a CRC-32C, rotated and moved") {
  // 0xE3069283 is the CRC32C of "123456789".
  constexpr std::uint32_t rotated = 0xE3069283u >> 15 | 0xE3069283u << 17;
  CHECK(masked_crc32c("123456789") == rotated + 0xA282EAD8u);
  CHECK(masked_crc32c("6789", crc32c("12345")) == masked_crc32c("123456789"));
}

TEST_CASE("the checksum of a whole file depends on its content") {
  // If records stored unmasked checksums, the two files would have equal CRCs: a CRC over data and
  // its own CRC is always the same value.
  const std::string a = test::file_of(FileKind::part, {{RecordType::commit, "a"}});
  const std::string b = test::file_of(FileKind::part, {{RecordType::commit, "b"}});
  CHECK(crc32c(a) != crc32c(b));
}

TEST_CASE("each kind of file starts with its magic") {
  CHECK(file_magic(FileKind::segment) == "entitabw");
  CHECK(file_magic(FileKind::part) == "entitabp");
  CHECK(file_magic(FileKind::manifest) == "entitabm");
}

TEST_CASE("a file is its header, its records and its end") {
  RecordWriter file(FileKind::part);
  CHECK(file.buffered_size() == record_layout::header_bytes);
  file.begin_record(RecordType::part_rows, record_flag_skippable).append("payload");
  file.end_record();
  CHECK(file.buffered_size() == record_layout::header_bytes + 6 + 7 + 4);
  const std::string bytes = std::move(file).finish();

  std::string expected = "entitabp" + bytes_from_hex("0100 0000");
  const auto checksum = [&](std::size_t from) {
    const std::uint32_t own = masked_crc32c(std::string_view(expected).substr(from));
    ByteWriter(expected).u32(own);
    return std::string_view(expected).substr(expected.size() - 4);
  };
  std::uint32_t chain = crc32c(checksum(0));
  expected += bytes_from_hex("11 01 07000000") + "payload";
  chain = crc32c(checksum(16), chain);
  expected += bytes_from_hex("7f 00 08000000 01000000");
  ByteWriter(expected).u32(masked_crc32c({}, chain));
  checksum(33);
  CHECK(bytes == expected);
}

TEST_CASE("a file without records has an end record") {
  const std::string bytes = RecordWriter(FileKind::manifest).finish();
  CHECK(bytes.size() == record_layout::header_bytes + record_layout::end_bytes);
}
