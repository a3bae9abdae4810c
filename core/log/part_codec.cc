#include "core/log/part_codec.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/log/field_codec.h"

namespace entitable {
namespace {

constexpr std::size_t count_bytes = 4;

// Parts of hidden tables have a header of another type, so that a release that does not know hidden
// tables rejects them with FormatTooNew.
RecordType header_type(TableId table) {
  return is_hidden_table(table) ? RecordType::hidden_part_header : RecordType::part_header;
}

RecordWriter begin_file(TableId table) {
  if (!is_hidden_table(table)) return RecordWriter(FileKind::part);
  return RecordWriter(FileKind::part, format_major, minor_of_hidden_parts);
}

// Reads the ids and the key range of the part.
const char* read_part_header(const Record& record, PartHeader& header) {
  ByteReader reader(record.payload);
  header.id = reader.varint();
  const bool hidden = record.type == RecordType::hidden_part_header;
  if (const char* bad =
          hidden ? read_hidden_table_id(reader, header.table) : read_table_id(reader, header.table))
    return bad;
  header.lower.partition = reader.bytes();
  header.lower.row = reader.bytes();
  const std::uint8_t has_upper = reader.u8();
  if (has_upper > 1) return "the range has an invalid end flag";
  if (has_upper == 1) {
    header.upper.emplace();
    header.upper->partition = reader.bytes();
    header.upper->row = reader.bytes();
  }
  if (!reader.ok() || !reader.at_end()) return "it has the wrong length";
  if (header.id == 0) return "the part id is 0";
  if (header.id > counter_max) return "the part id is out of range";
  if (const char* bad = check_stored_key(header.lower.view())) return bad;
  if (!header.upper) return nullptr;
  if (const char* bad = check_stored_key(header.upper->view())) return bad;
  return compare(header.lower.view(), header.upper->view()) < 0 ? nullptr : "the range is empty";
}

Result<Record> expect(RecordReader& records, std::initializer_list<RecordType> types) {
  Result<std::optional<Record>> record = records.next();
  if (!record.ok()) return record.error();
  if (!*record) return Error(ErrorCode::corrupted, "the part has no header or no rows");
  if (std::find(types.begin(), types.end(), (*record)->type) == types.end())
    return invalid_payload_error(**record, "it is in the wrong place");
  return **record;
}

[[maybe_unused]] bool reads_back(std::string_view file, std::uint32_t rows) {
  const Result<Part> part = decode_part(file);
  return part.ok() && part->rows.size() == rows;
}

}  // namespace

// ---- Writing -----------------------------------------------------------------------------------

PartWriter::PartWriter(PartId id, TableId table, const KeyView& lower,
                       const std::optional<KeyView>& upper)
    : file_(begin_file(table)), last_key_(lower.partition, lower.row) {
  ENTITABLE_CHECK(id > 0 && is_table_id_valid(table));
  if (upper) upper_.emplace(upper->partition, upper->row);
  ENTITABLE_CHECK(!upper || compare(lower, *upper) < 0);
  ByteWriter header(file_.begin_record(header_type(table)));
  header.varint(id);
  header.varint(table);
  header.bytes(lower.partition);
  header.bytes(lower.row);
  header.u8(upper ? 1 : 0);
  if (upper) {
    header.bytes(upper->partition);
    header.bytes(upper->row);
  }
  file_.end_record();
  bytes_ = &file_.begin_record(RecordType::part_rows);
  count_at_ = bytes_->size();
  ByteWriter(*bytes_).u32(0);
}

void PartWriter::begin_row(std::string_view partition, std::string_view row, Ticks timestamp) {
  ENTITABLE_CHECK(timestamp > 0);
  key_ = {partition, row};
  timestamp_ = timestamp;
  properties_.clear();
}

void PartWriter::end_row() {
  // Before the first row, last_key_ is the lower bound, which the first key may equal.
  const int order = compare(last_key_.view(), key_);
  ENTITABLE_CHECK(order < 0 || (order == 0 && rows_ == 0));
  ENTITABLE_CHECK(rows_ < std::numeric_limits<std::uint32_t>::max());
  const bool new_partition = rows_ == 0 || key_.partition != last_key_.partition;
  const ShapeNumbers::Numbered shape = shapes_.number_of(properties_);
  ByteWriter writer(*bytes_);
  const std::uint64_t number = shape.is_new ? 0 : shape.number;
  writer.varint(number << 1 | static_cast<std::uint64_t>(new_partition));
  if (shape.is_new) writer.raw(shapes_.last_definition());
  if (new_partition) writer.bytes(key_.partition);
  writer.bytes(key_.row);
  append_ticks(timestamp_, last_timestamp_, *bytes_);
  append_values(properties_, *bytes_);
  if (new_partition) last_key_.partition = key_.partition;
  last_key_.row = key_.row;
  last_timestamp_ = timestamp_;
  ++rows_;
}

std::string PartWriter::finish() && {
  ENTITABLE_CHECK(rows_ == 0 || !upper_ || compare(last_key_.view(), upper_->view()) < 0);
  for (std::size_t i = 0; i < count_bytes; ++i) {
    (*bytes_)[count_at_ + i] = static_cast<char>(static_cast<std::uint8_t>(rows_ >> (8 * i)));
  }
  file_.end_record();
  std::string file = std::move(file_).finish();
  ENTITABLE_DCHECK(reads_back(file, rows_));
  return file;
}

// ---- Reading -----------------------------------------------------------------------------------

Result<PartReader> PartReader::open(std::string_view file) {
  Result<RecordReader> records = RecordReader::open(file, FileKind::part);
  if (!records.ok()) return records.error();
  const Result<Record> first =
      expect(*records, {RecordType::part_header, RecordType::hidden_part_header});
  if (!first.ok()) return first.error();
  const Result<Record> rows = expect(*records, {RecordType::part_rows});
  if (!rows.ok()) return rows.error();
  const Result<std::optional<Record>> end = records->next();
  if (!end.ok()) return end.error();
  if (*end) return invalid_payload_error(**end, "it is in the wrong place");

  PartReader reader(*rows);
  PartHeader& header = reader.header_;
  if (const char* bad = read_part_header(*first, header)) return invalid_payload_error(*first, bad);
  header.row_count = reader.reader_.u32();
  header.checksum = records->file_checksum();
  if (!reader.reader_.ok()) return invalid_payload_error(*rows, field_truncated);
  return reader;
}

Result<bool> PartReader::next() {
  if (rows_read_ == header_.row_count) {
    if (!reader_.at_end()) return invalid_payload_error(record_, "bytes follow its last row");
    return false;
  }
  if (const char* bad = read_row()) {
    return invalid_payload_error(record_, "row " + std::to_string(rows_read_ + 1) + ": " + bad);
  }
  ++rows_read_;
  return true;
}

const char* PartReader::read_row() {
  const std::uint64_t tag = reader_.varint();
  if (!reader_.ok()) return field_truncated;
  std::uint64_t shape = tag >> 1;
  if (shape > shapes_.size()) return "it has an undefined shape";
  if (shape == 0) {
    if (const char* bad = shapes_.read_definition(reader_)) return bad;
    shape = shapes_.size();
  }
  if (const char* bad = read_key((tag & 1) != 0)) return bad;
  if (const char* bad = read_ticks(reader_, timestamp_, timestamp_)) return bad;
  if (timestamp_ == 0) return "it has no timestamp";
  properties_.resize(shapes_.shape(shape).properties.size(), {{}, ValueView::of_boolean(false)});
  return read_values(reader_, shapes_.shape(shape), key_, properties_);
}

const char* PartReader::read_key(bool new_partition) {
  const KeyView before = rows_read_ > 0 ? key_ : header_.lower.view();
  const bool first = rows_read_ == 0;
  if (new_partition) {
    key_.partition = reader_.bytes();
  } else if (first) {
    return "it has no partition";
  }
  key_.row = reader_.bytes();
  if (!reader_.ok()) return field_truncated;
  // If the row has the partition of the previous row, that partition is already checked.
  const KeyView unchecked = {new_partition ? key_.partition : std::string_view(), key_.row};
  if (const char* bad = check_stored_key(unchecked)) return bad;
  const int order = new_partition ? compare(before, key_) : compare_utf16(before.row, key_.row);
  if (first && order > 0) return "it is below the range of the part";
  if (!first && order >= 0) return "its key is not above that of the row before";
  if (!first && new_partition && key_.partition == before.partition) {
    return "it repeats the partition of the row before";
  }
  if (header_.upper && compare(key_, header_.upper->view()) >= 0) {
    return "it is above the range of the part";
  }
  return nullptr;
}

Entity PartReader::entity() const {
  return Entity{EntityKey(key_.partition, key_.row), timestamp_, owned_properties(properties_)};
}

Result<Part> decode_part(std::string_view file) {
  Result<PartReader> reader = PartReader::open(file);
  if (!reader.ok()) return reader.error();
  Part part{reader->header(), {}};
  while (true) {
    const Result<bool> more = reader->next();
    if (!more.ok()) return more.error();
    if (!*more) return part;
    part.rows.push_back(reader->entity());
  }
}

std::uint32_t part_checksum(std::string_view file) {
  ENTITABLE_CHECK(file.size() >= record_layout::header_bytes + record_layout::end_bytes);
  const std::size_t from_end = record_layout::checksum_bytes + record_layout::checksum_bytes;
  return ByteReader(file.substr(file.size() - from_end)).u32();
}

}  // namespace entitable
