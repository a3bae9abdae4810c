#include "core/log/commit_codec.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/log/commit_effects.h"
#include "core/log/field_codec.h"
#include "core/log/row_codec.h"
#include "core/model/limits.h"
#include "core/model/table_name.h"

namespace entitable {
namespace {

// These numbers never change. A mutation `_in_same_partition` has the same table and partition key
// as the previous put or erase of the commit, and does not repeat them.
enum class MutationKind : std::uint8_t {
  put = 1,
  put_in_same_partition = 2,
  erase = 3,
  erase_in_same_partition = 4,
  create_table = 5,
  drop_table = 6,
  table_acl = 7,
  service_properties = 8,
  set_synced = 9,  // only in a commit with hidden tables
};

constexpr std::size_t mutation_bytes_min = 2;
constexpr std::size_t mutation_bytes_usual = 192;  // a guess, to reserve memory
constexpr std::size_t shape_bytes_min = 1;
// An upper bound for the bytes of all numbers of a mutation, except its property values: kind,
// table, lengths, timestamp, shape. Also an upper bound for a commit's own numbers, outside its
// shapes and mutations: number, timestamp, counts.
constexpr std::size_t integers_max = 64;

// The table and partition of the previous put or erase. No partition: there was none yet.
struct LastPartition {
  TableId table = 0;
  std::optional<std::string_view> partition;
};

// ---- Writing -----------------------------------------------------------------------------------

// The put_ functions write with plain stores to memory that has been reserved before. Each returns
// the end of what it wrote.

char* put_kind(char* at, MutationKind kind) {
  *at = static_cast<char>(kind);
  return at + 1;
}

char* put_table(char* at, TableId table) {
  ENTITABLE_CHECK(is_table_id_valid(table));
  return put_varint(at, table);
}

std::size_t key_bytes_max(const KeyView& key) {
  return integers_max + key.partition.size() + key.row.size();
}
char* put_key(char* at, TableId table, const KeyView& key, MutationKind kind,
              MutationKind same_partition_kind, LastPartition& last_partition) {
  if (last_partition.table == table && last_partition.partition == key.partition) {
    at = put_kind(at, same_partition_kind);
  } else {
    at = put_bytes(put_table(put_kind(at, kind), table), key.partition);
    last_partition = {table, key.partition};
  }
  return put_bytes(at, key.row);
}

std::size_t row_bytes_max(const PutRow& row) {
  return key_bytes_max(row.key) + integers_max + values_bytes_max(row.properties);
}
char* put_row(char* at, const PutRow& row, Ticks last_timestamp, std::uint32_t shape,
              LastPartition& last_partition) {
  ENTITABLE_CHECK(row.timestamp > 0 && row.timestamp <= last_timestamp);
  at = put_key(at, row.table, row.key, MutationKind::put, MutationKind::put_in_same_partition,
               last_partition);
  at = put_ticks(at, row.timestamp, last_timestamp);
  return put_values(put_varint(at, shape), row.properties);
}

// Encodes a commit that puts a single row: a fast path for the most frequent kind of commit.
std::size_t encode_single(const Commit& commit, const PutRow& row, PendingRecords& records) {
  const std::size_t shape_bytes_max = row.encoded_definition.empty()
                                          ? definition_bytes_max(row.properties)
                                          : row.encoded_definition.size();
  const std::size_t call_bytes = commit.call.has_value() ? client_call_bytes_max(*commit.call) : 0;
  char* const start =
      records.reserve_record(integers_max + shape_bytes_max + call_bytes + row_bytes_max(row));
  char* at = put_varint(start, commit.number);
  at = put_varint(put_varint(at, 1), 0);
  at = row.encoded_definition.empty() ? put_definition(at, row.properties)
                                      : put_raw(at, row.encoded_definition);
  at = put_integer(at, static_cast<std::uint64_t>(commit.last_timestamp));
  *at++ = commit.call.has_value() ? 1 : 0;
  if (commit.call.has_value()) at = put_client_call(at, *commit.call, commit.last_timestamp);
  LastPartition last_partition;
  at = put_row(put_varint(at, 1), row, commit.last_timestamp, 1, last_partition);
  return static_cast<std::size_t>(at - start);
}

constexpr std::size_t few_rows_max = 4;
using FewRows = std::array<const PutRow*, few_rows_max>;

// Returns the rows that the commit puts, or nothing if it has more, or other mutations.
std::optional<FewRows> few_rows_of(const Commit& commit) {
  FewRows rows{};
  if (commit.mutations.size() > rows.size()) return std::nullopt;
  for (std::size_t i = 0; i < commit.mutations.size(); ++i) {
    rows[i] = std::get_if<PutRow>(&commit.mutations[i]);
    if (rows[i] == nullptr) return std::nullopt;
  }
  return rows;
}

bool have_same_definition(const PutRow& a, const PutRow& b) {
  return std::equal(a.properties.begin(), a.properties.end(), b.properties.begin(),
                    b.properties.end(), [](const PropertyView& x, const PropertyView& y) {
                      return x.value.type() == y.value.type() && same_text(x.name, y.name);
                    });
}

// Does the same as encode_single() for a few rows: a write of a synced table, which also puts rows
// of hidden tables.
std::size_t encode_few(const Commit& commit, const FewRows& rows, PendingRecords& records) {
  const std::size_t count = commit.mutations.size();
  std::array<std::uint32_t, few_rows_max> shapes{};
  std::uint32_t shape_count = 0;
  std::size_t bytes_max = integers_max + effect_codes_bytes_max(commit);
  if (commit.call.has_value()) bytes_max += client_call_bytes_max(*commit.call);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* const same = std::find_if(rows.begin(), rows.begin() + i, [&](const PutRow* row) {
      return have_same_definition(*row, *rows[i]);
    });
    const bool is_new = same == rows.begin() + i;
    shapes[i] = is_new ? ++shape_count : shapes[static_cast<std::size_t>(same - rows.begin())];
    bytes_max += row_bytes_max(*rows[i]);
    if (is_new) bytes_max += 1 + definition_bytes_max(rows[i]->properties);
  }
  char* const start = records.reserve_record(bytes_max);
  char* at = put_varint(put_varint(start, commit.number), shape_count);
  std::uint32_t written = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (shapes[i] <= written) continue;
    at = put_definition(put_varint(at, 0), rows[i]->properties);
    written = shapes[i];
  }
  at = put_integer(at, static_cast<std::uint64_t>(commit.last_timestamp));
  *at++ = commit.call.has_value() ? 1 : 0;
  if (commit.call.has_value()) at = put_client_call(at, *commit.call, commit.last_timestamp);
  at = put_varint(at, count);
  LastPartition last_partition;
  for (std::size_t i = 0; i < count; ++i)
    at = put_row(at, *rows[i], commit.last_timestamp, shapes[i], last_partition);
  return static_cast<std::size_t>(at - start);
}

