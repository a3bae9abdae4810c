#include "core/query/scan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/core/query/query_testing.h"
#include "tests/core/query/unloaded_table.h"

using namespace entitable;
using namespace entitable::test;

TEST_CASE("a scan stops when on_row returns false, and counts the rows read") {
  const TableIndex index = numbered_rows(50, 2).index();
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
  CHECK(scan.part_needed() == 0);
  CHECK(scan.filters().bound_shapes().size() == 1);
}

namespace {

// Texts with the same digest, in many leaves, with some rows of another shape among them.
Rows alike_rows(std::size_t count) {
  Rows rows;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(200, 'x');
    text[20] = static_cast<char>('a' + i % 3);
    Entity entity = entity_of("p", digits(i, 4), {{"text", Value::of_string(text)}});
    if (i < count / 2) {
      entity.properties.push_back({"n", Value::of_int32(static_cast<int>(i % 7))});
    } else if (i % 50 == 0) {
      entity.properties.push_back({"n", Value::of_int64(static_cast<int>(i % 7))});
    }
    rows.put(entity);
  }
  return rows;
}

}  // namespace

TEST_CASE("rows are visited in order and counted, with and without cached columns") {
  const Rows rows = alike_rows(600);
  const TableIndex index = rows.index();
  const std::string text = "'" + std::string(20, 'x') + "b" + std::string(179, 'x') + "'";
  for (const std::string& filter_text :
       {"text eq " + text, "text ne " + text, "n ge 3 and text eq " + text,
        "text ne " + text + " or n eq 1", "not (text eq " + text + ") and n lt 2",
        std::string("n ge 3")}) {
    CAPTURE(filter_text);
    const Filter filter = filter_of(filter_text);
    const Plan plan = make_plan(filter);
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < rows.all().size(); ++i) {
      if (matches_unbound(filter, rows.all()[i])) expected.push_back(i);
    }
    REQUIRE(expected.size() > 20);
    const std::optional<Continuation> from;
    for (std::size_t stop = 1; stop <= expected.size() + 1; stop += 1 + stop / 3) {
      for (const std::uint64_t most : {std::uint64_t{stop}, std::uint64_t{5}, ~std::uint64_t{0}}) {
        CAPTURE(stop, most);
        std::vector<std::size_t> taken;
        Scan scan(index, filter, plan, from);
        const auto take = [&](const RowView& row) {
          taken.push_back(static_cast<std::size_t>(std::stoi(std::string(row.row_key()))));
          return taken.size() < stop;
        };
        scan.run(take, most);
        const bool stopped = stop <= expected.size();
        REQUIRE(taken.size() == std::min(stop, expected.size()));
        REQUIRE(std::equal(taken.begin(), taken.end(), expected.begin()));
        REQUIRE(scan.rows_read() == (stopped ? taken.back() + 1 : rows.all().size()));
      }
    }
  }
}

TEST_CASE("a scan that has enough rows requests no further part") {
  UnloadedTable table(numbered_rows(100, 2), 10);
  const Filter filter = filter_of("n ge 5");
  const Plan plan = make_plan(filter);
  const std::optional<Continuation> from;
  table.load({{1, 2}});
  for (int stop = 1; stop <= 16; ++stop) {
    Scan scan(table.index(), filter, plan, from);
    int taken = 0;
    scan.run([&](const RowView&) { return ++taken < stop; }, static_cast<std::uint64_t>(stop));
    CHECK(taken == std::min(stop, 15));
    CHECK(scan.part_needed() == (stop <= 15 ? 0 : 3));
  }
}

TEST_CASE("a scan that tests nothing binds no shape") {
  const TableIndex index = numbered_rows(5, 2).index();
  const Filter filter = filter_of("PartitionKey eq 'p'");
  const Plan plan = make_plan(filter);
  const std::optional<Continuation> from;
  Scan scan(index, filter, plan, from);
  int taken = 0;
  scan.run([&](const RowView&) { return ++taken > 0; });
  CHECK(taken == 5);
  CHECK(scan.filters().bound_shapes().empty());
}

TEST_CASE("a scan skips ranges before its start") {
  const TableIndex index = numbered_rows(50, 2).index();
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

TEST_CASE("a scan that reaches a missing part requests it and the parts after it") {
  UnloadedTable table(numbered_rows(100, 2), 10);
  const Filter filter = filter_of("PartitionKey eq 'p' and RowKey ge '25' and RowKey lt '55'");
  const Plan plan = make_plan(filter);
  const std::optional<Continuation> from;
  table.load({{3, 5}});
  Scan scan(table.index(), filter, plan, from);
  int taken = 0;
  scan.run([&](const RowView&) { return ++taken > 0; });
  CHECK(taken == 5);
  CHECK(scan.part_needed() == 4);
  CHECK(scan.parts_to_load(1) == std::vector<PartId>{4});
  CHECK(scan.parts_to_load(20) == std::vector<PartId>{4});
  CHECK(scan.parts_to_load(21) == std::vector<PartId>{4, 6});
  CHECK(scan.parts_to_load(1000) == std::vector<PartId>{4, 6});
}
