// The small fields that rows, commits and manifests are made of.
//
//   ticks     = 0 | 1 + zigzag(base - ticks)               0: none
//   policies  = count policy*
//   policy    = id:text fields:u8 [start:u64] [expiry:u64] [permission:text]
//   call      = client:raw[16] number count ticks*
//   text      = bytes                                      WTF-8
//
// Reading functions give null, or why the bytes are bad (a literal).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/model/commit.h"

namespace entitable {

// So that one more than any id in use is a TableId too.
inline constexpr TableId table_id_max = 0xFFFF'FFFE;

// What ByteWriter appends, where room has been made before; each gives its end.
inline constexpr std::size_t varint_bytes_max = 10;
inline char* put_varint(char* at, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}
template <typename Integer>
char* put_integer(char* at, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    at[i] = static_cast<char>(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  return at + sizeof(Integer);
}
inline char* put_raw(char* at, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}
inline char* put_bytes(char* at, std::string_view bytes) {
  return put_raw(put_varint(at, bytes.size()), bytes);
}
// Appends what `put` puts, which is at most `room` bytes.
template <typename Put>
void append_bounded(std::string& out, std::size_t room, Put put) {
  const std::size_t start = out.size();
  out.resize(start + room);
  const char* const end = put(out.data() + start);
  out.resize(static_cast<std::size_t>(end - out.data()));
}

bool is_text(std::string_view text);  // is_wtf8, at once where all of it is ASCII

// A key that may be stored (check_key).
const char* check_stored_key(const KeyView& key);

// Timestamps lie close together, so they are kept as differences. REQUIRES: both are in
// 0 .. date_time_ticks_max, base is the same when reading.
void append_ticks(Ticks ticks, Ticks base, std::string& out);
char* put_ticks(char* at, Ticks ticks, Ticks base);  // as put_varint
const char* read_ticks(ByteReader& reader, Ticks base, Ticks& ticks);

// Dates must be those a DateTime may have; how many policies there may be is not checked here.
void append_policies(const std::vector<AccessPolicy>& policies, std::string& out);
const char* read_policies(ByteReader& reader, std::vector<AccessPolicy>& policies);

// No answer may be newer than `base`.
void append_call(const ClientCall& call, Ticks base, std::string& out);
const char* read_call(ByteReader& reader, Ticks base, ClientCall& call);

// From 1 to table_id_max.
const char* read_table_id(ByteReader& reader, TableId& table);

inline constexpr const char* field_truncated = "it is cut short";

}  // namespace entitable
