#include "core/query/executor.h"

#include <set>
#include <string>
#include <vector>

#include "core/model/limits.h"
#include "core/query/explain.h"
#include "tests/core/query/query_testing.h"
#include "tests/core/query/unloaded_table.h"
#include "tests/support/random_filter.h"

using namespace entitable;
using namespace entitable::test;

namespace {

Page page_of(const TableIndex& index, const Query& query) {
  auto result = execute(index, query);
  REQUIRE(std::holds_alternative<Page>(result));
  return std::get<Page>(std::move(result));
}

// Checks one page against the reference, from its start; returns where the next page starts.
std::optional<Continuation> check_page(const Page& page, const Rows& rows, const Query& query) {
  const EntityKey from = query.from.has_value() ? query.from->next : EntityKey();
  std::vector<Entity> expected = rows.matching(query.filter, from);
  std::optional<Continuation> next;
  if (query.top > 0 && expected.size() > query.top) next = Continuation{expected[query.top].key};
  expected.resize(std::min<std::size_t>(expected.size(), query.top));
  REQUIRE(keys_text(page.rows) == keys_text(expected));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(page.rows[i].timestamp() == expected[i].timestamp);
  }
  REQUIRE(page.next == next);
  REQUIRE(page.rows_read >= page.rows.size() + (next.has_value() ? 1 : 0));
  return page.next;
}

void write_something(Prng& prng, TableIndex& index, Rows& rows) {
  for (std::uint64_t i = prng.below(4); i > 0; --i) {
    if (!rows.all().empty() && prng.chance(2)) {
      const EntityKey key = pick(prng, rows.all()).key;
      rows.erase(key);
      index.erase(key.view());
    } else {
      Entity entity{random_entity_key(prng), random_ticks(prng), random_properties(prng, 5)};
      index.put(entity);
      rows.put(std::move(entity));
    }
  }
}

}  // namespace

TEST_CASE("get_row returns a row by key") {
  const TableIndex index = numbered_rows(3).index();
  const auto result = get_row(index, {"p", "0001"});
  REQUIRE(std::holds_alternative<PinnedRow>(result));
  CHECK(std::get<PinnedRow>(result).row.row_key() == "0001");
}

TEST_CASE("a missing row is not found, whatever its key") {
  const TableIndex index = numbered_rows(3).index();
  const std::string too_long(2000, 'x');
  for (const KeyView key :
       {KeyView{"p", "0003"}, KeyView{"P", "0001"}, KeyView{"", ""}, KeyView{"a/b", "c#d"},
        KeyView{std::string_view("p\0", 2), "0001"}, KeyView{too_long, too_long}}) {
    const auto result = get_row(index, key);
    REQUIRE(std::holds_alternative<Error>(result));
    CHECK(std::get<Error>(result) == Error(ErrorCode::resource_not_found));
  }
}

TEST_CASE("a returned row does not change with later writes") {
  TableIndex index = numbered_rows(3).index();
  const auto result = get_row(index, {"p", "0001"});
  index.put(entity_of("p", "0001", {{"n", Value::of_int32(-1)}}));
  index.erase({"p", "0000"});
  const RowView& row = std::get<PinnedRow>(result).row;
  CHECK(row.find("n")->int32() == 1);
}

TEST_CASE("a page ends at top, and its continuation is the next matching row") {
  const TableIndex index = numbered_rows(10).index();
  const Page page = page_of(index, query_of("n ge 2 and n ne 5", 3));
  CHECK(keys_text(page.rows) == "p|0002 p|0003 p|0004");
  CHECK(page.next == Continuation{EntityKey("p", "0006")});
  CHECK(page.rows_read == 7);
}

TEST_CASE("a full page without further matches has no continuation") {
  const TableIndex index = numbered_rows(10).index();
  CHECK_FALSE(page_of(index, query_of("n lt 3", 3)).next.has_value());
  CHECK(page_of(index, query_of("n lt 4", 3)).next.has_value());
  CHECK_FALSE(page_of(index, query_of("", 10)).next.has_value());
  CHECK(page_of(index, query_of("", 9)).next.has_value());
  CHECK_FALSE(page_of(index, query_of("PartitionKey eq 'p' and RowKey eq '0001'", 1)).next);
}

