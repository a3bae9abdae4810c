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
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/model/commit.h"

namespace entitable {

// So that one more than any id in use is a TableId too.
inline constexpr TableId table_id_max = 0xFFFF'FFFE;

// What ByteWriter::varint appends, where room has been made before; gives its end.
inline char* put_varint(char* at, std::size_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

bool is_text(std::string_view text);  // is_wtf8, at once where all of it is ASCII

// A key that may be stored (check_key).
const char* check_stored_key(const KeyView& key);

// Timestamps lie close together, so they are kept as differences. REQUIRES: both are in
// 0 .. date_time_ticks_max, base is the same when reading.
void append_ticks(Ticks ticks, Ticks base, std::string& out);
const char* read_ticks(ByteReader& reader, Ticks base, Ticks& ticks);

// Dates must be those a DateTime may have; how many policies there may be is not checked here.
void append_policies(const std::vector<AccessPolicy>& policies, std::string& out);
const char* read_policies(ByteReader& reader, std::vector<AccessPolicy>& policies);

// No answer may be newer than `base`.
void append_call(const ClientCall& call, Ticks base, std::string& out);
const char* read_call(ByteReader& reader, Ticks base, ClientCall& call);

// From 1 to table_id_max.
const char* read_table_id(ByteReader& reader, TableId& table);

inline constexpr const char* field_cut_short = "it is cut short";

}  // namespace entitable
