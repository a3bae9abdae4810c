#include "core/log/manifest_codec.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/log/field_codec.h"
#include "core/log/record_reader.h"
#include "core/log/record_writer.h"
#include "core/model/limits.h"
#include "core/model/table_name.h"

namespace entitable {
namespace {

constexpr std::size_t option_bytes_min = 2;
constexpr std::size_t call_bytes_min = 18;  // client, number, count
constexpr std::size_t claim_bytes_min = 2;
constexpr std::size_t stretch_bytes_min = 4;
constexpr std::size_t dropped_bytes_min = 3;
constexpr std::size_t reader_bytes_min = 11;
constexpr std::size_t part_bytes_min = 9;  // two texts, three numbers, a checksum

// ---- Writing -----------------------------------------------------------------------------------

void write_state(const Manifest& manifest, RecordWriter& file) {
  ENTITABLE_CHECK(manifest.epoch > 0 && manifest.first_live_sequence > 0);
  ENTITABLE_CHECK(manifest.next_table > 0 && manifest.next_part > 0);
  ENTITABLE_CHECK(manifest.last_timestamp >= 0);
  ByteWriter writer(file.begin_record(RecordType::manifest_state));
  writer.varint(manifest.epoch);
  writer.varint(manifest.first_live_sequence);
  writer.varint(manifest.last_commit);
  writer.u64(static_cast<std::uint64_t>(manifest.last_timestamp));
  writer.varint(manifest.next_table);
  writer.varint(manifest.next_part);
  file.end_record();
}

void write_options(const Manifest& manifest, RecordWriter& file) {
  ByteWriter writer(file.begin_record(RecordType::manifest_options));
  writer.varint(manifest.options.size());
  for (const auto& [key, value] : manifest.options) {
    writer.bytes(key);
    writer.bytes(value);
  }
  file.end_record();
}

void write_service(const Manifest& manifest, RecordWriter& file) {
  ByteWriter(file.begin_record(RecordType::manifest_service)).bytes(manifest.service_properties);
  file.end_record();
}

void write_calls(const Manifest& manifest, RecordWriter& file) {
  std::string& out = file.begin_record(RecordType::manifest_calls);
  ByteWriter(out).varint(manifest.calls.size());
  for (const ClientCall& call : manifest.calls)
    append_client_call(call, manifest.last_timestamp, out);
  file.end_record();
}

void write_call_commits(const CallCommits& commits, RecordWriter& file) {
  ByteWriter writer(file.begin_record(RecordType::manifest_call_commits, record_flag_skippable));
  writer.varint(commits.dropped_through);
  writer.varint(commits.newest.size());
  for (const std::uint64_t commit : commits.newest) writer.varint(commit);
  file.end_record();
}

void write_claims(const ManifestClaims& claims, RecordWriter& file) {
  ByteWriter writer(file.begin_record(RecordType::manifest_claims, record_flag_skippable));
  writer.varint(claims.known_from);
  writer.varint(claims.newest.size());
  for (const Claim& claim : claims.newest) {
    writer.varint(claim.epoch);
    writer.varint(claim.last_commit);
  }
  file.end_record();
}

void write_history(const ManifestHistory& history, Ticks last_timestamp, RecordWriter& file) {
  std::string& out = file.begin_record(RecordType::manifest_history, record_flag_skippable);
  ByteWriter writer(out);
  writer.varint(history.first_sequence);
  writer.varint(history.first_commit);
  writer.varint(history.stretches.size());
  for (const LogStretch& stretch : history.stretches) {
    writer.varint(stretch.segments);
    writer.varint(stretch.commits);
    writer.varint(stretch.bytes);
    append_ticks(stretch.last_timestamp, last_timestamp, out);
  }
  writer.varint(history.dropped.size());
  for (const DroppedTable& table : history.dropped) {
    writer.varint(table.id);
    writer.bytes(table.name);
    writer.varint(table.commit);
  }
  file.end_record();
}

void write_readers(const FeedReadersByName& readers, RecordWriter& file) {
  ByteWriter writer(file.begin_record(RecordType::manifest_readers, record_flag_skippable));
  writer.varint(readers.size());
  for (const auto& [name, reader] : readers) {
    writer.bytes(name);
    writer.varint(reader.acknowledged.epoch);
    writer.varint(reader.acknowledged.commit);
    writer.u64(static_cast<std::uint64_t>(reader.acknowledged_at));
  }
  file.end_record();
}

RecordType record_type_of(const ManifestTable& table) {
  return is_hidden_table(table.id) ? RecordType::manifest_hidden_table : RecordType::manifest_table;
}

void write_synced_tables(const std::vector<ManifestTable>& tables, RecordWriter& file) {
  const auto count = std::count_if(tables.begin(), tables.end(),
                                   [](const ManifestTable& table) { return table.synced; });
  if (count == 0) return;
  ByteWriter writer(file.begin_record(RecordType::manifest_synced_tables));
  writer.varint(static_cast<std::uint64_t>(count));
  for (const ManifestTable& table : tables) {
    if (table.synced) writer.varint(table.id);
  }
  file.end_record();
}

void write_table(const ManifestTable& table, RecordWriter& file) {
  std::string& out = file.begin_record(record_type_of(table));
  ByteWriter writer(out);
  writer.varint(table.id);
  if (!is_hidden_table(table.id)) {
    writer.bytes(table.name);
    append_policies(table.acl, out);
  }
  writer.varint(table.parts.size());
  for (const ManifestPart& part : table.parts) {
    writer.bytes(part.lower.partition);
    writer.bytes(part.lower.row);
    writer.varint(part.id);
    writer.varint(part.rows);
    writer.varint(part.bytes);
    writer.u32(part.checksum);
  }
  file.end_record();
}

// ---- Reading: the functions return null, or why the payload is bad -----------------------------

const char* check_at_end(const ByteReader& reader) {
  return reader.ok() && reader.at_end() ? nullptr : "it has the wrong length";
}

const char* read_state(ByteReader& reader, Manifest& manifest) {
  manifest.epoch = reader.varint();
  manifest.first_live_sequence = reader.varint();
  manifest.last_commit = reader.varint();
  const std::uint64_t last_timestamp = reader.u64();
  if (last_timestamp > static_cast<std::uint64_t>(limits::date_time_ticks_max)) {
    return "the last timestamp is out of range";
  }
  manifest.last_timestamp = static_cast<Ticks>(last_timestamp);
  const std::uint64_t next_table = reader.varint();
  manifest.next_part = reader.varint();
  if (const char* bad = check_at_end(reader)) return bad;
  if (manifest.epoch == 0 || manifest.first_live_sequence == 0) {
    return "the epoch or the first live sequence is 0";
  }
  if (manifest.epoch > counter_max || manifest.first_live_sequence > counter_max ||
      manifest.last_commit > counter_max) {
    return "the epoch, the first live sequence or the last commit is out of range";
  }
  if (next_table == 0 || next_table > std::uint64_t{table_id_max} + 1 || manifest.next_part == 0 ||
      manifest.next_part > counter_max) {
    return "the next table or part id is out of range";
  }
  manifest.next_table = static_cast<TableId>(next_table);
  return nullptr;
}

const char* read_options(ByteReader& reader, Manifest& manifest) {
  const std::size_t count = reader.count(option_bytes_min);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key(reader.bytes());
    std::string value(reader.bytes());
    if (!reader.ok()) return field_truncated;
    if (!is_valid_text(key) || !is_valid_text(value)) return "an option is not valid text";
    if (!manifest.options.empty() && manifest.options.rbegin()->first >= key) {
      return "the options are not in order";
    }
    manifest.options.emplace_hint(manifest.options.end(), key, std::move(value));
  }
  return check_at_end(reader);
}

const char* read_service(ByteReader& reader, Manifest& manifest) {
  const char* const bad = read_service_properties(reader, manifest.service_properties);
  return reader.ok() && bad != nullptr ? bad : check_at_end(reader);
}

const char* read_calls(ByteReader& reader, Manifest& manifest) {
  const std::size_t count = reader.count(call_bytes_min);
  manifest.calls.resize(count);
  for (ClientCall& call : manifest.calls) {
    if (const char* bad = read_client_call(reader, manifest.last_timestamp, call)) return bad;
  }
  return check_at_end(reader);
}

std::size_t count_clients(const std::vector<ClientCall>& calls) {
  std::set<ClientId> clients;
  for (const ClientCall& call : calls) clients.insert(call.client);
  return clients.size();
}

const char* read_call_commits(ByteReader& reader, Manifest& manifest) {
  CallCommits commits;
  commits.dropped_through = reader.varint();
  commits.newest.resize(reader.count(1));
  std::uint64_t greatest = commits.dropped_through;
  for (std::uint64_t& commit : commits.newest) {
    commit = reader.varint();
    greatest = std::max(greatest, commit);
  }
  if (const char* bad = check_at_end(reader)) return bad;
  if (greatest > counter_max) return "a commit is out of range";
  if (commits.newest.size() != count_clients(manifest.calls))
    return "it does not have one commit for each client";
  manifest.call_commits = std::move(commits);
  return nullptr;
}

const char* read_claims(ByteReader& reader, Manifest& manifest) {
  ManifestClaims claims;
  claims.known_from = reader.varint();
  std::uint64_t epoch = claims.known_from;
  for (std::size_t left = reader.count(claim_bytes_min); left > 0; --left) {
    const Claim claim{reader.varint(), reader.varint()};
    if (!reader.ok()) return field_truncated;
    if (claim.epoch <= epoch) return "the epochs of claims are not in order";
    if (claim.last_commit > counter_max) return "the last commit of a claim is out of range";
    epoch = claim.epoch;
    claims.newest.push_back(claim);
  }
  if (const char* bad = check_at_end(reader)) return bad;
  if (claims.known_from == 0 || epoch > manifest.epoch)
    return "the epoch of a claim is out of range";
  manifest.claims = std::move(claims);
  return nullptr;
}

const char* read_stretch(ByteReader& reader, const Manifest& manifest, ManifestHistory& history) {
  LogStretch stretch;
  stretch.segments = reader.varint();
  stretch.commits = reader.varint();
  stretch.bytes = reader.varint();
  if (const char* bad = read_ticks(reader, manifest.last_timestamp, stretch.last_timestamp))
    return bad;
  constexpr std::uint64_t segments_max = counter_max / LogStretch::file_bytes;
  if (stretch.segments == 0 || stretch.segments > segments_max || stretch.commits > counter_max ||
      stretch.bytes > counter_max)
    return "a stretch of the history is out of range";
  history.stretches.push_back(stretch);
  return nullptr;
}

const char* read_dropped(ByteReader& reader, const Manifest& manifest, ManifestHistory& history) {
  DroppedTable table{};
  if (const char* bad = read_table_id(reader, table.id)) return bad;
  table.name = reader.bytes();
  table.commit = reader.varint();
  if (!reader.ok()) return field_truncated;
  if (table.id >= manifest.next_table) return "a table id is out of range";
  if (!TableName::parse(table.name).ok()) return "a table has a name that is not allowed";
  const std::uint64_t first =
      history.dropped.empty() ? history.first_commit : history.dropped.back().commit;
  if (table.commit < first) return "the dropped tables are not in order";
  if (table.commit > manifest.last_commit) return "the commit that dropped a table is out of range";
  history.dropped.push_back(std::move(table));
  return nullptr;
}

const char* read_history(ByteReader& reader, Manifest& manifest) {
  ManifestHistory history;
  history.first_sequence = reader.varint();
  history.first_commit = reader.varint();
  if (history.first_sequence == 0 || history.first_sequence > counter_max ||
      history.first_commit == 0 || history.first_commit > counter_max)
    return reader.ok() ? "the first segment or commit of the history is out of range"
                       : field_truncated;
  std::uint64_t sequence = history.first_sequence;
  std::uint64_t commit = history.first_commit;
  std::uint64_t storage_bytes = 0;
  for (std::size_t left = reader.count(stretch_bytes_min); left > 0; --left) {
    if (const char* bad = read_stretch(reader, manifest, history)) return bad;
    sequence += history.stretches.back().segments;
    commit += history.stretches.back().commits;
    storage_bytes += history.stretches.back().storage_bytes();
    if (sequence > manifest.first_live_sequence || commit > counter_max + 1 ||
        storage_bytes > counter_max)
      return "a stretch of the history is out of range";
  }
  for (std::size_t left = reader.count(dropped_bytes_min); left > 0; --left) {
    if (const char* bad = read_dropped(reader, manifest, history)) return bad;
  }
  if (const char* bad = check_at_end(reader)) return bad;
  if (sequence != manifest.first_live_sequence)
    return "the history does not end at the first live sequence";
  manifest.history = std::move(history);
  return nullptr;
}

const char* read_readers(ByteReader& reader, Manifest& manifest) {
  for (std::size_t left = reader.count(reader_bytes_min); left > 0; --left) {
    const std::string name(reader.bytes());
    FeedReader read;
    read.acknowledged = {reader.varint(), reader.varint()};
    const std::uint64_t at = reader.u64();
    if (!reader.ok()) return field_truncated;
    if (!is_feed_reader_name(name)) return "the name of a reader is not allowed";
    if (!manifest.readers.empty() && manifest.readers.rbegin()->first >= name)
      return "the readers are not in order";
    if (read.acknowledged.epoch > counter_max || read.acknowledged.commit > counter_max)
      return "the position of a reader is out of range";
    if (at > static_cast<std::uint64_t>(limits::date_time_ticks_max))
      return "the time of a reader is out of range";
    read.acknowledged_at = static_cast<Ticks>(at);
    manifest.readers.emplace_hint(manifest.readers.end(), name, read);
  }
  return check_at_end(reader);
}

const char* read_part(ByteReader& reader, const Manifest& manifest, ManifestTable& table) {
  ManifestPart part;
  part.lower.partition = reader.bytes();
  part.lower.row = reader.bytes();
  part.id = reader.varint();
  part.rows = reader.varint();
  part.bytes = reader.varint();
  part.checksum = reader.u32();
  if (!reader.ok()) return field_truncated;
  if (part.id == 0 || part.id >= manifest.next_part) return "a part id is out of range";
  if (part.rows > std::numeric_limits<std::uint32_t>::max() || part.bytes > counter_max) {
    return "the number of rows or bytes of a part is out of range";
  }
  if (const char* bad = check_stored_key(part.lower.view())) return bad;
  if (!table.parts.empty() && compare(table.parts.back().lower.view(), part.lower.view()) >= 0) {
    return "the parts are not in order";
  }
  table.parts.push_back(std::move(part));
  return nullptr;
}

const char* read_parts(ByteReader& reader, Manifest& manifest, ManifestTable table) {
  if (!manifest.tables.empty() && manifest.tables.back().id >= table.id) {
    return "the tables are not in order";
  }
  const std::size_t parts = reader.count(part_bytes_min);
  table.parts.reserve(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    if (const char* bad = read_part(reader, manifest, table)) return bad;
  }
  manifest.tables.push_back(std::move(table));
  return check_at_end(reader);
}

const char* read_table(ByteReader& reader, Manifest& manifest) {
  ManifestTable table;
  if (const char* bad = read_table_id(reader, table.id)) return bad;
  if (table.id >= manifest.next_table) return "a table id is out of range";
  table.name = reader.bytes();
  if (!reader.ok()) return field_truncated;
  if (!TableName::parse(table.name).ok()) return "a table has a name that is not allowed";
  if (const char* bad = read_policies(reader, table.acl)) return bad;
  return read_parts(reader, manifest, std::move(table));
}

const char* read_synced_tables(ByteReader& reader, Manifest& manifest) {
  auto table = manifest.tables.begin();
  for (std::size_t left = reader.count(1); left > 0; --left, ++table) {
    TableId id = 0;
    if (const char* bad = read_table_id(reader, id)) return bad;
    while (table != manifest.tables.end() && table->id < id) ++table;
    if (table == manifest.tables.end() || table->id != id || id > synced_table_id_max)
      return "a synced table is not there, or is not in order";
    table->synced = true;
  }
  return check_at_end(reader);
}

const char* read_hidden_table(ByteReader& reader, Manifest& manifest) {
  ManifestTable table;
  if (const char* bad = read_hidden_table_id(reader, table.id)) return bad;
  return read_parts(reader, manifest, std::move(table));
}

const char* read_record(const Record& record, Manifest& manifest) {
  ByteReader reader(record.payload);
  switch (record.type) {
    case RecordType::manifest_state:
      return read_state(reader, manifest);
    case RecordType::manifest_options:
      return read_options(reader, manifest);
    case RecordType::manifest_service:
      return read_service(reader, manifest);
    case RecordType::manifest_calls:
      return read_calls(reader, manifest);
    case RecordType::manifest_table:
      return read_table(reader, manifest);
    case RecordType::manifest_call_commits:
      return read_call_commits(reader, manifest);
    case RecordType::manifest_claims:
      return read_claims(reader, manifest);
    case RecordType::manifest_history:
      return read_history(reader, manifest);
    case RecordType::manifest_readers:
      return read_readers(reader, manifest);
    case RecordType::manifest_synced_tables:
      return read_synced_tables(reader, manifest);
    case RecordType::manifest_hidden_table:
      return read_hidden_table(reader, manifest);
    case RecordType::segment_header:
    case RecordType::commit:
    case RecordType::segment_effects:
    case RecordType::commit_with_hidden_tables:
    case RecordType::part_header:
    case RecordType::part_rows:
    case RecordType::hidden_part_header:
    case RecordType::snapshot_header:
    case RecordType::snapshot_table:
    case RecordType::snapshot_part:
    case RecordType::end:
      break;
  }
  return "it is in the wrong place";
}

// The records of a manifest in their order. There is one of each of the first `records_required`,
// at most one of each of the others, and any number of tables and of hidden tables.
constexpr RecordType records_in_order[] = {
    RecordType::manifest_state,        RecordType::manifest_options,
    RecordType::manifest_service,      RecordType::manifest_calls,
    RecordType::manifest_call_commits, RecordType::manifest_claims,
    RecordType::manifest_history,      RecordType::manifest_readers,
    RecordType::manifest_table,        RecordType::manifest_synced_tables,
    RecordType::manifest_hidden_table,
};
constexpr std::size_t records_required = 4;

bool is_repeated(RecordType type) {
  return type == RecordType::manifest_table || type == RecordType::manifest_hidden_table;
}

// Returns the position in records_in_order of a record that follows those before `next`; nothing if
// it is in the wrong place.
std::optional<std::size_t> position_of(RecordType type, std::size_t next) {
  const auto* const at = std::find(std::begin(records_in_order), std::end(records_in_order), type);
  const auto position = static_cast<std::size_t>(at - std::begin(records_in_order));
  if (next < records_required) return position == next ? std::optional(position) : std::nullopt;
  if (position == std::size(records_in_order) || position < next) return std::nullopt;
  return position;
}

template <typename T>
bool has_duplicates(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) != values.end();
}