TEST_CASE("a page has at most 1000 rows") {
  const TableIndex index = numbered_rows(1001).index();
  const Page page = page_of(index, query_of(""));
  CHECK(page.rows.size() == 1000);
  CHECK(page.next == Continuation{EntityKey("p", "1000")});
  Query rest = query_of("");
  rest.from = page.next;
  const Page last = page_of(index, rest);
  CHECK(keys_text(last.rows) == "p|1000");
  CHECK_FALSE(last.next.has_value());
}

TEST_CASE("a page of large rows ends at the byte limit") {
  std::vector<Property> huge;
  for (char name = 'a'; name < 'p'; ++name) {
    huge.push_back({std::string(1, name), Value::of_binary(std::string(65'000, 'x'))});
  }
  TableIndex index;
  for (std::uint64_t i = 0; i < 70; ++i) index.put(entity_of("p", digits(i), huge));
  const std::uint64_t row_bytes = index.find({"p", digits(0)}).row->packed_bytes();
  const auto full = static_cast<std::size_t>((limits::page_bytes_max + row_bytes - 1) / row_bytes);
  REQUIRE(full < 70);
  const Page page = page_of(index, query_of("", 1000));
  CHECK(page.rows.size() == full);
  REQUIRE(page.next.has_value());
  CHECK(page.next->next == EntityKey("p", digits(full)));
  CHECK(page_of(index, query_of("", static_cast<std::uint32_t>(full - 1))).rows.size() == full - 1);
  Query rest = query_of("", 1000);
  rest.from = page.next;
  CHECK(page_of(index, rest).rows.size() == 70 - full);
  CHECK_FALSE(page_of(index, rest).next.has_value());
}

TEST_CASE("a top of zero reads nothing and has no continuation") {
  const TableIndex index = numbered_rows(10).index();
  const Page page = page_of(index, query_of("", 0));
  CHECK(page.rows.empty());
  CHECK_FALSE(page.next.has_value());
  CHECK(page.rows_read == 0);
}

TEST_CASE("an empty table and a contradiction return an empty page") {
  CHECK(page_of(TableIndex(), query_of("")).rows.empty());
  const TableIndex index = numbered_rows(10).index();
  const Page page = page_of(index, query_of("PartitionKey lt 'a' and PartitionKey gt 'b'"));
  CHECK(page.rows.empty());
  CHECK(page.rows_read == 0);
}

TEST_CASE("only the plan's ranges are read") {
  const Rows rows = numbered_rows(1000);
  const TableIndex index = rows.index();
  const Page point = page_of(index, query_of("PartitionKey eq 'p' and RowKey eq '0500'"));
  CHECK(point.rows_read == 1);
  const Page range =
      page_of(index, query_of("PartitionKey eq 'p' and RowKey ge '0500' and RowKey lt '0510'"));
  CHECK(range.rows_read == 10);
  const Page points = page_of(
      index, query_of("PartitionKey eq 'p' and (RowKey eq '0007' or RowKey eq '0900' or RowKey eq "
                      "'x')"));
  CHECK(keys_text(points.rows) == "p|0007 p|0900");
  CHECK(points.rows_read == 2);
}

TEST_CASE("a page starts at the token's key, whether the row exists or not") {
  const TableIndex index = numbered_rows(10).index();
  Query query = query_of("PartitionKey eq 'p' and (RowKey lt '0003' or RowKey ge '0007')");
  struct Case {
    EntityKey from;
    const char* keys;
  };
  for (const Case& one : {
           Case{EntityKey("", ""), "p|0000 p|0001 p|0002 p|0007 p|0008 p|0009"},
           Case{EntityKey("p", "0002"), "p|0002 p|0007 p|0008 p|0009"},
           Case{EntityKey("p", "00015"), "p|0002 p|0007 p|0008 p|0009"},
           Case{EntityKey("p", "0003"), "p|0007 p|0008 p|0009"},
           Case{EntityKey("p", "0008"), "p|0008 p|0009"},
           Case{EntityKey("p", "x"), ""},
           Case{EntityKey("q", ""), ""},
           Case{EntityKey(std::string_view("p\0", 2), ""), ""},
       }) {
    CAPTURE(key_text(one.from.view()));
    query.from = Continuation{one.from};
    CHECK(keys_text(page_of(index, query).rows) == one.keys);
  }
}

TEST_CASE("a page is a snapshot: later writes do not change it") {
  TableIndex index = numbered_rows(500).index();
  const Page page = page_of(index, query_of("n ge 100", 50));
  for (int i = 0; i < 500; ++i) index.erase({"p", digits(static_cast<std::uint64_t>(i), 4)});
  CHECK(page.rows.size() == 50);
  CHECK(page.rows.front().row_key() == "0100");
  CHECK(page.rows.back().find("n")->int32() == 149);
}

TEST_CASE("pages of random queries agree with the reference, with writes in between") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    Rows rows = random_rows(prng, 40);
    TableIndex index = rows.index();
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 5; ++i) {
      Query query;
      if (!prng.chance(10)) query.filter = RandomFilter(prng, vocabulary).make(3);
      CAPTURE(to_sexpr(query.filter));
      do {
        query.top = static_cast<std::uint32_t>(prng.below(6));
        query.from = check_page(page_of(index, query), rows, query);
        if (prng.chance(2)) write_something(prng, index, rows);
      } while (query.from.has_value());
    }
  }
}

TEST_CASE("pages over many leaves agree with the reference") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = regular_rows(prng, 1500);
    const TableIndex index = rows.index();
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 15; ++i) {
      Query query;
      query.filter = RandomFilter(prng, vocabulary).make(3);
      CAPTURE(to_sexpr(query.filter));
      query.top = static_cast<std::uint32_t>(1 + prng.below(limits::page_rows_max));
      do {
        query.from = check_page(page_of(index, query), rows, query);
      } while (query.from.has_value());
    }
  }
}

