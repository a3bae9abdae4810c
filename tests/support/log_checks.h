// Checks of the decoders of core/log, for fuzzers and random tests. Any bytes must give an error
// with a message, or values that survive encoding and decoding. A failed check aborts
// (ENTITABLE_CHECK).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "tests/support/log_files.h"
#include "tests/support/log_samples.h"
#include "tests/support/snapshot_files.h"

namespace entitable::test {

inline void check_error(const Error& error) {
  ENTITABLE_CHECK(error.code == ErrorCode::corrupted || error.code == ErrorCode::format_too_new);
  ENTITABLE_CHECK(!error.message.empty());
}

inline void check_segment_bytes(std::string_view file) {
  // Expect the sequence in the file itself, so that decoding does not stop at a mismatch.
  constexpr std::size_t sequence_at = record_layout::header_bytes + record_layout::prefix_bytes;
  ByteReader reader(file.substr(std::min(sequence_at, file.size())));
  const std::uint64_t sequence = reader.u64();
  const Result<Segment> without_effects = decode_segment_without_effects(file, sequence);
  if (!without_effects.ok()) check_error(without_effects.error());
  const Result<Segment> segment = decode_segment(file, sequence);
  if (!segment.ok()) return check_error(segment.error());
  ENTITABLE_CHECK(without_effects.ok() && *without_effects == *segment);
  const std::string bytes = bytes_of(*segment);
  const Result<Segment> again = decode_segment(bytes, sequence);
  ENTITABLE_CHECK(again.ok() && *again == *segment);
  ENTITABLE_CHECK(effects_text(again->commits) == effects_text(segment->commits));
}

inline void check_part_bytes(std::string_view file) {
  const Result<Part> part = decode_part(file);
  if (!part.ok()) return check_error(part.error());
  ENTITABLE_CHECK(part->row_count == part->rows.size());
  for (const Entity& row : part->rows) ENTITABLE_CHECK(check_entity(row).ok());
  const Result<Part> again = decode_part(bytes_of(*part));
  ENTITABLE_CHECK(again.ok() && again->rows == part->rows && again->id == part->id);
  ENTITABLE_CHECK(again->lower == part->lower && again->upper == part->upper);
}

inline void check_manifest_bytes(std::string_view file) {
  const Result<Manifest> manifest = decode_manifest(file);
  if (!manifest.ok()) return check_error(manifest.error());
  const Result<Manifest> again = decode_manifest(encode_manifest(*manifest));
  ENTITABLE_CHECK(again.ok() && *again == *manifest);
}

inline void check_snapshot_bytes(std::string_view file) {
  const Result<SnapshotContent> content = read_snapshot(file);
  const Result<SnapshotContent> in_chunks = read_snapshot(file, 1 + file.size() % 13);
  ENTITABLE_CHECK(content.ok() == in_chunks.ok());
  if (!content.ok()) return check_error(content.error());
  ENTITABLE_CHECK(*in_chunks == *content);
  const std::string written = bytes_of(*content);
  const Result<SnapshotContent> again = read_snapshot(written);
  ENTITABLE_CHECK(again.ok() && again->header == content->header);
  ENTITABLE_CHECK(again->tables.size() == content->tables.size());
  ENTITABLE_CHECK(bytes_of(*again) == written);
}

inline void check_bytes(FileKind kind, std::string_view file) {
  switch (kind) {
    case FileKind::segment:
      return check_segment_bytes(file);
    case FileKind::part:
      return check_part_bytes(file);
    case FileKind::manifest:
      return check_manifest_bytes(file);
    case FileKind::snapshot:
      return check_snapshot_bytes(file);
  }
}

// Makes an input for the fuzzers of log files. 'f' is followed by the bytes of a file. 'r' is
// followed by records, from which the target makes a file with correct checksums; otherwise nearly
// all inputs would fail at a checksum.
//
//   input   = 'f' byte* | 'r' record*
//   record  = type:u8 flags:u8 length:u16 payload      the last one may be cut short
inline std::string fuzz_input(const std::vector<RawRecord>& records) {
  std::string input = "r";
  ByteWriter writer(input);
  for (const RawRecord& record : records) {
    writer.u8(record.type);
    writer.u8(record.flags);
    writer.u16(static_cast<std::uint16_t>(record.payload.size()));
    writer.raw(record.payload);
  }
  return input;
}

// Returns the file of an input.
inline std::string file_of_fuzz_input(FileKind kind, std::string_view input) {
  if (input.empty()) return {};
  const char form = input.front();
  input.remove_prefix(1);
  if (form == 'f') return std::string(input);
  std::vector<RawRecord> records;
  ByteReader reader(input);
  while (reader.remaining() >= 4) {
    const std::uint8_t type = reader.u8();
    const std::uint8_t flags = reader.u8();
    const std::size_t length = reader.u16();
    records.emplace_back(type, std::string(reader.raw(std::min(length, reader.remaining()))),
                         flags);
  }
  return file_of(kind, records);
}

inline void check_fuzz_input(FileKind kind, std::string_view input) {
  check_bytes(kind, file_of_fuzz_input(kind, input));
}

}  // namespace entitable::test
