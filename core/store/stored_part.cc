#include "core/store/stored_part.h"

#include <utility>

#include "core/index/cursor.h"
#include "core/log/file_names.h"
#include "core/log/part_codec.h"

namespace entitable {

ListedPart listed_part(const ManifestTable& table, std::size_t position) {
  ListedPart listed{table.id, table.parts[position], {}};
  if (position > 0) listed.range.lower = table.parts[position].lower;
  if (position + 1 < table.parts.size()) listed.range.upper = table.parts[position + 1].lower;
  return listed;
}

WrittenPart write_stored_part(const TableIndex& index, const KeyRange& range, PartId id,
                              TableId table) {
  ManifestPart part{range.lower, id, 0, 0, 0};
  const std::optional<KeyView> upper =
      range.upper.has_value() ? std::optional<KeyView>(range.upper->view()) : std::nullopt;
  PartWriter writer(id, table, range.lower.view(), upper);
  for (Cursor cursor(index, range); cursor.valid(); cursor.next()) {
    const RowView row = cursor.row();
    writer.begin_row(row.partition(), row.row_key(), row.timestamp());
    row.for_each_property(
        [&](std::string_view name, const ValueView& value) { writer.add_property(name, value); });
    writer.end_row();
    ++part.rows;
    part.bytes += row.packed_bytes();
  }
  std::string bytes = std::move(writer).finish();
  part.checksum = part_checksum(bytes);
  return {std::move(part), std::move(bytes)};
}

namespace {

// Loads the rows of the file into the versions. After an error, the versions are unchanged.
Result<void> read_rows(const ListedPart& listed, std::string_view file,
                       const std::vector<TableIndex*>& versions) {
  auto reader = PartReader::open(file);
  if (!reader.ok()) return reader.error();
  const PartHeader& header = reader->header();
  if (header.id != listed.part.id || header.table != listed.table ||
      header.row_count != listed.part.rows || header.checksum != listed.part.checksum) {
    return Error(ErrorCode::corrupted, "the file is not the part that the manifest lists");
  }
  // Rows are in ascending order, so checking the first and the last key suffices.
  PartLoader loader(*versions.front(), header.id);
  bool in_place = true;
  for (std::uint32_t row = 1;; ++row) {
    const auto more = reader->next();
    if (!more.ok()) return more.error();
    if (!*more) break;
    if (row == 1 || row == header.row_count) in_place &= listed.range.contains(reader->key());
    if (in_place) loader.add(reader->key(), reader->timestamp(), reader->properties());
  }
  if (!in_place) return Error(ErrorCode::corrupted, "its rows belong elsewhere");
  loader.finish();
  for (std::size_t i = 1; i < versions.size(); ++i) loader.install_in_other_version(*versions[i]);
  return {};
}

}  // namespace

Result<void> load_stored_part(const ListedPart& listed, std::optional<std::string_view> file,
                              const std::vector<TableIndex*>& versions,
                              std::vector<Damage>& damage) {
  Result<void> loaded = file.has_value() ? read_rows(listed, *file, versions)
                                         : Error(ErrorCode::corrupted, "the file is missing");
  if (loaded.ok() || loaded.error().code == ErrorCode::format_too_new) return loaded;
  damage.push_back({part_name(listed.part.id), loaded.error().message});
  for (TableIndex* index : versions) index->load_part(listed.part.id, {});
  return {};
}

}  // namespace entitable