TEST_CASE("a page that needs missing parts requests them, then has the same rows") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = prng.chance(2) ? random_rows(prng, 40) : regular_rows(prng, 400);
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 5; ++i) {
      UnloadedTable table(prng, rows);
      Query query;
      query.filter = RandomFilter(prng, vocabulary).make(3);
      CAPTURE(to_sexpr(query.filter));
      query.top = static_cast<std::uint32_t>(prng.below(30));
      do {
        auto result = execute(table.index(), query);
        while (const auto* need = std::get_if<PartsNeeded>(&result)) {
          table.load(*need);
          result = execute(table.index(), query);
        }
        query.from = check_page(std::get<Page>(result), rows, query);
      } while (query.from.has_value());
    }
  }
}

TEST_CASE("a row in a missing part is returned after loading the part") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = random_rows(prng, 30);
    UnloadedTable table(prng, rows);
    for (const Entity& entity : rows.all()) {
      auto result = get_row(table.index(), entity.key.view());
      if (const auto* need = std::get_if<PartsNeeded>(&result)) {
        REQUIRE(need->ids.size() == 1);
        table.load(*need);
        result = get_row(table.index(), entity.key.view());
      }
      REQUIRE(std::holds_alternative<PinnedRow>(result));
      REQUIRE(std::get<PinnedRow>(result).row.timestamp() == entity.timestamp);
    }
  }
}

TEST_CASE("a page requests no part that it cannot need") {
  const Rows rows = numbered_rows(100);
  UnloadedTable table(rows, 10);
  struct Case {
    const char* filter;
    std::uint32_t top;
    std::size_t parts;
  };
  for (const Case& one : {
           Case{"PartitionKey eq 'p' and RowKey eq '0055'", 1000, 1},
           Case{"PartitionKey eq 'p' and (RowKey eq '0055' or RowKey eq '0075')", 1000, 2},
           Case{"PartitionKey eq 'p' and RowKey ge '0050' and RowKey lt '0060'", 1000, 1},
           Case{"PartitionKey eq 'p' and RowKey ge '0050' and RowKey lt '0061'", 1000, 2},
           Case{"PartitionKey eq 'x' and RowKey eq '0055'", 1000, 1},
           Case{"", 0, 0},
           Case{"", 9, 1},   // the look-ahead is in the same part
           Case{"", 10, 2},  // the look-ahead is in the next
           Case{"", 1000, 10},
           Case{"n eq 3", 1, 10},
       }) {
    CAPTURE(one.filter, one.top);
    const auto result = execute(table.index(), query_of(one.filter, one.top));
    const auto* need = std::get_if<PartsNeeded>(&result);
    REQUIRE((need == nullptr ? 0 : need->ids.size()) == one.parts);
  }
}

