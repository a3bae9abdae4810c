// Runs arbitrary text as a filter on a small fixed table. The pages and the explanation of its plan
// must agree with a full scan, and the plan must respect its limits.
//
// The first byte is the page size, the rest is the filter.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/filter/evaluate.h"
#include "core/filter/parser.h"
#include "core/query/executor.h"
#include "core/query/explain.h"
#include "core/query/key_set.h"

namespace {

using namespace entitable;

struct Table {
  std::vector<Entity> rows;  // in key order
  TableIndex index;
};

// The keys are few and short, so that short filters can select some of them.
Table make_table() {
  const std::vector<std::string> keys = {
      "", "1", "a", "a ", "aa", "b", "\xF0\x9F\x98\x80", "\xEF\xBD\x9E"};
  const std::vector<Value> values = {
      Value::of_int32(1),     Value::of_int64(1),
      Value::of_double(1.5),  Value::of_string("a"),
      Value::of_binary("a"),  Value::of_boolean(true),
      Value::of_guid(Guid{}), Value::of_date_time(ticks_at_unix_epoch)};
  Table table;
  for (const std::string& partition : keys) {
    for (const std::string& row : keys) {
      const std::size_t i = table.rows.size();
      Entity entity{EntityKey(partition, row), ticks_at_unix_epoch + static_cast<Ticks>(i), {}};
      if (i % 3 != 0) entity.properties.push_back({"v", values[i % values.size()]});
      if (i % 5 != 0) entity.properties.push_back({"w", values[i / 2 % values.size()]});
      table.index.put(entity);
      table.rows.push_back(std::move(entity));
    }
  }
  return table;
}

void check_ranges(const Plan& plan) {
  ENTITABLE_CHECK(plan.ranges.size() <= key_set_intervals_max);
  for (std::size_t i = 0; i < plan.ranges.size(); ++i) {
    ENTITABLE_CHECK(!plan.ranges[i].empty());
    if (i == 0) continue;
    const KeyRange& before = plan.ranges[i - 1];
    ENTITABLE_CHECK(before.upper && compare(before.upper->view(), plan.ranges[i].lower.view()) < 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Table table = make_table();
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Result<Filter> filter = parse_filter(text);
  if (!filter.ok()) return 0;

  std::vector<const Entity*> expected;
  for (const Entity& entity : table.rows) {
    if (matches_unbound(*filter, entity)) expected.push_back(&entity);
  }

  Query query;
  query.filter = std::move(*filter);
  query.top = 1 + data[0] % 70;
  check_ranges(make_plan(query.filter));
  std::size_t at = 0;
  do {
    const auto answer = execute(table.index, query);
    const Page& page = std::get<Page>(answer);
    ENTITABLE_CHECK(page.next.has_value() == (at + query.top < expected.size()));
    for (const RowView& row : page.rows) {
      ENTITABLE_CHECK(at < expected.size());
      ENTITABLE_CHECK(row.timestamp() == expected[at++]->timestamp);
    }
    query.from = page.next;
  } while (query.from.has_value());
  ENTITABLE_CHECK(at == expected.size());

  Explanation explanation(query);
  const auto explained = explain(table.index, explanation);
  ENTITABLE_CHECK(std::get<Explain>(explained).rows_returned == expected.size());
  return 0;
}
