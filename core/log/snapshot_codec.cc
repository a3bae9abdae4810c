#include "core/log/snapshot_codec.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/log/field_codec.h"
#include "core/model/table_name.h"

namespace entitable {

// ---- Writing -----------------------------------------------------------------------------------

SnapshotWriter::SnapshotWriter(const SnapshotHeader& header)
    : file_(FileKind::snapshot), tables_left_(header.tables), rows_left_(0) {
  ByteWriter writer(file_.begin_record(RecordType::snapshot_header));
  writer.varint(header.tables);
  writer.varint(header.rows);
  writer.bytes(header.service_properties);
  file_.end_record();
}

void SnapshotWriter::begin_table(const SnapshotTableHeader& table) {
  end_part();
  ENTITABLE_CHECK(tables_left_ > 0 && rows_left_ == 0);
  --tables_left_;
  ++table_;
  rows_left_ = table.rows;
  std::string& out = file_.begin_record(RecordType::snapshot_table);
  ByteWriter writer(out);
  writer.bytes(table.name);
  append_policies(table.acl, out);
  writer.varint(table.rows);
  file_.end_record();
}

void SnapshotWriter::begin_row(std::string_view partition, std::string_view row, Ticks timestamp) {
  ENTITABLE_CHECK(rows_left_ > 0);
  --rows_left_;
  if (!part_.has_value()) part_.emplace(++parts_, table_, KeyView{partition, row});
  part_->begin_row(partition, row, timestamp);
  properties_.clear();
}

// Writes the properties sorted by name: their order in the index depends on the history of the
// table, but equal content must give equal bytes.
void SnapshotWriter::end_row() {
  const auto by_name = [](const PropertyView& a, const PropertyView& b) { return a.name < b.name; };
  std::sort(properties_.begin(), properties_.end(), by_name);
  for (const PropertyView& property : properties_)
    part_->add_property(property.name, property.value);
  part_->end_row();
  if (part_->size() >= snapshot_part_bytes) end_part();
}

void SnapshotWriter::end_part() {
  if (!part_.has_value()) return;
  ByteWriter(file_.begin_record(RecordType::snapshot_part)).raw(std::move(*part_).finish());
  file_.end_record();
  part_.reset();
}

std::string SnapshotWriter::finish() && {
  end_part();
  ENTITABLE_CHECK(tables_left_ == 0 && rows_left_ == 0);
  return std::move(file_).finish();
}

// ---- Reading -----------------------------------------------------------------------------------

Result<SnapshotReader::Step> SnapshotReader::next() {
  while (true) {
    if (part_.has_value()) {
      const Result<bool> row = next_row();
      if (!row.ok()) return row.error();
      return *row ? Step::row : Step::part_end;
    }
    const auto record = records_.next();
    if (!record.ok()) return record.error();
    if (!*record) break;
    const auto step = read(**record);
    if (!step.ok()) return step.error();
    if (*step) return **step;
  }
  if (!records_.ended()) return Step::chunk_needed;
  if (!has_header_ || tables_ != header_.tables || rows_left_ != 0 || all_rows_left_ != 0) {
    return Error(ErrorCode::corrupted, "the snapshot has not all of its tables and rows");
  }
  return Step::end;
}

Result<void> SnapshotReader::check_complete() const {
  return records_.check_complete();
}

// Moves to the next row of the part. Returns false at the end of the part.
Result<bool> SnapshotReader::next_row() {
  const auto inside = [this](const Error& error) {
    return invalid_payload_error(*record_, std::string("in the part: ").append(error.message));
  };
  const bool first = std::exchange(first_row_, false);
  if (!first) last_key_ = EntityKey(part_->key().partition, part_->key().row);
  const Result<bool> more = part_->next();
  if (!more.ok()) return inside(more.error());
  if (!*more) {
    part_.reset();
    return false;
  }
  if (first && compare(part_->key(), part_->header().lower.view()) != 0) {
    return invalid_payload_error(*record_, "the lower bound is not the key of the first row");
  }
  return true;
}

// Reads a record. Returns the step for next() to return, or nothing if next() must read on.
Result<std::optional<SnapshotReader::Step>> SnapshotReader::read(const Record& record) {
  const bool first = !std::exchange(has_header_, true);
  if (first != (record.type == RecordType::snapshot_header)) {
    return invalid_payload_error(
        record, first ? "a snapshot does not start with this record" : "it is in the wrong place");
  }
  if (first) {
    if (const char* bad = read_header(record.payload)) return invalid_payload_error(record, bad);
    return std::optional<Step>();
  }
  if (record.type == RecordType::snapshot_table) {
    if (const char* bad = read_table(record.payload)) return invalid_payload_error(record, bad);
    return std::optional<Step>(Step::table);
  }
  if (record.type != RecordType::snapshot_part)
    return invalid_payload_error(record, "it is in the wrong place");
  if (auto error = open_part(record)) return std::move(*error);
  return std::optional<Step>();
}

const char* SnapshotReader::read_header(std::string_view payload) {
  ByteReader reader(payload);
  header_.tables = reader.varint();
  header_.rows = reader.varint();
  const char* const bad = read_service_properties(reader, header_.service_properties);
  if (reader.ok() && bad != nullptr) return bad;
  all_rows_left_ = header_.rows;
  if (!reader.ok() || !reader.at_end()) return "it has the wrong length";
  return header_.tables > table_id_max ? "it has too many tables" : nullptr;
}

const char* SnapshotReader::read_table(std::string_view payload) {
  if (rows_left_ != 0) return "the previous table lacks rows";
  if (tables_++ == header_.tables) return "there are more tables than the header says";
  const std::string before = fold_table_name(table_.name);
  table_ = SnapshotTableHeader();
  ByteReader reader(payload);
  table_.name = reader.bytes();
  if (!reader.ok()) return field_truncated;
  if (!TableName::parse(table_.name).ok()) return "the table has a name that is not allowed";
  if (tables_ > 1 && before >= fold_table_name(table_.name)) return "the tables are not in order";
  if (const char* bad = read_policies(reader, table_.acl)) return bad;
  table_.rows = reader.varint();
  if (!reader.ok() || !reader.at_end()) return "it has the wrong length";
  if (table_.rows > all_rows_left_) return "there are more rows than the header says";
  all_rows_left_ -= table_.rows;
  rows_left_ = table_.rows;
  last_key_ = EntityKey();
  return nullptr;
}

std::optional<Error> SnapshotReader::open_part(const Record& record) {
  auto part = PartReader::open(record.payload);
  if (!part.ok()) {
    if (part.error().code == ErrorCode::format_too_new) return part.error();
    return invalid_payload_error(record, std::string("in the part: ").append(part.error().message));
  }
  if (const char* bad = check_part(part->header())) return invalid_payload_error(record, bad);
  ++parts_;
  rows_left_ -= part->header().row_count;
  record_ = record;
  part_.emplace(std::move(*part));
  first_row_ = true;
  return std::nullopt;
}

const char* SnapshotReader::check_part(const PartHeader& part) const {
  if (part.id != parts_ + 1 || part.table != tables_) return "the part is in the wrong place";
  if (part.upper.has_value() || part.row_count == 0)
    return "the part has no rows, or its range has an end";
  if (part.row_count > rows_left_) return "there are more rows than the table has";
  const bool first_of_table = rows_left_ == table_.rows;
  if (!first_of_table && compare(last_key_.view(), part.lower.view()) >= 0) {
    return "the parts are not in order";
  }
  return nullptr;
}

}  // namespace entitable
