#include "core/base/bytes.h"

#include <limits>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/prng.h"

using namespace entitable;
using namespace std::string_literals;

namespace {

std::string varint_of(std::uint64_t value) {
  std::string out;
  ByteWriter(out).varint(value);
  return out;
}

constexpr std::uint64_t u64_max = std::numeric_limits<std::uint64_t>::max();

}  // namespace

TEST_CASE("integers are little-endian, byte for byte") {
  std::string out;
  ByteWriter writer(out);
  writer.u8(0x01);
  writer.u16(0x0302);
  writer.u32(0x07060504);
  writer.u64(0x0F0E0D0C0B0A0908u);
  CHECK(out == "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F");
  CHECK(writer.size() == 15);
  ByteReader reader(out);
  CHECK(reader.u8() == 0x01);
  CHECK(reader.u16() == 0x0302);
  CHECK(reader.u32() == 0x07060504);
  CHECK(reader.u64() == 0x0F0E0D0C0B0A0908u);
  CHECK(reader.ok());
  CHECK(reader.at_end());
}

TEST_CASE("high bits survive") {
  std::string out;
  ByteWriter writer(out);
  writer.u8(0xFF);
  writer.u16(0xFFFF);
  writer.u32(0xFFFFFFFF);
  writer.u64(u64_max);
  ByteReader reader(out);
  CHECK(reader.u8() == 0xFF);
  CHECK(reader.u16() == 0xFFFF);
  CHECK(reader.u32() == 0xFFFFFFFF);
  CHECK(reader.u64() == u64_max);
  CHECK(reader.ok());
}

TEST_CASE("varint sizes change exactly at the powers of 128") {
  CHECK(varint_of(0) == "\0"s);
  CHECK(varint_of(127) == "\x7F");
  CHECK(varint_of(128) == "\x80\x01");
  CHECK(varint_of(16'383) == "\xFF\x7F");
  CHECK(varint_of(16'384) == "\x80\x80\x01");
  CHECK(varint_of(u64_max) == "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
  for (int shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t value : {(1ull << shift) - 1, 1ull << shift, (1ull << shift) + 1}) {
      const std::string text = varint_of(value);
      ByteReader reader(text);
      CHECK(reader.varint() == value);
      CHECK(reader.at_end());
      CHECK(reader.ok());
    }
  }
}

TEST_CASE("a bad varint fails") {
  const auto fails = [](std::string_view bytes) {
    ByteReader reader(bytes);
    return reader.varint() == 0 && !reader.ok();
  };
  CHECK(fails(""));
  CHECK(fails("\x80"));
  CHECK(fails("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"));           // the tenth byte is missing
  CHECK(fails("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"));       // 65 bits
  CHECK(fails("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x81\x00"s));  // eleven bytes
  CHECK(fails("\x80\x00"s));                                      // zero, padded
  CHECK(fails("\xFF\x00"s));                                      // 127, padded
  CHECK(fails("\x80\x80\x00"s));
}

TEST_CASE("byte strings carry their length") {
  std::string out;
  ByteWriter writer(out);
  writer.bytes("");
  writer.bytes("abc");
  writer.raw("xyz");
  CHECK(out == "\0\3abcxyz"s);
  ByteReader reader(out);
  CHECK(reader.bytes() == "");
  CHECK(reader.bytes() == "abc");
  CHECK(reader.remaining() == 3);
  CHECK(reader.raw(3) == "xyz");
  CHECK(reader.ok());
  CHECK(reader.at_end());
}

TEST_CASE("a length beyond the end fails, also one beyond 32 bits") {
  SECTION("by one") {
    ByteReader reader("\4abc");
    CHECK(reader.bytes().empty());
    CHECK_FALSE(reader.ok());
  }
  SECTION("exact") {
    ByteReader reader("\3abc");
    CHECK(reader.bytes() == "abc");
    CHECK(reader.ok());
  }
  SECTION("2^32, which is 0 in 32 bits") {
    const std::string text = varint_of(1ull << 32) + "abc";
    ByteReader reader(text);
    CHECK(reader.bytes().empty());
    CHECK_FALSE(reader.ok());
  }
  SECTION("raw") {
    ByteReader reader("abc");
    CHECK(reader.raw(4).empty());
    CHECK_FALSE(reader.ok());
  }
}

TEST_CASE("a count must fit in what is left") {
  const auto count = [](std::uint64_t items, std::size_t bytes, std::size_t item_bytes_min) {
    const std::string text = varint_of(items) + std::string(bytes, 'x');
    ByteReader reader(text);
    const std::size_t result = reader.count(item_bytes_min);
    return reader.ok() ? static_cast<int>(result) : -1;
  };
  CHECK(count(0, 0, 4) == 0);
  CHECK(count(3, 12, 4) == 3);
  CHECK(count(3, 11, 4) == -1);
  CHECK(count(3, 3, 0) == 3);
  CHECK(count(4, 3, 0) == -1);
  CHECK(count(1ull << 32, 8, 1) == -1);
  CHECK(count(u64_max, 8, 8) == -1);
}

TEST_CASE("a reader that has failed stays failed and reads nothing") {
  ByteReader reader("\1\2\3\4\5\6\7\x08");
  reader.u16();
  reader.fail();
  CHECK_FALSE(reader.ok());
  CHECK(reader.u8() == 0);
  CHECK(reader.u16() == 0);
  CHECK(reader.u32() == 0);
  CHECK(reader.u64() == 0);
  CHECK(reader.varint() == 0);
  CHECK(reader.bytes().empty());
  CHECK(reader.raw(0).empty());
  CHECK(reader.raw(1).empty());
  CHECK(reader.count(1) == 0);
  CHECK_FALSE(reader.ok());
}

TEST_CASE("every truncation of a message is detected") {
  std::string out;
  ByteWriter writer(out);
  writer.u8(1);
  writer.varint(300);
  writer.u32(7);
  writer.bytes("some bytes");
  writer.u64(9);
  for (std::size_t size = 0; size <= out.size(); ++size) {
    ByteReader reader(std::string_view(out).substr(0, size));
    reader.u8();
    reader.varint();
    reader.u32();
    reader.bytes();
    reader.u64();
    CHECK(reader.ok() == (size == out.size()));
  }
}

TEST_CASE("random values read back in order") {
  constexpr std::uint64_t seed = 2;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> values;
    std::string out;
    ByteWriter writer(out);
    for (std::uint64_t i = prng.below(20); i > 0; --i) {
      values.push_back(prng.next() >> prng.below(64));
      writer.varint(values.back());
    }
    ByteReader reader(out);
    for (const std::uint64_t value : values) CHECK(reader.varint() == value);
    CHECK(reader.ok());
    CHECK(reader.at_end());
  }
}
