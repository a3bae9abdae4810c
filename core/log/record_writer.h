// Segments, parts, manifests and snapshots are all files of records with checksums.
//
//   file    = header record* end
//   header  = magic[8] major:u16 minor:u16 checksum:u32        checksum of the 12 bytes before it
//   record  = type:u8 flags:u8 length:u32 payload checksum:u32 checksum of all bytes before it
//   end     = a record of type end, whose payload is
//             records:u32 chain:u32                            how many records are before it, and
//                                                              the checksum over their checksums
//
// All numbers are little-endian. A checksum is a masked CRC-32C, see masked_crc32c(). Without the
// mask, the chain (a checksum of checksums) would detect nothing, because the plain CRC of bytes
// that end in their own CRC is a constant.
//
// The end record detects truncation, and records that are lost, repeated or in the wrong order.
// Without an end record, a truncated file could look like a shorter valid file. FORMAT.md describes
// the whole layout and the compatibility rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace entitable {

// A file with a newer major version is rejected with ErrorCode::format_too_new.
inline constexpr std::uint16_t format_major = 1;
// A file with a newer minor version is accepted: readers skip the records that it adds. Snapshots,
// and parts of tables that are not hidden, have not changed since minor version 0, and are written
// as such.
inline constexpr std::uint16_t minor_of_parts_and_snapshots = 0;
inline constexpr std::uint16_t minor_of_segments_and_manifests = 3;
inline constexpr std::uint16_t minor_of_hidden_parts = 3;
// Segments say what the puts of their commits did since this minor version.
inline constexpr std::uint16_t minor_with_effects = 2;

// The kind of a file: the last byte of its magic number. These numbers never change.
enum class FileKind : std::uint8_t { segment = 'w', part = 'p', manifest = 'm', snapshot = 's' };

// The type of a record. These numbers never change and are never reused.
enum class RecordType : std::uint8_t {
  segment_header = 1,
  commit = 2,
  segment_effects = 3,
  commit_with_hidden_tables = 4,
  part_header = 16,
  part_rows = 17,
  hidden_part_header = 18,
  manifest_state = 32,
  manifest_options = 33,
  manifest_service = 34,
  manifest_calls = 35,
  manifest_table = 36,
  manifest_call_commits = 37,
  manifest_claims = 38,
  manifest_history = 39,
  manifest_readers = 40,
  manifest_synced_tables = 41,
  manifest_hidden_table = 42,
  snapshot_header = 48,
  snapshot_table = 49,
  snapshot_part = 50,
  end = 127,
};

// Flag of a record that readers may skip if they do not know its type. All other bits are zero in
// this version.
inline constexpr std::uint8_t record_flag_skippable = 1;

namespace record_layout {
inline constexpr std::size_t magic_bytes = 8;
inline constexpr std::size_t header_bytes = 16;
inline constexpr std::size_t prefix_bytes = 6;  // type, flags, length
inline constexpr std::size_t checksum_bytes = 4;
inline constexpr std::size_t end_payload_bytes = 8;
inline constexpr std::size_t end_bytes = prefix_bytes + end_payload_bytes + checksum_bytes;
}  // namespace record_layout

std::string file_magic(FileKind kind);
// Returns the CRC-32C of the bytes, rotated right by 15 bits, plus 0xA282EAD8. `seed`: the plain
// CRC-32C of the preceding bytes.
std::uint32_t masked_crc32c(std::string_view bytes, std::uint32_t seed = 0);

// Writes a file, record by record.
class RecordWriter {
 public:
  // Reserves memory for `reserved_bytes` after the header.
  explicit RecordWriter(FileKind kind, std::size_t reserved_bytes = 0);
  // Writes the given format version.
  RecordWriter(FileKind kind, std::uint16_t major, std::uint16_t minor);

  // Opens a record. Returns the buffer of the file: the caller appends the payload to it and must
  // not change the bytes already in it. REQUIRES: no record is open.
  std::string& begin_record(RecordType type, std::uint8_t flags = 0);
  // Closes the open record. REQUIRES: a record is open; its payload is shorter than 4 GiB.
  void end_record();
  // Returns the number of bytes written and not yet taken.
  std::size_t buffered_size() const { return file_.size(); }
  // Returns the bytes written since the last take_bytes() and removes them from memory. REQUIRES:
  // no record is open.
  std::string take_bytes();
  // Writes the end record and returns the remaining bytes. Must be the last call. REQUIRES: no
  // record is open.
  std::string finish() &&;

 private:
  void begin_chain();

  static constexpr std::size_t no_open_record = static_cast<std::size_t>(-1);

  std::string file_;
  std::size_t open_at_ = no_open_record;  // where the open record starts
  std::uint32_t records_ = 0;
  std::uint32_t chain_ = 0;  // plain CRC-32C of the checksums so far
};

}  // namespace entitable
