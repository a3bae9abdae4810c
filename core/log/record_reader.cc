#include "core/log/record_reader.h"

#include "core/base/bytes.h"
#include "core/base/crc32c.h"

namespace entitable {
namespace {

struct TypeName {
  RecordType type;
  const char* name;
};
constexpr TypeName type_names[] = {
    {RecordType::segment_header, "segment header"},
    {RecordType::commit, "commit"},
    {RecordType::segment_effects, "segment effects"},
    {RecordType::commit_with_hidden_tables, "commit with hidden tables"},
    {RecordType::part_header, "part header"},
    {RecordType::part_rows, "part rows"},
    {RecordType::hidden_part_header, "header of a hidden part"},
    {RecordType::manifest_state, "manifest state"},
    {RecordType::manifest_options, "manifest options"},
    {RecordType::manifest_service, "manifest service properties"},
    {RecordType::manifest_calls, "manifest calls"},
    {RecordType::manifest_table, "manifest table"},
    {RecordType::manifest_call_commits, "manifest commits of calls"},
    {RecordType::manifest_claims, "manifest claims"},
    {RecordType::manifest_history, "manifest history"},
    {RecordType::manifest_readers, "manifest readers"},
    {RecordType::manifest_synced_tables, "manifest synced tables"},
    {RecordType::manifest_hidden_table, "manifest hidden table"},
    {RecordType::snapshot_header, "snapshot header"},
    {RecordType::snapshot_table, "snapshot table"},
    {RecordType::snapshot_part, "snapshot part"},
    {RecordType::end, "end"},
};

// Returns the name of a record type for error messages, or null for an unknown type.
const char* name_of(std::uint8_t type) {
  for (const TypeName& known : type_names) {
    if (static_cast<std::uint8_t>(known.type) == type) return known.name;
  }
  return nullptr;
}

std::string_view kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::segment:
      return "segment";
    case FileKind::part:
      return "part";
    case FileKind::manifest:
      return "manifest";
    case FileKind::snapshot:
      return "snapshot";
  }
  return "file";
}

std::string location_of(std::uint8_t type, std::uint32_t number, std::size_t offset) {
  const char* name = name_of(type);
  std::string place = "record " + std::to_string(number) + " (";
  place += name != nullptr ? name : "type " + std::to_string(type);
  return place + ") at byte " + std::to_string(offset);
}

Error corrupted(std::string place, std::string_view reason) {
  return Error(ErrorCode::corrupted, place.append(": ").append(reason));
}

Error too_new(const Record& record, std::string_view reason) {
  return Error(ErrorCode::format_too_new, record_location_text(record).append(": ").append(reason));
}

}  // namespace

std::string record_location_text(const Record& record) {
  return location_of(static_cast<std::uint8_t>(record.type), record.number, record.offset);
}

Error invalid_payload_error(const Record& record, std::string_view reason) {
  return corrupted(record_location_text(record), reason);
}

Result<RecordReader> RecordReader::open(std::string_view file, FileKind kind) {
  if (file.size() < record_layout::header_bytes) {
    return corrupted("header", "the file is truncated");
  }
  const std::string_view header = file.substr(0, record_layout::header_bytes);
  ByteReader reader(header);
  const std::string_view magic = reader.raw(record_layout::magic_bytes);
  const std::uint16_t major = reader.u16();
  const std::uint16_t minor = reader.u16();  // newer ones are accepted
  if (magic != file_magic(kind)) {
    return corrupted("header",
                     std::string("this is not a ").append(kind_name(kind)).append(" file"));
  }
  const std::size_t checked_bytes = header.size() - record_layout::checksum_bytes;
  if (reader.u32() != masked_crc32c(header.substr(0, checked_bytes))) {
    return corrupted("header", "the checksum is wrong");
  }
  if (major > format_major) {
    return Error(ErrorCode::format_too_new,
                 "header: the format is version " + std::to_string(major) +
                     ", this program reads up to " + std::to_string(format_major));
  }
  if (major < 1) return corrupted("header", "the format version is invalid");
  RecordReader records(file);
  records.at_ = record_layout::header_bytes;
  records.minor_ = minor;
  records.chain_ = crc32c(header.substr(checked_bytes));
  return records;
}

