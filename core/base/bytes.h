// Bounds-checked reading and writing of little-endian integers, varints and
// length-prefixed byte strings. Every binary format of the project is built of these.
//
// Writing appends to a std::string used as a byte buffer. Reading never goes past
// the end: a reader that has failed stays failed, returns zeros and empty views, and
// is asked once at the end (ok()).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace entitable {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void u8(std::uint8_t v);
  void u16(std::uint16_t v);
  void u32(std::uint32_t v);
  void u64(std::uint64_t v);
  void varint(std::uint64_t v);        // LEB128, at most 10 bytes
  void raw(std::string_view bytes);    // as they are
  void bytes(std::string_view bytes);  // varint length, then the bytes
  std::size_t size() const { return out_.size(); }

 private:
  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  std::uint8_t u8();
  std::uint16_t u16();
  std::uint32_t u32();
  std::uint64_t u64();
  std::uint64_t varint();  // fails on more than 10 bytes, overflow, or a padded (non-shortest) form
  std::string_view raw(std::size_t length);
  std::string_view bytes();  // varint length, then that many bytes
  // A varint count of items of at least `item_bytes_min` bytes each; fails if they cannot fit in
  // what is left, so that a damaged count never makes anybody allocate.
  std::size_t count(std::size_t item_bytes_min);

  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }
  std::size_t remaining() const { return in_.size(); }
  void fail();  // marks the input bad; from now on everything reads as zero

 private:
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace entitable
