// Random commits and manifests, files that are written record by record, and small damage to files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/log/field_codec.h"
#include "core/log/manifest_codec.h"
#include "core/log/part_codec.h"
#include "core/log/record_reader.h"
#include "core/log/record_writer.h"
#include "core/model/table_name.h"
#include "tests/support/generators.h"
#include "tests/support/put_row.h"

namespace entitable::test {

inline std::string varint_bytes(std::uint64_t value) {
  std::string out;
  ByteWriter(out).varint(value);
  return out;
}

// ---- Random model values -----------------------------------------------------------------------

inline Ticks random_issued_timestamp(Prng& prng, Ticks last) {
  if (prng.chance(2)) return last - static_cast<Ticks>(prng.below(200));
  return 1 + static_cast<Ticks>(prng.below(static_cast<std::uint64_t>(last)));
}

inline Ticks random_last_timestamp(Prng& prng) {
  return prng.chance(20) ? 1000 + static_cast<Ticks>(prng.below(1000)) : random_ticks(prng);
}

inline ClientCall random_call(Prng& prng, Ticks last) {
  ClientCall call;
  call.client = random_guid(prng);
  call.number = prng.next() >> prng.below(64);
  for (std::uint64_t i = prng.below(4); i > 0; --i) {
    call.timestamps.push_back(prng.chance(3) ? 0 : random_issued_timestamp(prng, last));
  }
  return call;
}

inline std::string random_permission(Prng& prng) {
  std::string permission;
  for (const char letter : std::string_view("raud")) {
    if (prng.chance(2)) permission.push_back(letter);
  }
  return permission;
}

inline std::vector<AccessPolicy> random_policies(Prng& prng) {
  std::vector<AccessPolicy> policies(prng.below(limits::access_policies_max + 1));
  for (AccessPolicy& policy : policies) {
    policy.id = std::to_string(&policy - policies.data()) + random_text(prng, 5);
    if (prng.chance(2)) policy.start = random_ticks(prng);
    if (prng.chance(2)) policy.expiry = random_ticks(prng);
    if (prng.chance(2)) policy.permission = random_permission(prng);
  }
  return policies;
}

inline TableId random_table_id(Prng& prng) {
  return prng.chance(20) ? table_id_max : static_cast<TableId>(1 + prng.below(3));
}

inline TableId random_hidden_table_id(Prng& prng) {
  const TableId owner =
      prng.chance(20) ? synced_table_id_max : static_cast<TableId>(1 + prng.below(3));
  return hidden_table_of(owner, static_cast<HiddenTable>(prng.below(hidden_table_kind_mask + 1)));
}

// `hidden`: whether the mutation may be one of hidden tables.
inline Mutation random_mutation(Prng& prng, Ticks last, bool hidden = false) {
  if (hidden && prng.chance(9))
    return SetSynced{owner_of_hidden_table(random_hidden_table_id(prng)), prng.chance(2)};
  const auto row_table = [&] {
    return hidden && prng.chance(2) ? random_hidden_table_id(prng) : random_table_id(prng);
  };
  const TableId table = random_table_id(prng);
  switch (prng.below(12)) {
    case 0:
      return CreateTable{table, random_table_name(prng)};
    case 1:
      return DropTable{table};
    case 2:
      return SetTableAcl{table, random_policies(prng)};
    case 3:
      return SetServiceProperties{random_text(prng, 20)};
    case 4:
    case 5:
      return DeleteRow{row_table(), random_entity_key(prng)};
    default: {
      Entity entity = random_entity(prng);
      entity.timestamp = random_issued_timestamp(prng, last);
      PutRow put = put_row(row_table(), std::move(entity));
      put.effect = static_cast<PutEffect>(prng.below(3));
      return put;
    }
  }
}

// Returns what equality of commits does not compare: the origin and the effects of puts, as digits.
inline std::string effects_text(const std::vector<Commit>& commits) {
  std::string text;
  for (const Commit& commit : commits) {
    text += std::to_string(static_cast<int>(commit.origin)) + ":";
    for (const Mutation& mutation : commit.mutations) {
      if (const auto* put = std::get_if<PutRow>(&mutation))
        text += std::to_string(static_cast<int>(put->effect));
    }
    text += " ";
  }
  return text;
}

inline Commit random_commit(Prng& prng, std::uint64_t number, std::size_t mutations_max = 12) {
  Commit commit;
  commit.number = number;
  commit.last_timestamp = random_last_timestamp(prng);
  if (prng.chance(2)) commit.call = random_call(prng, commit.last_timestamp);
  const bool hidden = prng.chance(4);
  for (std::uint64_t i = prng.below(mutations_max + 1); i > 0; --i)
    commit.mutations.push_back(random_mutation(prng, commit.last_timestamp, hidden));
  commit.origin = static_cast<CommitOrigin>(prng.below(4));
  return commit;
}

// Returns random rows in key order, each key once.
inline std::vector<Entity> random_rows(Prng& prng, std::size_t count_max) {
  std::vector<Entity> rows;
  for (std::uint64_t i = prng.below(count_max + 1); i > 0; --i) {
    rows.push_back(random_stored_entity(prng));
  }
  const auto order = [](const Entity& a, const Entity& b) {
    return compare(a.key.view(), b.key.view());
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return order(a, b) < 0; });
  rows.erase(std::unique(rows.begin(), rows.end(),
                         [&](const auto& a, const auto& b) { return order(a, b) == 0; }),
             rows.end());
  return rows;
}

