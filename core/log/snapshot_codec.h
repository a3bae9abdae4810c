// A snapshot: the content of a whole store as one file (FORMAT.md, "Snapshot").
//
// Two stores with equal content produce equal files, whatever their history, because the file
// contains no ids of the store, commit numbers or store names. Rows are stored as whole part files
// (part_codec.h), one after another. Writer and reader therefore keep at most about 250 kB of the
// file in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/log/part_codec.h"
#include "core/log/record_reader.h"
#include "core/log/record_writer.h"
#include "core/model/commit.h"

namespace entitable {

// A part ends with the row that makes its file this many bytes or more, not counting what follows
// the last row: the checksum of the rows and the end record.
inline constexpr std::size_t snapshot_part_bytes = 250'000;

// The most bytes of a record's payload. No writer comes near, and a reader holds one record.
inline constexpr std::size_t snapshot_record_bytes_max = 8 << 20;

struct SnapshotHeader {
  std::uint64_t tables = 0;
  std::uint64_t rows = 0;
  std::string service_properties;  // opaque
  friend bool operator==(const SnapshotHeader&, const SnapshotHeader&) = default;
};

struct SnapshotTableHeader {
  std::string name;
  std::vector<AccessPolicy> acl;
  std::uint64_t rows = 0;
  friend bool operator==(const SnapshotTableHeader&, const SnapshotTableHeader&) = default;
};

// Writes tables in ascending order of their case-folded names, each with its rows in key order.
//
//   SnapshotWriter writer(header);
//   writer.begin_table(table);
//   writer.begin_row(partition, row, timestamp);
//   writer.property(name, value);  // in any order
//   writer.end_row();
//   … std::string bytes = writer.take_bytes();  // at any time, to free memory
//   bytes += std::move(writer).finish();
class SnapshotWriter {
 public:
  explicit SnapshotWriter(const SnapshotHeader& header);

  // Starts a table. REQUIRES: the previous table has received SnapshotTableHeader::rows rows.
  void begin_table(const SnapshotTableHeader& table);
  // As in PartWriter.
  void begin_row(std::string_view partition, std::string_view row, Ticks timestamp);
  void add_property(std::string_view name, const ValueView& value) {
    properties_.push_back({name, value});
  }
  void end_row();
  // Returns how many bytes take_bytes() would return now.
  std::size_t buffered_size() const { return file_.buffered_size(); }
  std::string take_bytes() { return file_.take_bytes(); }
  // Returns the remaining bytes. Must be the last call. REQUIRES: the numbers of tables and rows in
  // the header were written.
  std::string finish() &&;

 private:
  void end_part();

  RecordWriter file_;
  std::optional<PartWriter> part_;
  std::vector<PropertyView> properties_;  // of the row between begin_row and end_row
  std::uint64_t tables_left_;
  std::uint64_t rows_left_;  // in the current table
  TableId table_ = 0;
  PartId parts_ = 0;
};

// Reads a snapshot that arrives in chunks.
class SnapshotReader {
 public:
  enum class Step { chunk_needed, table, row, part_end, end };

  void add_chunk(std::string_view chunk) { records_.add_chunk(chunk); }
  // Reads on and returns what was read: a table, a row, the end of a part or the end of the file,
  // or `chunk_needed` if the next chunk must be added first. Errors: ErrorCode::corrupted, whose
  // message names the place and the reason; ErrorCode::format_too_new. The snapshot as a whole is
  // valid only once finish() has succeeded.
  Result<Step> next();
  // Checks that the snapshot is complete. REQUIRES: all chunks were added.
  Result<void> check_complete() const;

  // Valid after the first step other than `chunk_needed`.
  const SnapshotHeader& header() const { return header_; }
  const SnapshotTableHeader& table() const { return table_; }  // the last table that was read
  // The row that was read last. The views are valid until the next call of next() or add_chunk().
  KeyView key() const { return part_->key(); }
  Ticks timestamp() const { return part_->timestamp(); }
  std::span<const PropertyView> properties() const { return part_->properties(); }

 private:
  Result<bool> next_row();
  Result<std::optional<Step>> read(const Record& record);
  const char* read_header(std::string_view payload);
  const char* read_table(std::string_view payload);
  std::optional<Error> open_part(const Record& record);
  const char* check_part(const PartHeader& part) const;

  RecordStream records_{FileKind::snapshot, snapshot_record_bytes_max};
  bool has_header_ = false;
  SnapshotHeader header_;
  SnapshotTableHeader table_;
  std::uint64_t tables_ = 0;         // tables read so far
  std::uint64_t rows_left_ = 0;      // in the current table
  std::uint64_t all_rows_left_ = 0;  // in the snapshot
  PartId parts_ = 0;
  std::optional<Record> record_;  // of the current part
  std::optional<PartReader> part_;
  bool first_row_ = false;  // whether the next row is the first of its part
  EntityKey last_key_;      // last key of the previous part of this table
};

}  // namespace entitable