class CommitEncoder {
 public:
  explicit CommitEncoder(const Commit& commit) : commit_(commit) {}
  std::size_t encode(PendingRecords& records);

 private:
  std::string timestamp_and_call() const;
  void write(const PutRow& mutation);
  void write(const DeleteRow& mutation);
  void write(const CreateTable& mutation);
  void write(const DropTable& mutation);
  void write(const SetTableAcl& mutation);
  void write(const SetServiceProperties& mutation);
  void write(const SetSynced& mutation);

  void write_of_table(MutationKind kind, TableId table);
  std::uint32_t shape_of(const PutRow& row);

  const Commit& commit_;
  std::string shapes_;  // definitions, in order of first use
  std::uint32_t shape_count_ = 0;
  RowShapeNumbers row_shapes_;
  std::uint32_t last_shape_ = 0;  // shape of the previous row
  std::string mutations_;
  ByteWriter writer_{mutations_};
  LastPartition last_partition_;
};

std::size_t CommitEncoder::encode(PendingRecords& records) {
  mutations_.reserve(commit_.mutations.size() * mutation_bytes_usual);
  for (const Mutation& mutation : commit_.mutations) {
    std::visit([this](const auto& m) { write(m); }, mutation);
  }
  const std::string timestamp_and_call = this->timestamp_and_call();
  char* const start =
      records.reserve_record(integers_max + shapes_.size() + timestamp_and_call.size() +
                             mutations_.size() + effect_codes_bytes_max(commit_));
  char* at = put_varint(put_varint(start, commit_.number), shape_count_);
  at = put_varint(put_raw(put_raw(at, shapes_), timestamp_and_call), commit_.mutations.size());
  return static_cast<std::size_t>(put_raw(at, mutations_) - start);
}

