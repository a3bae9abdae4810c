// A snapshot: the content of a whole store as one file (FORMAT.md, "Snapshot").
//
// The same content is the same bytes, whatever store it comes from and however it came to be: there
// are no ids, numbers or names of a store in it. Rows are in parts, whole part files one after
// another, so that neither side ever holds more than about a quarter megabyte of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/log/part_codec.h"
#include "core/log/reader.h"
#include "core/log/record.h"
#include "core/model/commit.h"

namespace entitable {

// A part ends with the row that makes its file this big.
inline constexpr std::size_t snapshot_part_bytes = 250'000;

struct SnapshotHeader {
  std::uint64_t tables = 0;
  std::uint64_t rows = 0;
  std::string service_properties;  // opaque
  friend bool operator==(const SnapshotHeader&, const SnapshotHeader&) = default;
};

struct SnapshotTable {
  std::string name;
  std::vector<AccessPolicy> acl;
  std::uint64_t rows = 0;
  friend bool operator==(const SnapshotTable&, const SnapshotTable&) = default;
};

// Writes tables in the order of their folded names, each with its rows in key order.
//
//   SnapshotWriter writer(header);
//   writer.begin_table(table);
//   writer.begin_row(partition, row, timestamp);
//   writer.property(name, value);  // in any order
//   writer.end_row();
//   … std::string bytes = writer.take();  // whenever there are many
//   bytes += std::move(writer).finish();
class SnapshotWriter {
 public:
  explicit SnapshotWriter(const SnapshotHeader& header);

  // REQUIRES: the rows that the table before was to have.
  void begin_table(const SnapshotTable& table);
  // As in PartWriter.
  void begin_row(std::string_view partition, std::string_view row, Ticks timestamp);
  void property(std::string_view name, const ValueView& value) {
    properties_.push_back({name, value});
  }
  void end_row();
  // How many bytes take() would give now.
  std::size_t size() const { return file_.size(); }
  std::string take() { return file_.take(); }
  // The rest. Once, as the last call. REQUIRES: as many tables and rows as the header said.
  std::string finish() &&;

 private:
  void end_part();

  RecordWriter file_;
  std::optional<PartWriter> part_;
  std::vector<PropertyView> properties_;  // of the row between begin_row and end_row
  std::uint64_t tables_left_;
  std::uint64_t rows_left_;  // of the table
  TableId table_ = 0;
  PartId parts_ = 0;
};

// Reads a snapshot that comes chunk by chunk.
class SnapshotReader {
 public:
  enum class Step { more, table, row, end };  // more: bytes must be added first

  void add(std::string_view chunk) { records_.add(chunk); }
  // What comes next. Code::corrupted with what and where, or Code::format_too_new. Until finish()
  // was well, what was read may be of a file that turns out to be bad.
  Result<Step> next();
  // No more will be added.
  Result<void> finish() const;

  const SnapshotHeader& header() const { return header_; }  // once there was any step but more
  const SnapshotTable& table() const { return table_; }     // the last one
  // Of the row; valid until next() or add().
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

  RecordStream records_{FileKind::snapshot};
  bool has_header_ = false;
  SnapshotHeader header_;
  SnapshotTable table_;
  std::uint64_t tables_ = 0;         // so far
  std::uint64_t rows_left_ = 0;      // of the table
  std::uint64_t all_rows_left_ = 0;  // of the snapshot
  PartId parts_ = 0;
  std::optional<Record> record_;  // of the part
  std::optional<PartReader> part_;
  bool first_row_ = false;  // of the part
  EntityKey last_key_;      // of the part before, in this table
};

}  // namespace entitable
