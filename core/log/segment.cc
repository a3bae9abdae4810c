#include "core/log/segment.h"

#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/log/commit_codec.h"
#include "core/log/field_codec.h"
#include "core/log/record_reader.h"

namespace entitable {
namespace {

struct SegmentHeader {
  std::uint64_t sequence;
  std::uint64_t epoch;
  std::uint64_t first_commit;  // 0: there are no commits
};

Result<SegmentHeader> read_header(const std::optional<Record>& record) {
  if (!record) return Error(ErrorCode::corrupted, "the segment has no header");
  if (record->type != RecordType::segment_header) {
    return invalid_payload_error(*record, "a segment does not start with this record");
  }
  ByteReader reader(record->payload);
  SegmentHeader header{};
  header.sequence = reader.u64();
  header.epoch = reader.varint();
  header.first_commit = reader.varint();
  if (!reader.ok() || !reader.at_end())
    return invalid_payload_error(*record, "it has the wrong length");
  if (header.sequence == 0 || header.epoch == 0) {
    return invalid_payload_error(*record, "the sequence or the epoch is 0");
  }
  if (header.sequence > counter_max || header.epoch > counter_max) {
    return invalid_payload_error(*record, "the sequence or the epoch is out of range");
  }
  return header;
}

Result<Commit> read_commit(const Record& record, std::uint64_t number, ShapeDictionary& shapes,
                           PropertyViewArena& rows) {
  const bool uses_hidden_tables = record.type == RecordType::commit_with_hidden_tables;
  if (record.type != RecordType::commit && !uses_hidden_tables)
    return invalid_payload_error(record, "it is in the wrong place");
  Result<Commit> commit = decode_commit(record.payload, shapes, rows, uses_hidden_tables);
  if (!commit.ok()) return invalid_payload_error(record, commit.error().message);
  if (commit->number != number) {
    return invalid_payload_error(record, "it is commit " + std::to_string(commit->number) +
                                             " instead of " + std::to_string(number));
  }
  return commit;
}

constexpr std::size_t frame_bytes = record_layout::prefix_bytes + record_layout::checksum_bytes;
constexpr std::size_t header_bytes_max = frame_bytes + 8 + 10 + 10;
constexpr std::size_t effects_bytes_usual = frame_bytes + 16;  // a guess, to reserve memory

std::size_t bytes_max_of(const SegmentWriter::Capacity& capacity) {
  return header_bytes_max + capacity.bytes + capacity.commits * frame_bytes + effects_bytes_usual +
         record_layout::end_bytes;
}

}  // namespace

SegmentWriter::SegmentWriter(std::uint64_t sequence, std::uint64_t epoch)
    : file_(FileKind::segment), sequence_(sequence), epoch_(epoch) {
  ENTITABLE_CHECK(sequence > 0 && epoch > 0);
}

SegmentWriter::SegmentWriter(std::uint64_t sequence, std::uint64_t epoch, const Capacity& capacity)
    : file_(FileKind::segment, bytes_max_of(capacity)),
      sequence_(sequence),
      epoch_(epoch),
      has_one_commit_(capacity.commits == 1) {
  ENTITABLE_CHECK(sequence > 0 && epoch > 0);
}

void SegmentWriter::write_header(std::uint64_t first_commit) {
  ByteWriter writer(file_.begin_record(RecordType::segment_header));
  writer.u64(sequence_);
  writer.varint(epoch_);
  writer.varint(first_commit);
  file_.end_record();
}

void SegmentWriter::add(std::string_view commit, const CommitEffects& effects) {
  const std::uint64_t number = commit_number(commit);
  if (last_commit_ == 0) {
    write_header(number);
  } else {
    ENTITABLE_CHECK(number == last_commit_ + 1 && !has_one_commit_);
  }
  std::string& payload = file_.begin_record(
      effects.uses_hidden_tables ? RecordType::commit_with_hidden_tables : RecordType::commit);
  if (has_one_commit_) {
    payload.append(commit);  // the segment has no shapes yet
  } else {
    append_commit_payload(commit, shapes_, payload);
  }
  file_.end_record();
  last_commit_ = number;
  effects_.add(effects);
}

std::size_t SegmentWriter::size_with(std::string_view commit, const CommitEffects& effects) const {
  const std::size_t header = last_commit_ == 0 ? header_bytes_max : 0;
  return file_.buffered_size() + header + frame_bytes + commit.size() + frame_bytes +
         effects_.size_with(effects) + record_layout::end_bytes;
}

std::string SegmentWriter::finish() && {
  if (last_commit_ == 0) write_header(0);
  if (effects_.has_effects()) {
    effects_.append_payload(file_.begin_record(RecordType::segment_effects, record_flag_skippable));
    file_.end_record();
  }
  return std::move(file_).finish();
}

namespace {

struct DecodedFile {
  Segment segment;                  // its commits have no effects
  std::optional<Record> effects{};  // the record of effects, if the file has one
  bool is_older = false;            // than this record: without it, the effects are unknown
};

Result<DecodedFile> decode_file(std::string_view file, std::uint64_t expected_sequence) {
  Result<RecordReader> records = RecordReader::open(file, FileKind::segment);
  if (!records.ok()) return records.error();
  Result<std::optional<Record>> record = records->next();
  if (!record.ok()) return record.error();
  const Result<SegmentHeader> header = read_header(*record);
  if (!header.ok()) return header.error();
  if (header->sequence != expected_sequence) {
    return invalid_payload_error(**record, "it is segment " + std::to_string(header->sequence) +
                                               " instead of " + std::to_string(expected_sequence));
  }
  DecodedFile decoded{{header->sequence, header->epoch, {}, {}}};
  decoded.is_older = records->minor() < minor_with_effects;
  Segment& segment = decoded.segment;
  ShapeDictionary shapes;
  while (true) {
    record = records->next();
    if (!record.ok()) return record.error();
    if (!*record) break;
    if (header->first_commit == 0)
      return invalid_payload_error(**record, "the segment should have no commits");
    if (decoded.effects) return invalid_payload_error(**record, "it is in the wrong place");
    if ((*record)->type == RecordType::segment_effects) {
      decoded.effects = *record;
      continue;
    }
    const std::uint64_t number = header->first_commit + segment.commits.size();
    Result<Commit> commit = read_commit(**record, number, shapes, segment.rows);
    if (!commit.ok()) return commit.error();
    segment.commits.push_back(std::move(*commit));
  }
  if (header->first_commit != 0 && segment.commits.empty()) {
    return Error(ErrorCode::corrupted, "the segment has none of its commits");
  }
  return decoded;
}

}  // namespace

Result<Segment> decode_segment(std::string_view file, std::uint64_t expected_sequence) {
  Result<DecodedFile> decoded = decode_file(file, expected_sequence);
  if (!decoded.ok()) return decoded.error();
  auto& [segment, effects, is_older] = *decoded;
  if (effects) {
    ByteReader reader(effects->payload);
    if (const char* bad = read_effects(reader, segment.commits))
      return invalid_payload_error(*effects, bad);
  } else if (!is_older) {
    set_default_effects(segment.commits);
  }
  return std::move(segment);
}

Result<Segment> decode_segment_without_effects(std::string_view file,
                                               std::uint64_t expected_sequence) {
  Result<DecodedFile> decoded = decode_file(file, expected_sequence);
  if (!decoded.ok()) return decoded.error();
  return std::move(decoded->segment);
}

}  // namespace entitable
