// Bounds-checked reading and writing of little-endian integers, varints and
// length-prefixed byte strings. Every binary format of the project is built of these.
//
// Writing appends to a std::string used as a byte buffer. Reading never goes past
// the end: a reader that has failed stays failed, returns zeros and empty views, and
// is asked once at the end (ok()).
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
  void raw(std::string_view bytes);    // as they are
  void bytes(std::string_view bytes);  // varint length, then the bytes
  // LEB128: seven bits a byte, lowest first, at most 10 bytes.
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
  // Fails on more than 10 bytes, on more than 64 bits, and on a padded (non-shortest) form.
  std::uint64_t varint() {
    if (in_.empty() || static_cast<std::uint8_t>(in_.front()) >= 0x80) return long_varint();
    const auto byte = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return byte;
  }
  std::string_view raw(std::size_t length);
  std::string_view bytes();  // varint length, then that many bytes
  // A varint count of items of at least `item_bytes_min` bytes each; fails if they cannot fit in
  // what is left, so that a damaged count never makes anybody allocate. (0 is taken as 1.)
  std::size_t count(std::size_t item_bytes_min);

  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }
  std::size_t remaining() const { return in_.size(); }
  void fail();  // marks the input bad; from now on everything reads as zero

 private:
  template <typename Integer>
  Integer little_endian();
  std::uint64_t long_varint();

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace entitable
