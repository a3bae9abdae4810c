#include "core/query/scan.h"

#include <string>

#include "tests/core/query/parted_table.h"
#include "tests/core/query/query_testing.h"

using namespace entitable;
using namespace entitable::test;

namespace {

Rows numbered_rows(std::size_t count) {
  Rows rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.put(entity_of("p", digits(i, 2), {{"n", Value::of_int32(static_cast<int>(i))}}));
  }
  return rows;
}

}  // namespace

TEST_CASE("a scan stops when it is told to, and counts what it looked at") {
  const TableIndex index = numbered_rows(50).index();
  const Filter filter = filter_of("n ge 10");
  const Plan plan = make_plan(filter);
  const std::optional<Continuation> from;
  Scan scan(index, filter, plan, from);
  int taken = 0;
  scan.run([&](const RowView& row) {
    CHECK(row.find("n")->int32() == 10 + taken);
    return ++taken < 5;
  });
  CHECK(taken == 5);
  CHECK(scan.rows_read() == 15);
  CHECK(scan.need_part() == 0);
  CHECK(scan.filters().shapes().size() == 1);
}

TEST_CASE("a scan that tests nothing binds no shape") {
  const TableIndex index = numbered_rows(5).index();
  const Filter filter = filter_of("PartitionKey eq 'p'");
  const Plan plan = make_plan(filter);
  const std::optional<Continuation> from;
  Scan scan(index, filter, plan, from);
  int taken = 0;
  scan.run([&](const RowView&) { return ++taken > 0; });
  CHECK(taken == 5);
  CHECK(scan.filters().shapes().empty());
}

TEST_CASE("a scan passes over ranges below its start") {
  const TableIndex index = numbered_rows(50).index();
  const Filter filter =
      filter_of("PartitionKey eq 'p' and (RowKey eq '01' or RowKey eq '02' or RowKey ge '40')");
  const Plan plan = make_plan(filter);
  for (const auto& [from, keys] :
       {std::pair{"", 12}, {"01", 12}, {"02", 11}, {"03", 10}, {"40", 10}, {"45", 5}, {"50", 0}}) {
    CAPTURE(from);
    const std::optional<Continuation> start = Continuation{EntityKey("p", from)};
    Scan scan(index, filter, plan, start);
    int taken = 0;
    scan.run([&](const RowView&) { return ++taken > 0; });
    CHECK(taken == keys);
  }
}

TEST_CASE("a scan that meets a missing part asks for it and what comes after") {
  PartedTable table(numbered_rows(100), 10);
  const Filter filter = filter_of("PartitionKey eq 'p' and RowKey ge '25' and RowKey lt '55'");
  const Plan plan = make_plan(filter);
  const std::optional<Continuation> from;
  table.load({{3, 5}});
  Scan scan(table.index(), filter, plan, from);
  int taken = 0;
  scan.run([&](const RowView&) { return ++taken > 0; });
  CHECK(taken == 5);
  CHECK(scan.need_part() == 4);
  CHECK(scan.parts_ahead(1) == std::vector<PartId>{4});
  CHECK(scan.parts_ahead(20) == std::vector<PartId>{4});
  CHECK(scan.parts_ahead(21) == std::vector<PartId>{4, 6});
  CHECK(scan.parts_ahead(1000) == std::vector<PartId>{4, 6});
}
