#include "core/query/executor.h"

#include <optional>
#include <string>

#include "core/base/check.h"
#include "core/index/cursor.h"
#include "core/model/limits.h"
#include "core/query/descending.h"
#include "core/query/scan.h"
#include "core/query/service_plan.h"

namespace entitable {
namespace {

// Returns a plan that reads `range` and tests the whole filter on each row.
Plan plan_of(const KeyRange& range, const Filter& filter) {
  return {
      {range}, plan_kind_of(range), !filter.empty(), std::vector<char>(filter.nodes.size(), false)};
}

}  // namespace

std::variant<PinnedRow, Error, PartsNeeded> get_row(const TableIndex& index, const KeyView& key) {
  const TableIndex::Found found = index.find(key);
  if (found.part_needed != 0) return PartsNeeded{{found.part_needed}};
  if (!found.row.has_value()) return Error(ErrorCode::resource_not_found);
  return PinnedRow{index, *found.row};
}

Page get_rows_until_missing(const TableIndex& index, std::span<const KeyView> keys) {
  Page page{index, {}, std::nullopt, 0};
  page.rows.reserve(keys.size());
  std::vector<TableIndex::Found> found(keys.size());
  index.find_many(keys, found);
  std::uint64_t bytes = 0;
  for (const TableIndex::Found& each : found) {
    if (!each.row.has_value() || bytes >= limits::page_bytes_max) break;
    page.rows.push_back(*each.row);
    bytes += each.row->packed_bytes();
  }
  page.rows_read = page.rows.size();
  return page;
}

std::variant<Page, PartsNeeded> execute_plan(const TableIndex& index, const Query& query,
                                             const Plan& plan, OnUnloaded on_unloaded,
                                             PageEnd page_end, std::uint64_t rows_tested_max) {
  Page page{index, {}, std::nullopt, 0};
  Scan scan(index, query.filter, plan, query.from);
  scan.limit_rows_tested(rows_tested_max);
  std::uint64_t bytes = 0;
  const auto is_full = [&] {
    return page.rows.size() == query.top || bytes >= limits::page_bytes_max;
  };
  // One row more than the page holds, if the page needs the key of the next row.
  const std::uint64_t wanted =
      query.top + std::uint64_t{page_end == PageEnd::before_next_row ? 1U : 0U};
  scan.run(
      [&](const RowView& row) {
        if (is_full()) {
          page.next = Continuation{EntityKey(row.partition(), row.row_key())};
          return false;
        }
        page.rows.push_back(row);
        bytes += row.packed_bytes();
        if (page_end == PageEnd::before_next_row || !is_full()) return true;
        page.next = Continuation{EntityKey(row.partition(), successor(row.row_key()))};
        return false;
      },
      wanted);
  if (scan.part_needed() != 0) {
    if (on_unloaded == OnUnloaded::return_parts_needed || scan.rows_read() == 0)
      return PartsNeeded{scan.parts_to_load(wanted - page.rows.size())};
    page.next = Continuation{scan.stopped_at()};
  }
  if (scan.tested_enough()) page.next = Continuation{scan.stopped_at()};
  page.rows_read = scan.rows_read();
  page.ranges_read = scan.ranges_read();
  return page;
}

std::variant<Page, PartsNeeded> execute(const TableIndex& index, const Query& query,
                                        OnUnloaded on_unloaded) {
  ENTITABLE_CHECK(query.top <= limits::page_rows_max);
  if (query.top == 0) return Page{index, {}, std::nullopt, 0};
  if (query.descending) return read_page_backward(index, query, on_unloaded);
  return execute_plan(index, query, make_plan(query.filter), on_unloaded);
}

std::variant<Page, PartsNeeded> execute_as_service(const TableIndex& index, const Query& query) {
  ENTITABLE_CHECK(query.top <= limits::page_rows_max);
  const ServicePlan service = make_service_plan(query.filter);
  const Page nothing{index, {}, std::nullopt, 0};
  if (query.top == 0 || service.kind == PlanKind::empty) return nothing;
  KeyRange range = service.range;
  if (query.from.has_value()) range = intersect(range, KeyRange{query.from->next, std::nullopt});
  Cursor cursor(index, range);
  if (cursor.part_needed() != 0) return PartsNeeded{{cursor.part_needed()}};
  if (cursor.at_end()) return nothing;

  const std::string partition(cursor.row().partition());
  const EntityKey behind(successor(partition), "");
  const KeyRange own = intersect(range, KeyRange{EntityKey(partition, ""), behind});
  auto result =
      execute_plan(index, query, plan_of(own, query.filter), OnUnloaded::return_parts_needed);
  Page* const page = std::get_if<Page>(&result);
  if (page == nullptr) return result;
  page->partition = partition;
  if (page->next.has_value()) return result;
  cursor.seek(behind.view());
  if (cursor.part_needed() != 0) return PartsNeeded{{cursor.part_needed()}};
  if (cursor.valid()) page->next = Continuation{cursor.position()};
  return result;
}

}  // namespace entitable