// Returns a number below counter_max, of any size.
inline std::uint64_t random_counter(Prng& prng) {
  return prng.next() >> (12 + prng.below(52));
}

inline CallCommits random_call_commits(Prng& prng, const std::vector<ClientCall>& calls) {
  CallCommits commits{random_counter(prng), {}};
  std::set<ClientId> clients;
  for (const ClientCall& call : calls) clients.insert(call.client);
  while (commits.newest.size() < clients.size()) commits.newest.push_back(random_counter(prng));
  return commits;
}

inline ManifestClaims random_claims(Prng& prng, std::uint64_t epoch) {
  ManifestClaims claims;
  claims.known_from = 1 + prng.below(epoch);
  for (std::uint64_t next = claims.known_from + 1 + prng.below(3); next <= epoch;
       next += 1 + prng.below(3)) {
    claims.newest.push_back({next, random_counter(prng)});
  }
  return claims;
}

inline FeedReadersByName random_readers(Prng& prng) {
  FeedReadersByName readers;
  for (std::uint64_t left = prng.below(4); left > 0; --left) {
    readers[random_text(prng, 9) + "r"] = {{random_counter(prng), random_counter(prng)},
                                           random_ticks(prng)};
  }
  return readers;
}

// Adds random history that ends at manifest.first_live_sequence.
inline void add_random_history(Prng& prng, Manifest& manifest) {
  ManifestHistory history{1 + prng.below(50), 1 + prng.below(50), {}, {}};
  manifest.first_live_sequence = history.first_sequence;
  for (std::uint64_t left = 1 + prng.below(4); left > 0; --left) {
    const LogStretch stretch{1 + prng.below(300), prng.below(300), random_counter(prng) / 4,
                             prng.chance(4) ? 0 : random_ticks(prng)};
    history.stretches.push_back(stretch);
    manifest.first_live_sequence += stretch.segments;
  }
  manifest.last_commit += 1000;
  for (std::uint64_t commit = history.first_commit + prng.below(90); commit < 200;
       commit += prng.below(90)) {
    history.dropped.push_back({manifest.next_table++, random_table_name(prng), commit});
  }
  manifest.history = std::move(history);
}

inline Manifest random_manifest(Prng& prng) {
  Manifest manifest;
  manifest.epoch = 1 + prng.below(9);
  manifest.first_live_sequence = 1 + random_counter(prng);
  manifest.last_commit = random_counter(prng);
  manifest.last_timestamp = random_last_timestamp(prng);
  manifest.service_properties = random_text(prng, 30);
  for (std::uint64_t i = prng.below(4); i > 0; --i) {
    manifest.options[random_text(prng, 3)] = random_text(prng, 6);
  }
  for (std::uint64_t i = prng.below(4); i > 0; --i) {
    manifest.calls.push_back(random_call(prng, manifest.last_timestamp));
  }
  if (prng.chance(2)) add_random_history(prng, manifest);
  if (prng.chance(2)) manifest.readers = random_readers(prng);
  if (prng.chance(2)) manifest.claims = random_claims(prng, manifest.epoch);
  if (prng.below(2) == 0) manifest.call_commits = random_call_commits(prng, manifest.calls);
  std::map<std::string, std::string> names;  // by case-folded name
  for (std::uint64_t i = prng.below(5); i > 0; --i) {
    std::string name = random_table_name(prng);
    names[fold_table_name(name)] = std::move(name);
  }
  for (const auto& [folded, name] : names) {
    ManifestTable table;
    table.id = manifest.next_table + static_cast<TableId>(prng.below(3));
    manifest.next_table = table.id + 1;
    table.name = name;
    table.acl = random_policies(prng);
    for (const Entity& row : random_rows(prng, 5)) {
      ManifestPart part;
      part.lower = row.key;
      part.id = manifest.next_part++;
      part.rows = prng.below(1000);
      part.bytes = random_counter(prng);
      part.checksum = static_cast<std::uint32_t>(prng.next());
      table.parts.push_back(std::move(part));
    }
    manifest.tables.push_back(std::move(table));
  }
  return manifest;
}