namespace {

// Returns all pages of a query, read by execute_as_service().
std::vector<Page> service_pages(const TableIndex& index, Query query) {
  std::vector<Page> pages;
  do {
    auto result = execute_as_service(index, query);
    REQUIRE(std::holds_alternative<Page>(result));
    pages.push_back(std::get<Page>(std::move(result)));
    query.from = pages.back().next;
  } while (query.from.has_value());
  return pages;
}

// "a: 10 read, 3 returned; b: …"
std::string describe_pages(const std::vector<Page>& pages) {
  std::string text;
  for (const Page& page : pages) {
    text += (text.empty() ? "" : "; ") + page.partition.value_or("nowhere") + ": " +
            std::to_string(page.rows_read) + " read, " + std::to_string(page.rows.size()) +
            " given";
  }
  return text;
}

}  // namespace

TEST_CASE(
    "execute_as_service returns pages of one partition, and tests an `or` of keys row by row") {
  TableIndex index;
  for (const char* partition : {"a", "b", "c"}) {
    for (std::uint64_t i = 0; i < 10; ++i) {
      const auto number = static_cast<std::int32_t>(i);
      index.put(entity_of(partition, digits(i, 1), {{"n", Value::of_int32(number)}}));
    }
  }
  const auto pages = [&](std::string_view filter, std::uint32_t top = 1000) {
    Query query;
    query.filter = filter_of(filter);
    query.top = top;
    return describe_pages(service_pages(index, query));
  };
  CHECK(pages("PartitionKey eq 'b' and RowKey eq '3'") == "b: 1 read, 1 given");
  CHECK(pages("PartitionKey eq 'b' and RowKey ge '3' and RowKey lt '5'") == "b: 2 read, 2 given");
  CHECK(pages("PartitionKey eq 'b' and (RowKey eq '3' or RowKey eq '7')") == "b: 10 read, 2 given");
  CHECK(pages("PartitionKey eq 'b' or PartitionKey eq 'c'") ==
        "a: 10 read, 0 given; b: 10 read, 10 given; c: 10 read, 10 given");
  CHECK(pages("PartitionKey gt 'a' and n lt 3") == "b: 10 read, 3 given; c: 10 read, 3 given");
  CHECK(pages("n lt 3 and PartitionKey eq 'a'", 2) == "a: 3 read, 2 given; a: 8 read, 1 given");
  CHECK(pages("n lt 3 and PartitionKey eq 'a'", 3) == "a: 10 read, 3 given");
  CHECK(pages("PartitionKey eq 'b' and RowKey eq 'x'") == "nowhere: 0 read, 0 given");
  CHECK(pages("PartitionKey eq 'x'") == "nowhere: 0 read, 0 given");
  CHECK(pages("PartitionKey gt 'b' and PartitionKey lt 'a'") == "nowhere: 0 read, 0 given");
  CHECK(pages("", 0) == "nowhere: 0 read, 0 given");
}

TEST_CASE("execute_as_service returns the same rows, in as many pages as explain counts") {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = random_rows(prng, 40);
    const TableIndex index = rows.index();
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 5; ++i) {
      Query query;
      query.filter = RandomFilter(prng, vocabulary).make(3);
      query.top = 1 + static_cast<std::uint32_t>(prng.below(5));
      if (prng.chance(3)) query.from = Continuation{random_entity_key(prng)};
      CAPTURE(to_sexpr(query.filter), query.top);
      std::string found;
      const std::vector<Page> pages = service_pages(index, query);
      for (const Page& page : pages) {
        REQUIRE(page.rows.size() <= query.top);
        for (const RowView& row : page.rows) REQUIRE(row.partition() == page.partition);
        if (!page.rows.empty()) found += (found.empty() ? "" : " ") + keys_text(page.rows);
      }
      const EntityKey from = query.from ? query.from->next : EntityKey();
      REQUIRE(found == keys_text(rows.matching(query.filter, from)));
      Explanation explanation(query);
      const auto explained = explain(index, explanation);
      REQUIRE(pages.size() == std::get<Explain>(explained).service_round_trips);
    }
  }
}