// Checks that hidden tables belong to synced tables. REQUIRES: the tables are in order.
const char* check_hidden_tables(const std::vector<ManifestTable>& tables) {
  auto owner = tables.begin();
  for (const ManifestTable& table : tables) {
    if (!is_hidden_table(table.id)) continue;
    const TableId id = owner_of_hidden_table(table.id);
    while (owner->id < id) ++owner;
    if (owner->id != id || !owner->synced) return "a hidden table belongs to no synced table";
  }
  return nullptr;
}

// Checks that table names and part ids are unique across all tables.
const char* check_tables(const Manifest& manifest) {
  std::vector<std::string> names;
  std::vector<PartId> parts;
  for (const ManifestTable& table : manifest.tables) {
    if (!is_hidden_table(table.id)) names.push_back(fold_table_name(table.name));
    for (const ManifestPart& part : table.parts) parts.push_back(part.id);
  }
  if (has_duplicates(std::move(names))) return "two tables have the same name";
  if (has_duplicates(std::move(parts))) return "a part is listed twice";
  return check_hidden_tables(manifest.tables);
}

[[maybe_unused]] bool reads_back(std::string_view file, const Manifest& manifest) {
  const Result<Manifest> decoded = decode_manifest(file);
  return decoded.ok() && *decoded == manifest;
}

}  // namespace

