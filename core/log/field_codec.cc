#include "core/log/field_codec.h"

#include <cstddef>
#include <cstring>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

// Bits of the optional fields that a policy has.
constexpr std::uint8_t policy_has_start = 1;
constexpr std::uint8_t policy_has_expiry = 2;
constexpr std::uint8_t policy_has_permission = 4;
constexpr std::size_t policy_bytes_min = 2;
constexpr std::size_t ticks_bytes_min = 1;

void append_date(Ticks ticks, ByteWriter& writer) {
  ENTITABLE_CHECK(is_date_time_in_range(ticks));
  writer.u64(static_cast<std::uint64_t>(ticks));
}

const char* read_policy(ByteReader& reader, AccessPolicy& policy) {
  policy.id = reader.bytes();
  const std::uint8_t fields = reader.u8();
  if (fields > (policy_has_start | policy_has_expiry | policy_has_permission)) {
    return "an access policy has unknown fields";
  }
  if ((fields & policy_has_start) != 0) policy.start = static_cast<Ticks>(reader.u64());
  if ((fields & policy_has_expiry) != 0) policy.expiry = static_cast<Ticks>(reader.u64());
  if ((fields & policy_has_permission) != 0) policy.permission = std::string(reader.bytes());
  if (!reader.ok()) return field_truncated;
  return nullptr;
}

}  // namespace

char* put_ticks(char* at, Ticks ticks, Ticks base) {
  ENTITABLE_CHECK(ticks >= 0 && ticks <= limits::date_time_ticks_max);
  ENTITABLE_CHECK(base >= 0 && base <= limits::date_time_ticks_max);
  if (ticks == 0) return put_varint(at, 0);
  const std::int64_t back = base - ticks;
  const std::uint64_t zigzag =
      static_cast<std::uint64_t>(back) << 1 ^ static_cast<std::uint64_t>(back < 0 ? -1 : 0);
  return put_varint(at, 1 + zigzag);
}

void append_ticks(Ticks ticks, Ticks base, std::string& out) {
  append_and_overwrite(out, varint_bytes_max, [&](char* at) { return put_ticks(at, ticks, base); });
}

const char* read_ticks(ByteReader& reader, Ticks base, Ticks& ticks) {
  const std::uint64_t code = reader.varint();
  ticks = 0;
  if (!reader.ok()) return field_truncated;
  if (code == 0) return nullptr;
  // Unsigned arithmetic: an invalid code wraps around instead of overflowing.
  const std::uint64_t zigzag = code - 1;
  const std::uint64_t back = zigzag >> 1 ^ (0 - (zigzag & 1));
  const std::uint64_t result = static_cast<std::uint64_t>(base) - back;
  if (result == 0 || result > static_cast<std::uint64_t>(limits::date_time_ticks_max)) {
    return "a timestamp is out of range";
  }
  ticks = static_cast<Ticks>(result);
  return nullptr;
}

bool is_valid_text(std::string_view text) {
  constexpr std::uint64_t high_bits = 0x8080'8080'8080'8080u;
  const auto word_at = [text](std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    return word;
  };
  if (text.size() < 8) {
    std::uint8_t bits = 0;
    for (const char c : text) bits |= static_cast<std::uint8_t>(c);
    return bits < 0x80 || is_wtf8(text);
  }
  std::uint64_t bits = word_at(text.size() - 8);
  for (std::size_t at = 0; at + 8 <= text.size(); at += 8) bits |= word_at(at);
  return (bits & high_bits) == 0 || is_wtf8(text);
}

const char* check_stored_key(const KeyView& key) {
  if (is_trivially_valid_key(key)) return nullptr;
  if (!is_valid_text(key.partition) || !is_valid_text(key.row)) return "a key is not valid text";
  return check_key(key).ok() ? nullptr : "a key is not allowed";
}

void append_policies(const std::vector<AccessPolicy>& policies, std::string& out) {
  ByteWriter writer(out);
  writer.varint(policies.size());
  for (const AccessPolicy& policy : policies) {
    writer.bytes(policy.id);
    writer.u8(static_cast<std::uint8_t>((policy.start ? policy_has_start : 0) |
                                        (policy.expiry ? policy_has_expiry : 0) |
                                        (policy.permission ? policy_has_permission : 0)));
    if (policy.start) append_date(*policy.start, writer);
    if (policy.expiry) append_date(*policy.expiry, writer);
    if (policy.permission) writer.bytes(*policy.permission);
  }
}

const char* read_policies(ByteReader& reader, std::vector<AccessPolicy>& policies) {
  const std::size_t count = reader.count(policy_bytes_min);
  policies.clear();
  for (std::size_t i = 0; i < count; ++i) {
    policies.emplace_back();
    if (const char* bad = read_policy(reader, policies.back())) return bad;
  }
  if (!reader.ok()) return field_truncated;
  const auto violation = check_policies(policies);
  return violation.has_value() ? violation->reason : nullptr;
}

std::size_t client_call_bytes_max(const ClientCall& call) {
  return call.client.size() + (2 + call.timestamps.size()) * varint_bytes_max;
}

char* put_client_call(char* at, const ClientCall& call, Ticks base) {
  std::memcpy(at, call.client.data(), call.client.size());
  at = put_varint(at + call.client.size(), call.number);
  at = put_varint(at, call.timestamps.size());
  for (const Ticks ticks : call.timestamps) at = put_ticks(at, ticks, base);
  return at;
}

void append_client_call(const ClientCall& call, Ticks base, std::string& out) {
  append_and_overwrite(out, client_call_bytes_max(call),
                       [&](char* at) { return put_client_call(at, call, base); });
}

const char* read_client_call(ByteReader& reader, Ticks base, ClientCall& call) {
  const std::string_view client = reader.raw(call.client.size());
  call.number = reader.varint();
  const std::size_t count = reader.count(ticks_bytes_min);
  if (!reader.ok()) return field_truncated;
  if (count > limits::group_operations_max) return "a call has too many results";
  std::memcpy(call.client.data(), client.data(), client.size());
  call.timestamps.resize(count);
  for (Ticks& ticks : call.timestamps) {
    if (const char* bad = read_ticks(reader, base, ticks)) return bad;
    if (ticks > base) return "a result is newer than the last timestamp";
  }
  return nullptr;
}

const char* read_service_properties(ByteReader& reader, std::string& document) {
  document = reader.bytes();
  if (!reader.ok()) return field_truncated;
  return is_valid_text(document) ? nullptr : "the service properties are not valid text";
}

const char* read_any_table_id(ByteReader& reader, TableId& table) {
  const std::uint64_t id = reader.varint();
  if (!reader.ok()) return field_truncated;
  table = static_cast<TableId>(id);
  return table != id || !is_table_id_valid(table) ? "a table id is out of range" : nullptr;
}

const char* read_table_id(ByteReader& reader, TableId& table) {
  if (const char* bad = read_any_table_id(reader, table)) return bad;
  return is_hidden_table(table) ? "a table id is out of range" : nullptr;
}

const char* read_hidden_table_id(ByteReader& reader, TableId& table) {
  if (const char* bad = read_any_table_id(reader, table)) return bad;
  return is_hidden_table(table) ? nullptr : "the id of a hidden table is out of range";
}

}  // namespace entitable
