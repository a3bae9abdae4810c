// Reads the records of a file (record_writer.h) in order and checks each of them. Error messages
// name the place of the damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/log/record_writer.h"

namespace entitable {

struct Record {
  RecordType type;  // a type that this version knows
  std::uint8_t flags;
  std::uint32_t number;  // 1 for the first record of the file
  std::size_t offset;    // offset of its first byte in the file
  std::string_view payload;
};

// Returns the place of a record for an error message, such as "record 3 (commit) at byte 48".
std::string record_location_text(const Record& record);
// Returns the error for a record whose checksum is right but whose payload is invalid.
Error invalid_payload_error(const Record& record, std::string_view reason);

class RecordReader {
 public:
  // Returns a reader after reading only the file header. Errors: ErrorCode::corrupted;
  // ErrorCode::format_too_new for a newer major version. REQUIRES: `file` outlives the reader and
  // all payloads that it returns.
  static Result<RecordReader> open(std::string_view file, FileKind kind);

  // Returns the next record. Returns nothing at the end of the file, if a valid end record is
  // there: only then is the file complete. Skips unknown records that are marked as skippable.
  // Errors: ErrorCode::corrupted for damage; ErrorCode::format_too_new for other unknown records
  // and for unknown flags.
  Result<std::optional<Record>> next();

  std::uint16_t minor() const { return minor_; }  // the minor version of the file's format
  // Returns the checksum in the end record, which covers the whole file. REQUIRES: next() has
  // returned nothing.
  std::uint32_t file_checksum() const { return end_checksum_; }

 private:
  friend class RecordStream;

  struct Step {
    std::optional<Record> record;  // nothing: the record was skipped, or was the end
    bool ended = false;
  };

  explicit RecordReader(std::string_view file) : file_(file) {}
  Result<Step> step();
  Result<Record> read_record();
  std::optional<Error> check_end(const Record& end);

  std::string_view file_;
  std::size_t at_ = 0;
  std::size_t dropped_ = 0;  // bytes of the file before file_
  std::uint32_t records_ = 0;
  std::uint32_t chain_ = 0;
  std::uint32_t end_checksum_ = 0;
  std::uint16_t minor_ = 0;
};

// Reads the records of a file that arrives in chunks.
//
//   stream.add(chunk);
//   for (auto record = stream.next(); record.ok() && *record; record = stream.next()) {
//     use(**record);
//   }
//   … and after all chunks: stream.finish()
class RecordStream {
 public:
  // Records whose payload is longer than `payload_bytes_max` are damage.
  RecordStream(FileKind kind, std::size_t payload_bytes_max)
      : kind_(kind), payload_bytes_max_(payload_bytes_max) {}

  // Appends a chunk. Earlier results of next() become invalid.
  void add_chunk(std::string_view chunk);
  // Returns the next record. Returns nothing if more chunks are needed for it, or if ended().
  // Errors: as RecordReader::next(). To call it after each chunk, also after the end, bounds what
  // is held in memory: bytes after the end are an error.
  Result<std::optional<Record>> next();
  bool ended() const { return ended_; }
  // Checks that the file is complete. Returns ErrorCode::corrupted if its end is missing or bytes
  // follow the end. REQUIRES: all chunks were added.
  Result<void> check_complete() const;

 private:
  Result<std::size_t> complete_record_end() const;

  FileKind kind_;
  std::size_t payload_bytes_max_;
  std::string bytes_;  // the chunks, without what was read before the last add_chunk()
  std::optional<RecordReader> reader_;  // set once the header is complete
  bool ended_ = false;
};

}  // namespace entitable
