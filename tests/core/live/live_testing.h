// Helpers of the tests of live queries.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/filter/parser.h"
#include "core/live/delta.h"
#include "core/live/watch.h"
#include "tests/support/catch.h"

namespace entitable::test {

inline Filter filter_of(std::string_view text) {
  Result<Filter> filter = parse_filter(text);
  REQUIRE(filter.ok());
  return std::move(*filter);
}

inline WatchQuery query_of(std::string_view filter,
                           std::optional<std::uint32_t> limit = std::nullopt) {
  WatchQuery query;
  if (!filter.empty()) query.filter = filter_of(filter);
  query.limit = limit;
  return query;
}

// A row of partition "p" with an Int32 property `n`.
inline Entity row_of(std::string_view row, std::int32_t n, Ticks timestamp = 1) {
  return {EntityKey("p", row), timestamp, {{"n", Value::of_int32(n)}}};
}

inline TableIndex index_of(const std::vector<Entity>& entities) {
  TableIndex index;
  for (const Entity& entity : entities) index.put(entity);
  return index;
}

inline std::optional<RowView> find(const TableIndex& index, std::string_view row) {
  return index.find({"p", row}).row;
}

// Returns for example "+a ~b -c": a enters, b is updated, c leaves.
inline std::string text_of(const std::vector<DeltaRow>& rows, const ListedRows& listed) {
  std::string text;
  for (const DeltaRow& row : rows) {
    text += text.empty() ? "" : " ";
    text += row.kind == DeltaKind::enter ? '+' : row.kind == DeltaKind::update ? '~' : '-';
    text += listed[row.row].key_view().row;
  }
  return text;
}

}  // namespace entitable::test
