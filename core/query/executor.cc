#include "core/query/executor.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/query/scan.h"

namespace entitable {

std::variant<RowAnswer, Error, NeedParts> get_row(const TableIndex& index, const KeyView& key) {
  const TableIndex::Found found = index.find(key);
  if (found.need_part != 0) return NeedParts{{found.need_part}};
  if (!found.row.has_value()) return Error(Code::resource_not_found);
  return RowAnswer{index, *found.row};
}

std::variant<Page, NeedParts> execute(const TableIndex& index, const Query& query,
                                      AtAbsent at_absent) {
  ENTITABLE_CHECK(query.top <= limits::page_rows_max);
  Page page{index, {}, std::nullopt, 0};
  if (query.top == 0) return page;
  const Plan plan = make_plan(query.filter);
  Scan scan(index, query.filter, plan, query.from);
  std::uint64_t bytes = 0;
  scan.run([&](const RowView& row) {
    if (page.rows.size() == query.top || bytes >= limits::page_bytes_max) {
      page.next = Continuation{EntityKey(row.partition(), row.row())};
      return false;
    }
    page.rows.push_back(row);
    bytes += row.packed_bytes();
    return true;
  });
  if (scan.need_part() != 0) {
    if (at_absent == AtAbsent::ask || scan.rows_read() == 0) {
      // One more than the page holds, since a page looks ahead for its continuation.
      return NeedParts{scan.parts_ahead(query.top + std::uint64_t{1} - page.rows.size())};
    }
    page.next = Continuation{scan.stopped_at()};
  }
  page.rows_read = scan.rows_read();
  return page;
}

}  // namespace entitable