// Reads the next record of any type and checks its checksum.
Result<Record> RecordReader::read_record() {
  const std::size_t offset = dropped_ + at_;
  if (at_ == file_.size()) {
    return corrupted("byte " + std::to_string(offset),
                     "the file ends without its end record; it is truncated");
  }
  ByteReader reader(file_.substr(at_));
  const std::uint8_t type = reader.u8();
  const std::uint8_t flags = reader.u8();
  const std::uint64_t length = reader.u32();
  const auto place = [&] { return location_of(type, records_ + 1, offset); };
  if (!reader.ok() || length + record_layout::checksum_bytes > reader.remaining()) {
    return corrupted(place(), "it runs past the end of the file");
  }
  const std::string_view payload = reader.raw(static_cast<std::size_t>(length));
  const std::size_t checked_bytes = record_layout::prefix_bytes + payload.size();
  if (reader.u32() != masked_crc32c(file_.substr(at_, checked_bytes))) {
    return corrupted(place(), "the checksum is wrong");
  }
  at_ += checked_bytes + record_layout::checksum_bytes;
  return Record{static_cast<RecordType>(type), flags, records_ + 1, offset, payload};
}

Result<std::optional<Record>> RecordReader::next() {
  while (true) {
    const Result<Step> read = step();
    if (!read.ok()) return read.error();
    if (read->ended || read->record.has_value()) return read->record;
  }
}

Result<RecordReader::Step> RecordReader::step() {
  const Result<Record> record = read_record();
  if (!record.ok()) return record.error();
  const bool known = name_of(static_cast<std::uint8_t>(record->type)) != nullptr;
  if (!known && (record->flags & record_flag_skippable) == 0) {
    return too_new(*record, "this program does not know such records");
  }
  if (known && (record->flags & ~record_flag_skippable) != 0) {
    return too_new(*record, "this program does not know its flags");
  }
  if (record->type == RecordType::end) {
    if (auto error = check_end(*record)) return std::move(*error);
    return Step{std::nullopt, true};
  }
  ++records_;
  const std::size_t checksum_at = at_ - record_layout::checksum_bytes;
  chain_ = crc32c(file_.substr(checksum_at, record_layout::checksum_bytes), chain_);
  return known ? Step{*record, false} : Step{};
}

std::optional<Error> RecordReader::check_end(const Record& end) {
  ByteReader reader(end.payload);
  const std::uint32_t records = reader.u32();
  end_checksum_ = reader.u32();
  if (!reader.ok() || !reader.at_end())
    return invalid_payload_error(end, "it has the wrong length");
  if (records != records_) {
    return invalid_payload_error(end, "it counts " + std::to_string(records) +
                                          " records, there are " + std::to_string(records_));
  }
  if (end_checksum_ != masked_crc32c({}, chain_)) {
    return invalid_payload_error(end, "the records are not those that were written");
  }
  if (at_ != file_.size()) return invalid_payload_error(end, "the file continues after it");
  return std::nullopt;
}

void RecordStream::add_chunk(std::string_view chunk) {
  if (reader_.has_value()) {
    bytes_.erase(0, reader_->at_);
    reader_->dropped_ += reader_->at_;
    reader_->at_ = 0;
  }
  bytes_.append(chunk);
}

// Returns the offset in bytes_ of the end of the next record, or 0 if it is not complete yet.
Result<std::size_t> RecordStream::complete_record_end() const {
  ByteReader reader(std::string_view(bytes_).substr(reader_->at_));
  reader.u16();  // skip type and flags
  const std::uint64_t length = reader.u32();
  if (reader.ok() && length > payload_bytes_max_) {
    return corrupted("byte " + std::to_string(reader_->dropped_ + reader_->at_),
                     "a record is longer than any that is written");
  }
  if (!reader.ok() || length + record_layout::checksum_bytes > reader.remaining()) {
    return std::size_t{0};
  }
  return reader_->at_ + record_layout::prefix_bytes + static_cast<std::size_t>(length) +
         record_layout::checksum_bytes;
}

Result<std::optional<Record>> RecordStream::next() {
  if (!reader_.has_value()) {
    if (bytes_.size() < record_layout::header_bytes) return std::optional<Record>();
    const auto opened = RecordReader::open(bytes_, kind_);
    if (!opened.ok()) return opened.error();
    reader_.emplace(*opened);
  }
  while (!ended_) {
    const Result<std::size_t> end = complete_record_end();
    if (!end.ok()) return end.error();
    if (*end == 0) return std::optional<Record>();
    reader_->file_ = std::string_view(bytes_).substr(0, *end);
    const auto read = reader_->step();
    if (!read.ok()) return read.error();
    ended_ = read->ended;
    if (read->record.has_value()) return read->record;
  }
  if (auto whole = check_complete(); !whole.ok()) return whole.error();
  return std::optional<Record>();
}

Result<void> RecordStream::check_complete() const {
  if (!ended_) return corrupted("the end", "the file ends without its end record; it is truncated");
  if (reader_->at_ != bytes_.size()) return corrupted("the end", "the file continues after it");
  return {};
}

}  // namespace entitable
