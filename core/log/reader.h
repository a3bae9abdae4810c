// The records of a file in order, each checked. Any damage is reported with what and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/log/record.h"

namespace entitable {

struct Record {
  RecordType type;  // a known one
  std::uint8_t flags;
  std::uint32_t number;  // 1 for the first of the file
  std::size_t offset;    // of its first byte in the file
  std::string_view payload;
};

// "record 3 (commit) at byte 48"
std::string location_of(const Record& record);
// The error of a record whose checksum is right and whose payload makes no sense.
Error invalid_payload(const Record& record, std::string_view reason);

class RecordReader {
 public:
  // Looks at the header only. Code::corrupted, or Code::format_too_new for a newer major version.
  // `file` must outlive the reader and the payloads it gives.
  static Result<RecordReader> open(std::string_view file, FileKind kind);

  // The next record; nothing at a good end that is the end of the file. Unknown records that say
  // so are passed over; other unknown ones, and unknown flags, are Code::format_too_new.
  // A file is whole only once this has given nothing.
  Result<std::optional<Record>> next();

  // After next() has given nothing: the checksum in the end marker, which covers the whole file.
  std::uint32_t checksum() const { return end_checksum_; }

 private:
  friend class RecordStream;

  struct Step {
    std::optional<Record> record;  // nothing: it was passed over, or was the end
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
};

// The same of a file that comes chunk by chunk.
//
//   stream.add(chunk);
//   for (auto record = stream.next(); record.ok() && *record; record = stream.next())
//   use(**record); … and when all chunks were added: stream.finish()
class RecordStream {
 public:
  explicit RecordStream(FileKind kind) : kind_(kind) {}

  // Payloads given before are invalid from here on.
  void add(std::string_view chunk);
  // The next record, or nothing: more must be added, or the file has ended. Errors as
  // RecordReader's.
  Result<std::optional<Record>> next();
  bool ended() const { return ended_; }
  // No more will be added. Code::corrupted if the file has not ended, or goes on behind its end.
  Result<void> finish() const;

 private:
  std::size_t complete_record_end() const;

  FileKind kind_;
  std::string bytes_;  // what was added, without what was read before the last add()
  std::optional<RecordReader> reader_;  // once there is a header
  bool ended_ = false;
};

}  // namespace entitable
