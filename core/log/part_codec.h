// A checkpoint part: the rows of one key range of one table, in key order, immutable once stored
// (FORMAT.md, "Part").
//
//   PartWriter writer(id, table, lower, upper);
//   writer.begin_row(partition, row, timestamp);  // for each row, in key order
//   writer.property(name, value);                 // for each property
//   writer.end_row();
//   std::string bytes = std::move(writer).finish();
//
// Rows are written from views and read as views, so packed rows are never converted to entities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/log/record_reader.h"
#include "core/log/record_writer.h"
#include "core/log/row_codec.h"
#include "core/log/shape_codec.h"
#include "core/model/commit.h"

namespace entitable {

class PartWriter {
 public:
  // Starts the part for the keys lower <= key < upper; without `upper` the range has no end.
  // REQUIRES: id > 0; is_table_id_valid(table); the bounds are valid keys (check_key).
  PartWriter(PartId id, TableId table, const KeyView& lower = {},
             const std::optional<KeyView>& upper = std::nullopt);

  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  // REQUIRES: the key is in the part's range and above the previous key; timestamp > 0;
  // check_entity() accepts the row. The views must stay valid until end_row().
  void begin_row(std::string_view partition, std::string_view row, Ticks timestamp);
  void add_property(std::string_view name, const ValueView& value) {
    properties_.push_back({name, value});
  }
  void end_row();

  std::uint32_t row_count() const { return rows_; }
  std::size_t size() const { return file_.buffered_size(); }  // bytes written so far
  // Returns the whole file. Must be the last call.
  std::string finish() &&;

 private:
  RecordWriter file_;
  std::string* bytes_;    // the bytes of file_, whose last record stays open until finish()
  std::size_t count_at_;  // where finish() writes the number of rows
  RowShapeNumbers shapes_;
  EntityKey lower_;
  std::optional<EntityKey> upper_;
  EntityKey last_key_;
  Ticks last_timestamp_ = 0;
  std::uint32_t rows_ = 0;
  // The row between begin_row and end_row.
  KeyView key_;
  Ticks timestamp_ = 0;
  std::vector<PropertyView> properties_;
};

// The header of a part file, and the counts and checksum from the rest of the file.
struct PartHeader {
  PartId id = 0;
  TableId table = 0;
  EntityKey lower;
  std::optional<EntityKey> upper;  // nothing: the range has no end
  std::uint32_t row_count = 0;     // exact
  std::uint32_t checksum = 0;      // part_checksum() of the file
  friend bool operator==(const PartHeader&, const PartHeader&) = default;
};

// Reads rows as views into the file.
//
//   auto reader = PartReader::open(file);
//   for (auto more = reader->next(); more.ok() && *more; more = reader->next()) use(reader->key());
class PartReader {
 public:
  // Opens a part file and checks all of its checksums, but not yet its rows. Errors:
  // ErrorCode::corrupted, whose message names the place and the reason; ErrorCode::format_too_new.
  // REQUIRES: `file` outlives the reader.
  static Result<PartReader> open(std::string_view file);

  const PartHeader& header() const { return header_; }
  // Moves to the next row and returns true, or returns false after the last row. If the next row is
  // bad, returns ErrorCode::corrupted with the row and the reason. Each row is checked only when
  // next() reaches it, so all rows are valid only once next() has returned false.
  Result<bool> next();
  // The current row. The views are valid until next() is called again.
  KeyView key() const { return key_; }
  Ticks timestamp() const { return timestamp_; }
  std::span<const PropertyView> properties() const { return properties_; }
  Entity entity() const;

 private:
  explicit PartReader(const Record& rows) : record_(rows), reader_(rows.payload) {}
  const char* read_row();
  const char* read_key(bool new_partition);

  PartHeader header_;
  Record record_;
  ByteReader reader_;
  ShapeDictionary shapes_;
  std::uint32_t rows_read_ = 0;
  KeyView key_;
  Ticks timestamp_ = 0;
  std::vector<PropertyView> properties_;
};

struct Part : PartHeader {
  std::vector<Entity> rows;
};

// Decodes the whole part into entities, or returns an error as PartReader does.
Result<Part> decode_part(std::string_view file);

// Returns the checksum in the end record. This checksum covers the whole file, and the manifest
// contains it. REQUIRES: `file` is a whole part file, as PartWriter returns it.
std::uint32_t part_checksum(std::string_view file);

}  // namespace entitable