std::string CommitEncoder::timestamp_and_call() const {
  std::string out;
  ByteWriter writer(out);
  writer.u64(static_cast<std::uint64_t>(commit_.last_timestamp));
  writer.u8(commit_.call.has_value() ? 1 : 0);
  if (commit_.call.has_value()) append_client_call(*commit_.call, commit_.last_timestamp, out);
  return out;
}

std::uint32_t CommitEncoder::shape_of(const PutRow& row) {
  if (row.same_shape_as_previous && last_shape_ != 0) return last_shape_;
  const ShapeNumbers::Numbered shape = row_shapes_.number_of(row.properties);
  if (shape.is_new) {
    ByteWriter(shapes_).varint(0);
    shapes_.append(row_shapes_.last_definition());
    ++shape_count_;
  }
  last_shape_ = shape.number;
  return shape.number;
}

void CommitEncoder::write(const PutRow& mutation) {
  const std::uint32_t shape = shape_of(mutation);
  append_and_overwrite(mutations_, row_bytes_max(mutation), [&](char* at) {
    return put_row(at, mutation, commit_.last_timestamp, shape, last_partition_);
  });
}

void CommitEncoder::write(const DeleteRow& mutation) {
  const KeyView key = mutation.key.view();
  append_and_overwrite(mutations_, key_bytes_max(key), [&](char* at) {
    return put_key(at, mutation.table, key, MutationKind::erase,
                   MutationKind::erase_in_same_partition, last_partition_);
  });
}

void CommitEncoder::write_of_table(MutationKind kind, TableId table) {
  append_and_overwrite(mutations_, integers_max,
                       [&](char* at) { return put_table(put_kind(at, kind), table); });
}

void CommitEncoder::write(const CreateTable& mutation) {
  write_of_table(MutationKind::create_table, mutation.table);
  writer_.bytes(mutation.name);
}

void CommitEncoder::write(const DropTable& mutation) {
  write_of_table(MutationKind::drop_table, mutation.table);
}

void CommitEncoder::write(const SetTableAcl& mutation) {
  write_of_table(MutationKind::table_acl, mutation.table);
  append_policies(mutation.policies, mutations_);
}

void CommitEncoder::write(const SetServiceProperties& mutation) {
  append_and_overwrite(mutations_, 1,
                       [](char* at) { return put_kind(at, MutationKind::service_properties); });
  writer_.bytes(mutation.document);
}

void CommitEncoder::write(const SetSynced& mutation) {
  write_of_table(MutationKind::set_synced, mutation.table);
  writer_.u8(mutation.synced ? 1 : 0);
}

// ---- Reading -----------------------------------------------------------------------------------

// The read_ functions return null, or why the bytes are bad.
class CommitDecoder {
 public:
  CommitDecoder(std::string_view payload, ShapeDictionary& shapes, PropertyViewArena& rows,
                bool uses_hidden_tables)
      : reader_(payload), shapes_(shapes), rows_(rows), uses_hidden_tables_(uses_hidden_tables) {}
  Result<Commit> decode();

 private:
  const char* read_head();
  const char* read_shapes();
  const char* read_mutation();
  const char* read_key(bool same_partition, KeyView& key);
  const char* read_put(bool same_partition);
  const char* read_erase(bool same_partition);
  const char* read_create_table();
  const char* read_drop_table();
  const char* read_table_acl();
  const char* read_set_synced();

  ByteReader reader_;
  ShapeDictionary& shapes_;
  std::vector<std::uint64_t> shape_numbers_;  // numbers of the commit's shapes in the dictionary
  PropertyViewArena& rows_;
  const bool uses_hidden_tables_;
  LastPartition last_partition_;
  std::uint64_t last_shape_ = 0;  // shape of the previous row
  Commit commit_;
};

Result<Commit> CommitDecoder::decode() {
  if (const char* bad = read_head()) return Error(ErrorCode::corrupted, bad);
  const std::size_t mutations = reader_.count(mutation_bytes_min);
  if (!reader_.ok()) return Error(ErrorCode::corrupted, "it has fewer mutations than its count");
  commit_.mutations.reserve(mutations);
  for (std::size_t i = 0; i < mutations; ++i) {
    if (const char* bad = read_mutation()) {
      return Error(ErrorCode::corrupted, "mutation " + std::to_string(i + 1) + ": " + bad);
    }
  }
  if (!reader_.at_end()) return Error(ErrorCode::corrupted, "bytes follow its last mutation");
  return std::move(commit_);
}

