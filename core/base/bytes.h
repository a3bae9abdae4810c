// Bounds-checked reading and writing of little-endian integers, varints and length-prefixed byte
// strings. Every binary format of the project is built from these.
//
// Writing appends to a std::string used as a byte buffer. Reading never goes past the end. After
// its first failure a reader returns only zeros and empty views, so one check of ok() at the end is
// enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace entitable {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void u16(std::uint16_t v);
  void u32(std::uint32_t v);
  void u64(std::uint64_t v);
  void raw(std::string_view bytes);    // the bytes without a length
  void bytes(std::string_view bytes);  // varint length, then the bytes
  // Writes LEB128: seven bits per byte, lowest bits first, at most 10 bytes.
  void varint(std::uint64_t v) { v < 0x80 ? u8(static_cast<std::uint8_t>(v)) : long_varint(v); }
  std::size_t size() const { return out_.size(); }

 private:
  void long_varint(std::uint64_t v);

  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  std::uint8_t u8();
  std::uint16_t u16();
  std::uint32_t u32();
  std::uint64_t u64();
  // Reads what ByteWriter::varint() writes. Fails if the number takes more than 10 bytes, needs
  // more than 64 bits, or is not in its shortest form.
  std::uint64_t varint() {
    if (in_.empty() || static_cast<std::uint8_t>(in_.front()) >= 0x80) return long_varint();
    const auto byte = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return byte;
  }
  std::string_view raw(std::size_t length);
  std::string_view bytes();  // varint length, then that many bytes
  // Reads the varint count of a list whose items take at least `item_bytes_min` bytes each (0
  // counts as 1). Fails if the items cannot fit in the remaining input, so that a damaged count
  // never causes a large allocation.
  std::size_t count(std::size_t item_bytes_min);

  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }
  std::size_t remaining() const { return in_.size(); }
  void fail();  // marks the input invalid; every later read returns zero or an empty view

 private:
  template <typename Integer>
  Integer little_endian();
  std::uint64_t long_varint();

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace entitable