bool is_feed_reader_name(std::string_view name) {
  return !name.empty() && name.size() <= feed_reader_name_bytes_max && is_valid_text(name);
}

std::string encode_manifest(const Manifest& manifest) {
  RecordWriter file(FileKind::manifest);
  write_state(manifest, file);
  write_options(manifest, file);
  write_service(manifest, file);
  write_calls(manifest, file);
  if (manifest.call_commits.has_value()) write_call_commits(*manifest.call_commits, file);
  if (manifest.claims.has_value()) write_claims(*manifest.claims, file);
  if (manifest.history.has_value()) write_history(*manifest.history, manifest.last_timestamp, file);
  if (!manifest.readers.empty()) write_readers(manifest.readers, file);
  const auto hidden = std::find_if(manifest.tables.begin(), manifest.tables.end(),
                                   [](const auto& table) { return is_hidden_table(table.id); });
  std::for_each(manifest.tables.begin(), hidden, [&](const auto& t) { write_table(t, file); });
  write_synced_tables(manifest.tables, file);
  std::for_each(hidden, manifest.tables.end(), [&](const auto& t) { write_table(t, file); });
  std::string bytes = std::move(file).finish();
  ENTITABLE_DCHECK(reads_back(bytes, manifest));
  return bytes;
}

Result<Manifest> decode_manifest(std::string_view file) {
  Result<RecordReader> records = RecordReader::open(file, FileKind::manifest);
  if (!records.ok()) return records.error();
  Manifest manifest;
  std::size_t next = 0;  // the first position of records_in_order that may follow
  while (true) {
    const Result<std::optional<Record>> record = records->next();
    if (!record.ok()) return record.error();
    if (!*record) break;
    const std::optional<std::size_t> position = position_of((*record)->type, next);
    if (!position.has_value()) return invalid_payload_error(**record, "it is in the wrong place");
    if (const char* bad = read_record(**record, manifest))
      return invalid_payload_error(**record, bad);
    next = is_repeated((*record)->type) ? *position : *position + 1;
  }
  if (next < records_required) {
    return Error(ErrorCode::corrupted, "the manifest lacks records");
  }
  if (const char* bad = check_tables(manifest)) return Error(ErrorCode::corrupted, bad);
  return manifest;
}

}  // namespace entitable