inline void write_row(PartWriter& writer, const Entity& row) {
  writer.begin_row(row.key.partition, row.key.row, row.timestamp);
  for (const Property& property : row.properties) {
    writer.add_property(property.name, property.value.view());
  }
  writer.end_row();
}

inline std::string part_of(PartId id, TableId table, const std::vector<Entity>& rows) {
  PartWriter writer(id, table);
  for (const Entity& row : rows) write_row(writer, row);
  return std::move(writer).finish();
}

// ---- Files of arbitrary records ----------------------------------------------------------------

struct RawRecord {
  std::uint8_t type;
  std::string payload;
  std::uint8_t flags = 0;

  RawRecord(RecordType t, std::string p) : RawRecord(static_cast<std::uint8_t>(t), std::move(p)) {}
  RawRecord(std::uint8_t t, std::string p, std::uint8_t f = 0)
      : type(t), payload(std::move(p)), flags(f) {}
};

// Returns a file of these records, valid or not, with correct checksums.
inline std::string file_of(RecordWriter file, const std::vector<RawRecord>& records) {
  for (const RawRecord& record : records) {
    file.begin_record(static_cast<RecordType>(record.type), record.flags).append(record.payload);
    file.end_record();
  }
  return std::move(file).finish();
}

inline std::string file_of(FileKind kind, const std::vector<RawRecord>& records,
                           std::uint16_t major, std::uint16_t minor = 0) {
  return file_of(RecordWriter(kind, major, minor), records);
}

// In the version in which such files are written now.
inline std::string file_of(FileKind kind, const std::vector<RawRecord>& records) {
  return file_of(RecordWriter(kind), records);
}

// Returns the records of a valid file, without the end record.
inline std::vector<RawRecord> records_of(std::string_view file) {
  std::vector<RawRecord> records;
  std::size_t at = record_layout::header_bytes;
  while (at + record_layout::end_bytes < file.size()) {
    ByteReader reader(file.substr(at));
    const std::uint8_t type = reader.u8();
    const std::uint8_t flags = reader.u8();
    const std::uint32_t length = reader.u32();
    records.emplace_back(type, std::string(reader.raw(length)), flags);
    at += record_layout::prefix_bytes + length + record_layout::checksum_bytes;
  }
  return records;
}

// Returns the bytes of a text such as "01 0a ff".
inline std::string bytes_from_hex(std::string_view hex) {
  std::string bytes;
  int high = -1;
  for (const char c : hex) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<char>(high * 16 + digit));
      high = -1;
    }
  }
  return bytes;
}

// ---- Damage ------------------------------------------------------------------------------------

// Calls visit(what, damaged) for many damaged variants of `file`. In each, one bit is flipped, the
// end is missing, a run of 1 to 64 bytes is removed, repeated or zeroed, a byte is inserted, or a
// record is removed, repeated or swapped with the next one.
template <typename Visit>
void for_each_damage(const std::string& file, Visit visit) {
  const auto report = [&](const char* what, std::size_t at, const std::string& damaged) {
    if (damaged != file) visit(std::string(what) + " at " + std::to_string(at), damaged);
  };
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    for (int bit = 0; bit < 8; ++bit) {
      damaged[at] = static_cast<char>(file[at] ^ (1 << bit));
      report("a bit flipped", at, damaged);
    }
    report("cut short", at, file.substr(0, at));
    for (const std::size_t length : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8},
                                     std::size_t{16}, std::size_t{64}}) {
      if (at + length > file.size()) break;
      damaged = file;
      report("bytes taken out", at, damaged.erase(at, length));
      damaged = file;
      report("bytes doubled", at, damaged.insert(at, file, at, length));
      damaged = file;
      report("bytes zeroed", at, damaged.replace(at, length, length, '\0'));
    }
  }
  for (std::size_t at = 0; at <= file.size(); ++at) {
    for (const char byte : {'\x00', '\x01', '\x7F', '\xFF'}) {
      std::string damaged = file;
      report("a byte put in", at, damaged.insert(at, 1, byte));
    }
  }
  // Where each record begins, then where the end record begins.
  std::vector<std::size_t> starts = {record_layout::header_bytes};
  for (const RawRecord& record : records_of(file)) {
    starts.push_back(starts.back() + record_layout::prefix_bytes + record.payload.size() +
                     record_layout::checksum_bytes);
  }
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const std::size_t at = starts[i];
    const std::string record = file.substr(at, starts[i + 1] - at);
    std::string damaged = file;
    report("a record taken out", at, damaged.erase(at, record.size()));
    damaged = file;
    report("a record doubled", at, damaged.insert(at, record));
    if (i + 2 >= starts.size()) continue;
    const std::string next = file.substr(starts[i + 1], starts[i + 2] - starts[i + 1]);
    damaged = file;
    report("two records swapped", at,
           damaged.replace(at, record.size() + next.size(), next + record));
  }
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace entitable::test
