// Encodes and decodes fields that several kinds of records contain. FORMAT.md defines the notation.
//
//   ticks     = 0 | 1 + zigzag(base - ticks)               0: no timestamp
//   policies  = count policy*
//   policy    = id:text fields:u8 [start:u64] [expiry:u64] [permission:text]
//   call      = client:raw[16] number count ticks*
//   text      = bytes                                      WTF-8
//
// The read_ functions return null, or a string literal that says why the bytes are bad.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/model/commit.h"
#include "core/model/hidden_table.h"

namespace entitable {

// The largest id of a table that is not hidden. The next id after it still fits into a TableId.
inline constexpr TableId table_id_max = hidden_table_bit - 1;

// The largest value that a file may hold of a number that counts up: epochs, sequences, commits,
// part ids and sizes. JavaScript represents numbers up to this one exactly, and the numbers after
// it still fit into 64 bits.
inline constexpr std::uint64_t counter_max = (std::uint64_t{1} << 53) - 1;

// The put_ functions write the same bytes as ByteWriter, but to memory that the caller has
// reserved. Each returns the end of what it wrote.
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
// Appends the bytes that put(start) writes. `put` returns the end of what it wrote. REQUIRES: `put`
// writes at most `bytes_max` bytes.
template <typename Put>
void append_and_overwrite(std::string& out, std::size_t bytes_max, Put put) {
  const std::size_t start = out.size();
  out.resize(start + bytes_max);
  const char* const end = put(out.data() + start);
  out.resize(static_cast<std::size_t>(end - out.data()));
}

// Returns whether the text is WTF-8. Pure ASCII takes a fast path.
bool is_valid_text(std::string_view text);

// Returns null if the key may be stored (check_key), else the reason.
const char* check_stored_key(const KeyView& key);

// Timestamps are stored as differences from a base, because the timestamps of a file are close
// together. REQUIRES: ticks and base are in 0 .. date_time_ticks_max; a reader uses the same base
// as the writer.
void append_ticks(Ticks ticks, Ticks base, std::string& out);
char* put_ticks(char* at, Ticks ticks, Ticks base);  // writes at most varint_bytes_max bytes
const char* read_ticks(ByteReader& reader, Ticks base, Ticks& ticks);

// REQUIRES for append_policies(): check_policies() accepts the policies. read_policies() applies
// the same rules.
void append_policies(const std::vector<AccessPolicy>& policies, std::string& out);
const char* read_policies(ByteReader& reader, std::vector<AccessPolicy>& policies);

// REQUIRES for append_client_call() and put_client_call(): no timestamp in `call` is newer than
// `base`.
void append_client_call(const ClientCall& call, Ticks base, std::string& out);
std::size_t client_call_bytes_max(const ClientCall& call);
// Writes at most client_call_bytes_max().
char* put_client_call(char* at, const ClientCall& call, Ticks base);
const char* read_client_call(ByteReader& reader, Ticks base, ClientCall& call);

// Reads a document of service properties, which is opaque here, and checks that it is WTF-8.
const char* read_service_properties(ByteReader& reader, std::string& document);

// Reads a table id and checks that it is from 1 to table_id_max.
const char* read_table_id(ByteReader& reader, TableId& table);
// Reads the id of a hidden table and checks that a hidden table can have it.
const char* read_hidden_table_id(ByteReader& reader, TableId& table);
// Reads the id of a table that may be hidden.
const char* read_any_table_id(ByteReader& reader, TableId& table);
// Returns whether a file may hold the id.
inline bool is_table_id_valid(TableId id) {
  return is_hidden_table(id) ? is_hidden_table_valid(id) : id != 0;
}

inline constexpr const char* field_truncated = "it is truncated";

}  // namespace entitable
