#include "core/live/feed_selection.h"

#include <algorithm>
#include <utility>

#include "core/model/table_name.h"

namespace entitable {

FeedSelection::FeedSelection(FeedQuery query)
    : query_(std::move(query)), filter_(query_.filter, {}) {
  for (std::string& table : query_.tables) table = fold_table_name(table);
}

bool FeedSelection::covers_table(std::string_view table) const {
  const std::vector<std::string>& tables = query_.tables;
  return tables.empty() || std::find(tables.begin(), tables.end(), table) != tables.end();
}

bool FeedSelection::covers(std::string_view table, const KeyView& key) const {
  return covers_table(table) && query_.range.contains(key);
}

bool FeedSelection::accepts(const RowChange& change) const {
  if (!covers(change.table->name.folded(), change.key.view())) return false;
  if (filter_.accepts_all()) return true;
  if (change.after.has_value() && filter_.matches(*change.after)) return true;
  if (!change.before.has_value()) return change.existed_before;
  return filter_.matches(change.before->view());
}

bool FeedSelection::accepts(const TableChange& change) const {
  return covers_table(change.table->name.folded());
}

}  // namespace entitable
