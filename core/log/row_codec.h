// The values of a row, and the small things that rows, commits and manifests are made of.
//
//   values   = value*                            one per property of the shape
//   value    = bytes | u8 | u32 | u64 | raw[16]  String, Binary | Boolean | Int32 |
//                                                DateTime, Double, Int64 | Guid
//   ticks    = varint                            0, or 1 + zigzag(base - ticks)
//   text     = bytes                             WTF-8
//
// Reading functions give null, or why the bytes are bad (a literal).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/log/shape_codec.h"
#include "core/model/commit.h"

namespace entitable {

// So that one more than any id in use is a TableId too.
inline constexpr TableId table_id_max = 0xFFFF'FFFE;

// Appends the values in the order of `properties`.
void append_values(std::span<const RowProperty> properties, std::string& out);
// Replaces `out` by the row's properties, which look into the bytes being read. All values are
// within their limits. `key_units` is what the row's key has; the row is at most entity_bytes_max.
const char* read_values(ByteReader& reader, const LoggedShape& shape, std::size_t key_units,
                        std::vector<RowProperty>& out);

// Timestamps lie close together, so they are kept as differences. REQUIRES: 0 <= ticks, base <=
// date_time_ticks_max. 0 stands for "none".
void append_ticks(Ticks ticks, Ticks base, std::string& out);
// In 0 .. date_time_ticks_max.
const char* read_ticks(ByteReader& reader, Ticks base, Ticks& ticks);

bool is_text(std::string_view text);  // is_wtf8, fast where it is ASCII
// A key that may be stored.
const char* check_stored_key(const KeyView& key);

void append_policies(const std::vector<AccessPolicy>& policies, std::string& out);
const char* read_policies(ByteReader& reader, std::vector<AccessPolicy>& policies);

void append_call(const ClientCall& call, Ticks base, std::string& out);
const char* read_call(ByteReader& reader, Ticks base, ClientCall& call);

const char* read_table_id(ByteReader& reader, TableId& table);

}  // namespace entitable
