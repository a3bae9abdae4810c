// What segments, parts, manifests and snapshots have in common: a file of checked records.
//
//   file    = header record* end
//   header  = magic[8] major:u16 minor:u16 checksum:u32        checksum of the 12 bytes before it
//   record  = type:u8 flags:u8 length:u32 payload checksum:u32 checksum of all bytes before it
//   end     = a record of type end, whose payload is
//             records:u32 chain:u32                            how many records are before it, and
//                                                              the checksum over their checksums
//
// All numbers are little-endian. A checksum is a CRC-32C in masked form: a plain one of bytes that
// end in their own checksum is a constant, and the chain is such a checksum of checksums.
//
// Why the end: a file that lost its tail, or lost, repeats or swaps whole records, must be damaged
// and never a shorter good one. FORMAT.md has the whole layout and the compatibility rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace entitable {

inline constexpr std::uint16_t format_major = 1;  // newer: the file is not opened (FormatTooNew)
inline constexpr std::uint16_t format_minor = 0;  // newer: opened; what is new in it is skippable

// The last byte of the magic. These numbers never change.
enum class FileKind : std::uint8_t { segment = 'w', part = 'p', manifest = 'm', snapshot = 's' };

// These numbers never change and are never used again.
enum class RecordType : std::uint8_t {
  segment_header = 1,
  commit = 2,
  part_header = 16,
  part_rows = 17,
  manifest_state = 32,
  manifest_options = 33,
  manifest_service = 34,
  manifest_calls = 35,
  manifest_table = 36,
  snapshot_header = 48,
  snapshot_table = 49,
  snapshot_part = 50,
  end = 127,
};

// Flags of a record; all other bits are zero in this version.
inline constexpr std::uint8_t record_flag_skippable =
    1;  // who does not know its type may pass over it

namespace record_layout {
inline constexpr std::size_t magic_bytes = 8;
inline constexpr std::size_t header_bytes = 16;
inline constexpr std::size_t prefix_bytes = 6;  // type, flags, length
inline constexpr std::size_t checksum_bytes = 4;
inline constexpr std::size_t end_payload_bytes = 8;
inline constexpr std::size_t end_bytes = prefix_bytes + end_payload_bytes + checksum_bytes;
}  // namespace record_layout

std::string magic_of(FileKind kind);
// CRC-32C, masked: rotated right by 15 bits, plus 0xA282EAD8. `seed` is a plain CRC.
std::uint32_t masked_crc32c(std::string_view bytes, std::uint32_t seed = 0);

// Writes a file, record by record.
class RecordWriter {
 public:
  // `room`: bytes behind the header for which room is made at once.
  explicit RecordWriter(FileKind kind, std::size_t room = 0);
  // For tests: another version.
  RecordWriter(FileKind kind, std::uint16_t major, std::uint16_t minor);

  // Opens a record and gives the file's bytes, to which its payload is to be appended; what is
  // already there must not be touched. REQUIRES: no record is open.
  std::string& begin(RecordType type, std::uint8_t flags = 0);
  // REQUIRES: a record is open, its payload is shorter than 4 GiB.
  void end();
  std::size_t size() const { return file_.size(); }  // so far, without what was taken
  // Gives the bytes so far away; what comes is what follows them. REQUIRES: no record is open.
  std::string take();
  // Writes the end. Once, as the last call. REQUIRES: no record is open.
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