const char* CommitDecoder::read_head() {
  commit_.number = reader_.varint();
  if (reader_.ok() && commit_.number == 0) return "a commit has the number 0";
  if (commit_.number > counter_max) return "the number of the commit is out of range";
  if (const char* bad = read_shapes()) return bad;
  const std::uint64_t last_timestamp = reader_.u64();
  if (last_timestamp > static_cast<std::uint64_t>(limits::date_time_ticks_max)) {
    return "the last timestamp is out of range";
  }
  commit_.last_timestamp = static_cast<Ticks>(last_timestamp);
  const std::uint8_t has_call = reader_.u8();
  if (!reader_.ok()) return field_truncated;
  if (has_call > 1) return "it has an invalid call flag";
  return has_call == 1 ? read_client_call(reader_, commit_.last_timestamp, commit_.call.emplace())
                       : nullptr;
}

const char* CommitDecoder::read_shapes() {
  const std::size_t count = reader_.count(shape_bytes_min);
  if (!reader_.ok()) return field_truncated;
  shape_numbers_.resize(count);
  for (std::uint64_t& number : shape_numbers_) {
    if (const char* bad = shapes_.read_shape(reader_, number)) return bad;
  }
  return nullptr;
}

const char* CommitDecoder::read_mutation() {
  switch (static_cast<MutationKind>(reader_.u8())) {
    case MutationKind::put:
      return read_put(false);
    case MutationKind::put_in_same_partition:
      return read_put(true);
    case MutationKind::erase:
      return read_erase(false);
    case MutationKind::erase_in_same_partition:
      return read_erase(true);
    case MutationKind::create_table:
      return read_create_table();
    case MutationKind::drop_table:
      return read_drop_table();
    case MutationKind::table_acl:
      return read_table_acl();
    case MutationKind::service_properties:
      return read_service_properties(
          reader_,
          std::get<SetServiceProperties>(commit_.mutations.emplace_back(SetServiceProperties{}))
              .document);
    case MutationKind::set_synced:
      if (uses_hidden_tables_) return read_set_synced();
  }
  return reader_.ok() ? "the kind of mutation is unknown" : field_truncated;
}

const char* CommitDecoder::read_key(bool same_partition, KeyView& key) {
  if (!same_partition) {
    const auto read_id = uses_hidden_tables_ ? read_any_table_id : read_table_id;
    if (const char* bad = read_id(reader_, last_partition_.table)) return bad;
    last_partition_.partition = reader_.bytes();
  } else if (!last_partition_.partition) {
    return "no entity mutation precedes it";
  }
  key = {*last_partition_.partition, reader_.bytes()};
  if (!reader_.ok()) return field_truncated;
  return check_stored_key(key);
}

const char* CommitDecoder::read_put(bool same_partition) {
  KeyView key;
  Ticks timestamp = 0;
  if (const char* bad = read_key(same_partition, key)) return bad;
  if (const char* bad = read_ticks(reader_, commit_.last_timestamp, timestamp)) return bad;
  if (timestamp == 0) return "a row has no timestamp";
  if (timestamp > commit_.last_timestamp) return "a row is newer than the last timestamp";
  const std::uint64_t shape = reader_.varint();
  if (!reader_.ok()) return field_truncated;
  if (shape == 0 || shape > shape_numbers_.size()) return "a row has an undefined shape";
  const std::uint64_t number = shape_numbers_[static_cast<std::size_t>(shape - 1)];
  const DecodedShape& shape_of_row = shapes_.shape(number);
  const std::span<PropertyView> row = rows_.allocate_list(shape_of_row.properties.size());
  if (const char* bad = read_values(reader_, shape_of_row, key, row)) return bad;
  commit_.mutations.emplace_back(
      PutRow{last_partition_.table, key, timestamp, row, shape == last_shape_});
  last_shape_ = shape;
  return nullptr;
}

const char* CommitDecoder::read_erase(bool same_partition) {
  KeyView key;
  if (const char* bad = read_key(same_partition, key)) return bad;
  commit_.mutations.emplace_back(
      DeleteRow{last_partition_.table, EntityKey(key.partition, key.row)});
  return nullptr;
}

const char* CommitDecoder::read_create_table() {
  CreateTable create{0, {}};
  if (const char* bad = read_table_id(reader_, create.table)) return bad;
  create.name = reader_.bytes();
  if (!reader_.ok()) return field_truncated;
  if (!TableName::parse(create.name).ok()) return "a table has a name that is not allowed";
  commit_.mutations.emplace_back(std::move(create));
  return nullptr;
}

