#include "core/base/bytes.h"

namespace entitable {
namespace {

template <typename Integer>
void append_little_endian(std::string& out, Integer value) {
  char bytes[sizeof(Integer)];
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    bytes[i] = static_cast<char>(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  out.append(bytes, sizeof(Integer));
}

// A varint of 64 bits has at most ten groups of seven; the tenth holds one bit.
constexpr int varint_shift_max = 63;

}  // namespace

void ByteWriter::u16(std::uint16_t v) {
  append_little_endian(out_, v);
}
void ByteWriter::u32(std::uint32_t v) {
  append_little_endian(out_, v);
}
void ByteWriter::u64(std::uint64_t v) {
  append_little_endian(out_, v);
}

void ByteWriter::long_varint(std::uint64_t v) {
  char bytes[10];
  std::size_t size = 0;
  for (; v >= 0x80; v >>= 7) bytes[size++] = static_cast<char>(v | 0x80);
  bytes[size++] = static_cast<char>(v);
  out_.append(bytes, size);
}

void ByteWriter::raw(std::string_view bytes) {
  out_.append(bytes);
}

void ByteWriter::bytes(std::string_view bytes) {
  varint(bytes.size());
  out_.append(bytes);
}

template <typename Integer>
Integer ByteReader::little_endian() {
  const std::string_view bytes = raw(sizeof(Integer));
  Integer value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value = static_cast<Integer>(value | static_cast<Integer>(static_cast<std::uint8_t>(bytes[i]))
                                             << (8 * i));
  }
  return value;
}

std::uint8_t ByteReader::u8() {
  return little_endian<std::uint8_t>();
}
std::uint16_t ByteReader::u16() {
  return little_endian<std::uint16_t>();
}
std::uint32_t ByteReader::u32() {
  return little_endian<std::uint32_t>();
}
std::uint64_t ByteReader::u64() {
  return little_endian<std::uint64_t>();
}

std::uint64_t ByteReader::long_varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift <= varint_shift_max; shift += 7) {
    if (in_.empty()) break;
    const auto byte = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    if (shift == varint_shift_max && byte > 1) break;  // more than 64 bits, or an eleventh byte
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      if (byte == 0 && shift > 0) break;  // padded: each value has only one encoding
      return value;
    }
  }
  fail();
  return 0;
}

std::string_view ByteReader::raw(std::size_t length) {
  if (length > in_.size()) {
    fail();
    return {};
  }
  const std::string_view bytes = in_.substr(0, length);
  in_.remove_prefix(length);
  return bytes;
}

std::string_view ByteReader::bytes() {
  const std::uint64_t length = varint();
  if (length > in_.size()) {  // compared as 64 bits, because size_t may have 32
    fail();
    return {};
  }
  return raw(static_cast<std::size_t>(length));
}

std::size_t ByteReader::count(std::size_t item_bytes_min) {
  const std::uint64_t items = varint();
  const std::uint64_t items_max = in_.size() / (item_bytes_min == 0 ? 1 : item_bytes_min);
  if (items > items_max) {
    fail();
    return 0;
  }
  return static_cast<std::size_t>(items);
}

void ByteReader::fail() {
  ok_ = false;
  in_ = {};
}

}  // namespace entitable
