// Snapshots as plain data, and their files, written and read by core/log/snapshot_codec.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/log/snapshot_codec.h"
#include "tests/support/log_samples.h"

namespace entitable::test {

struct SnapshotContent {
  struct Table {
    SnapshotTableHeader info;
    std::vector<Entity> rows;
    friend bool operator==(const Table&, const Table&) = default;
  };
  SnapshotHeader header;
  std::vector<Table> tables;
  friend bool operator==(const SnapshotContent&, const SnapshotContent&) = default;
};

inline std::string bytes_of(const SnapshotContent& content) {
  SnapshotWriter writer(content.header);
  std::string bytes;
  for (const SnapshotContent::Table& table : content.tables) {
    writer.begin_table(table.info);
    for (const Entity& row : table.rows) {
      writer.begin_row(row.key.partition, row.key.row, row.timestamp);
      for (const Property& p : row.properties) writer.add_property(p.name, p.value.view());
      writer.end_row();
    }
    bytes += writer.take_bytes();
  }
  return bytes + std::move(writer).finish();
}

// Reads a file in chunks of this size.
inline Result<SnapshotContent> read_snapshot(std::string_view file, std::size_t chunk_bytes) {
  SnapshotReader reader;
  SnapshotContent content;
  for (std::size_t at = 0; at < file.size(); at += chunk_bytes) {
    reader.add_chunk(file.substr(at, chunk_bytes));
    while (true) {
      const auto step = reader.next();
      if (!step.ok()) return step.error();
      if (*step == SnapshotReader::Step::chunk_needed || *step == SnapshotReader::Step::end) break;
      if (*step == SnapshotReader::Step::table) {
        content.tables.push_back({reader.table(), {}});
      } else if (*step == SnapshotReader::Step::row) {
        content.tables.back().rows.push_back(
            Entity{EntityKey(reader.key().partition, reader.key().row), reader.timestamp(),
                   owned_properties(reader.properties())});
      }
    }
  }
  if (const auto whole = reader.check_complete(); !whole.ok()) return whole.error();
  content.header = reader.header();
  return content;
}

inline Result<SnapshotContent> read_snapshot(std::string_view file) {
  return read_snapshot(file, std::max<std::size_t>(1, file.size()));
}

// A snapshot with everything that one can contain. Its properties are ordered by name, because the
// reader returns them so.
inline SnapshotContent sample_snapshot() {
  std::vector<Property> every = properties_of_every_type();
  std::sort(every.begin(), every.end(),
            [](const Property& a, const Property& b) { return a.name < b.name; });
  SnapshotContent content;
  content.header = {3, 5, "<x/>"};
  content.tables = {
      {{"Cities", sample_policies(), 4},
       {{EntityKey("", ""), 1, {}},
        {EntityKey("CH", "1"), sample_time, every},
        {EntityKey("CH", "\xEF\xBD\x9E"), sample_time + 5, {{"Count", Value::of_int32(1)}}},
        {EntityKey("CZ", ""), limits::date_time_ticks_max, every}}},
      {{"empty", {}, 0}, {}},
      {{"People", {}, 1}, {{EntityKey("p", "r"), sample_time, {}}}},
  };
  return content;
}

}  // namespace entitable::test
