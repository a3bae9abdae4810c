#include "core/store/snapshot_export.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/store/store_state.h"

namespace entitable {
namespace {

// How many parts next() needs at once, so that few are in memory.
constexpr std::size_t parts_at_once = 16;

SnapshotHeader header_of(const Catalog& catalog) {
  SnapshotHeader header;
  header.tables = catalog.identities_by_name().size();
  for (const Ref<Table>& table : catalog.tables()) {
    if (!is_hidden_table(table->id())) header.rows += table->index.row_count();
  }
  header.service_properties = catalog.service_properties();
  return header;
}

}  // namespace

SnapshotExport::SnapshotExport(Store& store)
    : state_(store.state()), catalog_(state_.published.catalog) {
  ENTITABLE_CHECK(!state_.recovery.has_value());
  state_.snapshots.push_back(&catalog_);
}

SnapshotExport::~SnapshotExport() {
  state_.snapshots.erase(std::find(state_.snapshots.begin(), state_.snapshots.end(), &catalog_));
}

std::variant<std::string, SnapshotComplete, PartsNeeded> SnapshotExport::next_chunk() {
  std::optional<std::string> chunk = next();
  if (chunk.has_value()) return std::move(*chunk);
  if (!parts_needed_.empty()) return PartsNeeded{parts_needed_};
  return SnapshotComplete{};
}

// Writes the header. It holds the number of rows, so counts must be exact.
bool SnapshotExport::begin() {
  parts_needed_ = catalog_.parts_with_inexact_counts();
  if (parts_needed_.size() > parts_at_once) parts_needed_.resize(parts_at_once);
  if (!parts_needed_.empty()) return false;
  begun_ = true;
  writer_.emplace(header_of(catalog_));
  return true;
}

// Returns nothing at the end of the file, or if parts_needed_ is not empty.
std::optional<std::string> SnapshotExport::next() {
  if (!begun_ && !begin()) return std::nullopt;
  parts_needed_.clear();
  if (!writer_.has_value()) return std::nullopt;
  while (writer_->buffered_size() < snapshot_part_bytes) {
    if (position_.has_value()) {
      write_rows();
      if (!parts_needed_.empty()) return std::nullopt;
    } else if (next_table_ < catalog_.identities_by_name().size()) {
      const Table* table = catalog_.find(catalog_.identities_by_name()[next_table_++]->id);
      writer_->begin_table({table->name(), table->acl, table->index.row_count()});
      position_.emplace();
    } else {
      std::string last = std::move(*writer_).finish();
      writer_.reset();
      return last;
    }
  }
  return writer_->take_bytes();
}

// Writes rows up to the end of the table, the end of the chunk, or the first unloaded part. Each
// call uses a new cursor, because a cursor keeps the rows of its version in memory.
void SnapshotExport::write_rows() {
  const Table* table = catalog_.find(catalog_.identities_by_name()[next_table_ - 1]->id);
  Cursor rows(table->index, KeyRange{*position_, std::nullopt});
  for (; rows.valid() && writer_->buffered_size() < snapshot_part_bytes; rows.next()) {
    const RowView row = rows.row();
    writer_->begin_row(row.partition(), row.row_key(), row.timestamp());
    row.for_each_property(
        [&](std::string_view name, const ValueView& value) { writer_->add_property(name, value); });
    writer_->end_row();
  }
  if (rows.part_needed() != 0) parts_needed_ = {rows.part_needed()};
  position_ = rows.at_end() ? std::nullopt : std::optional<EntityKey>(rows.position());
}

}  // namespace entitable