const char* CommitDecoder::read_drop_table() {
  DropTable drop{0};
  if (const char* bad = read_table_id(reader_, drop.table)) return bad;
  commit_.mutations.emplace_back(drop);
  return nullptr;
}

const char* CommitDecoder::read_table_acl() {
  SetTableAcl acl{0, {}};
  if (const char* bad = read_table_id(reader_, acl.table)) return bad;
  if (const char* bad = read_policies(reader_, acl.policies)) return bad;
  commit_.mutations.emplace_back(std::move(acl));
  return nullptr;
}

const char* CommitDecoder::read_set_synced() {
  SetSynced set{0, false};
  if (const char* bad = read_table_id(reader_, set.table)) return bad;
  if (set.table > synced_table_id_max) return "a table id is out of range";
  const std::uint8_t synced = reader_.u8();
  if (!reader_.ok()) return field_truncated;
  if (synced > 1) return "it has an invalid flag";
  set.synced = synced == 1;
  commit_.mutations.emplace_back(set);
  return nullptr;
}

// Returns whether decoding the bytes gives an equal commit.
[[maybe_unused]] bool reads_back(std::string_view bytes, const Commit& commit) {
  ShapeDictionary shapes;
  PropertyViewArena rows;
  const Result<Commit> decoded = decode_commit(bytes, shapes, rows, uses_hidden_tables(commit));
  return decoded.ok() && *decoded == commit;
}

// Skips a definition and returns its bytes. REQUIRES: the definition is valid.
std::string_view skip_definition(ByteReader& reader, std::string_view all) {
  const std::size_t start = all.size() - reader.remaining();
  for (std::uint64_t left = reader.varint(); left > 0; --left) {
    reader.u8();
    reader.bytes();
  }
  return all.substr(start, all.size() - reader.remaining() - start);
}

}  // namespace

std::size_t encode_commit(const Commit& commit, PendingRecords& records) {
  ENTITABLE_CHECK(commit.number > 0 && commit.last_timestamp >= 0);
  const std::optional<FewRows> rows = few_rows_of(commit);
  const std::size_t bytes =
      !rows.has_value() || commit.mutations.empty() ? CommitEncoder(commit).encode(records)
      : commit.mutations.size() == 1                ? encode_single(commit, *rows->front(), records)
                                                    : encode_few(commit, *rows, records);
  ENTITABLE_DCHECK(reads_back({records.reserve_record(bytes), bytes}, commit));
  return bytes;
}

std::string encode_commit(const Commit& commit) {
  PendingRecords records;
  const std::size_t bytes = encode_commit(commit, records);
  return {records.reserve_record(bytes), bytes};
}

Result<Commit> decode_commit(std::string_view payload, ShapeDictionary& shapes,
                             PropertyViewArena& rows, bool uses_hidden_tables) {
  return CommitDecoder(payload, shapes, rows, uses_hidden_tables).decode();
}

void append_commit_payload(std::string_view standalone, ShapeNumbers& shapes, std::string& out) {
  ByteReader reader(standalone);
  char numbers[3 * varint_bytes_max];
  char* at = put_varint(numbers, reader.varint());  // number of the commit
  std::uint64_t shapes_left = reader.varint();
  at = put_varint(at, shapes_left);
  for (; shapes_left > 0; --shapes_left) {
    ENTITABLE_CHECK(reader.varint() == 0 && reader.ok());
    const std::string_view first =
        shapes.match_first_definition(standalone.substr(standalone.size() - reader.remaining()));
    const std::string_view definition =
        first.empty() ? skip_definition(reader, standalone) : reader.raw(first.size());
    const ShapeNumbers::Numbered shape =
        first.empty() ? shapes.number_of(definition) : ShapeNumbers::first;
    at = put_varint(at, shape.is_new ? 0 : shape.number);
    out.append(numbers, static_cast<std::size_t>(at - numbers));
    if (shape.is_new) out.append(definition);
    at = numbers;
  }
  ENTITABLE_CHECK(reader.ok());
  out.append(numbers, static_cast<std::size_t>(at - numbers));
  out.append(reader.raw(reader.remaining()));
}

std::uint64_t commit_number(std::string_view standalone) {
  const std::uint64_t number = ByteReader(standalone).varint();
  ENTITABLE_CHECK(number > 0);
  return number;
}

}  // namespace entitable
