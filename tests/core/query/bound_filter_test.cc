#include "core/query/bound_filter.h"

#include <limits>
#include <string>
#include <vector>

#include "core/index/cursor.h"
#include "tests/core/query/query_testing.h"
#include "tests/support/random_filter.h"

using namespace entitable;
using namespace entitable::test;

namespace {

const std::vector<CompareOp> all_ops = {CompareOp::eq, CompareOp::ne, CompareOp::gt,
                                        CompareOp::ge, CompareOp::lt, CompareOp::le};

Filter comparison(std::string property, CompareOp op, Value literal) {
  FilterNode node{FilterKind::comparison};
  node.op = op;
  node.property = std::move(property);
  node.literal = std::move(literal);
  Filter filter;
  filter.nodes.push_back(std::move(node));
  filter.comparisons = 1;
  return filter;
}

// Values of every type at which the results of comparisons change.
std::vector<Value> edge_values() {
  using numbers = std::numeric_limits<double>;
  std::vector<Value> values;
  for (const char* text : {"", "a", "ab", "\xEF\xBD\x9E", "\xF0\x9F\x98\x80", "3", "true"}) {
    values.push_back(Value::of_string(text));
    values.push_back(Value::of_binary(text));
  }
  values.push_back(Value::of_binary(std::string_view("\xFF\x00", 2)));
  for (const bool boolean : {false, true}) values.push_back(Value::of_boolean(boolean));
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{3}, std::int64_t{-1}, std::int64_t{9007199254740993},
        std::numeric_limits<std::int64_t>::min()}) {
    values.push_back(Value::of_int64(number));
    values.push_back(Value::of_double(static_cast<double>(number)));
    values.push_back(Value::of_date_time(ticks_at_unix_epoch + number % 10));
  }
  for (const int number : {0, 3, -1, std::numeric_limits<int>::max()}) {
    values.push_back(Value::of_int32(number));
  }
  for (const double number :
       {-0.0, 2.5, numbers::quiet_NaN(), numbers::infinity(), -numbers::infinity()}) {
    values.push_back(Value::of_double(number));
  }
  values.push_back(Value::of_guid(Guid{}));
  Guid guid{};
  guid[0] = 0xFF;
  values.push_back(Value::of_guid(guid));
  return values;
}

bool bound_matches(const Filter& filter, const RowView& row) {
  const BoundFilter bound(filter, {}, row.shape());
  const BoundFilter by_name(filter, {});
  const bool result = bound.matches(row);
  REQUIRE(by_name.matches(row) == result);
  if (bound.accepts_all()) REQUIRE(result);
  if (bound.rejects_all()) REQUIRE_FALSE(result);
  return result;
}

// A table whose schema is full: further rows have the generic shape.
TableIndex full_table() {
  TableIndex index;
  for (std::size_t i = 0; i < shapes_max; ++i) {
    index.put(entity_of("filler", digits(i), {{"f" + digits(i), Value::of_boolean(true)}}));
  }
  return index;
}

RowView row_of(const TableIndex& index, const EntityKey& key) {
  return *index.find(key.view()).row;
}

}  // namespace

TEST_CASE("a bound filter agrees with the reference for all pairs of types") {
  const std::vector<Value> values = edge_values();
  for (const Value& value : values) {
    Entity entity = entity_of("p", "r", {{"before", Value::of_string("x")}, {"v", value}});
    TableIndex index;
    index.put(entity);
    const RowView row = row_of(index, entity.key);
    for (const Value& literal : values) {
      for (const CompareOp op : all_ops) {
        const Filter filter = comparison("v", op, literal);
        CAPTURE(value_text(value.view()), edm_name(value.type()), to_sexpr(filter));
        REQUIRE(bound_matches(filter, row) == matches_unbound(filter, entity));
      }
    }
  }
}

TEST_CASE("system properties are bound too") {
  const std::vector<Value> values = edge_values();
  for (const char* key : {"", "a", "\xEF\xBD\x9E", "3"}) {
    const Entity entity = entity_of(key, key, {}, ticks_at_unix_epoch + 3);
    TableIndex index;
    index.put(entity);
    const RowView row = row_of(index, entity.key);
    for (const char* property : {"PartitionKey", "RowKey", "Timestamp"}) {
      for (const Value& literal : values) {
        for (const CompareOp op : all_ops) {
          const Filter filter = comparison(property, op, literal);
          CAPTURE(key, to_sexpr(filter));
          REQUIRE(bound_matches(filter, row) == matches_unbound(filter, entity));
        }
      }
    }
  }
}

TEST_CASE("flags hold for Boolean true only") {
  const Entity entity = entity_of("p", "r",
                                  {{"yes", Value::of_boolean(true)},
                                   {"no", Value::of_boolean(false)},
                                   {"one", Value::of_int32(1)},
                                   {"text", Value::of_string("true")}});
  TableIndex index;
  index.put(entity);
  const RowView row = row_of(index, entity.key);
  CHECK(bound_matches(filter_of("yes"), row));
  for (const char* text : {"no", "one", "text", "absent", "PartitionKey", "RowKey", "Timestamp"}) {
    CAPTURE(text);
    CHECK_FALSE(bound_matches(filter_of(text), row));
    CHECK(bound_matches(filter_of("not " + std::string(text)), row));
  }
}

TEST_CASE("conditions that the shape decides are not tested") {
  TableIndex index;
  index.put(entity_of("p", "r", {{"Age", Value::of_int32(30)}}));
  const RowView row = row_of(index, EntityKey("p", "r"));
  const Shape& shape = row.shape();
  struct Case {
    const char* text;
    bool always;
    bool never;
    std::size_t tests;
  };
  for (const Case& one : {
           Case{"", true, false, 0},
           Case{"true", true, false, 0},
           Case{"Name eq 'x'", false, true, 0},               // missing
           Case{"Name ne 'x'", false, true, 0},               //
           Case{"not (Name eq 'x')", true, false, 0},         //
           Case{"Age eq '30'", false, true, 0},               // another type
           Case{"Age lt '30'", true, false, 0},               //
           Case{"Age gt 3 and Name eq 'x'", false, true, 1},  // only the second one is decided
           Case{"Age gt 3 or Name eq 'x'", false, false, 1},
           Case{"Age gt 3 or not (Name eq 'x')", true, false, 1},
           Case{"Name eq 'x' or (City eq 'y' or Zip eq 3)", false, true, 0},
           Case{"Age gt 3 and Age lt 9", false, false, 2},
           Case{"PartitionKey eq 3", false, true, 0},
           Case{"Timestamp ne 'x'", true, false, 0},
       }) {
    CAPTURE(one.text);
    const Filter filter = filter_of(one.text);
    const BoundFilter bound(filter, {}, shape);
    CHECK(bound.accepts_all() == one.always);
    CHECK(bound.rejects_all() == one.never);
    CHECK(bound.test_count() == one.tests);
  }
}

TEST_CASE("implied nodes are not tested") {
  TableIndex index;
  index.put(entity_of("p", "r", {{"Age", Value::of_int32(30)}}));
  const RowView row = row_of(index, EntityKey("p", "r"));
  const Filter filter = filter_of("PartitionKey eq 'other' and Age gt 3");
  std::vector<char> implied(filter.nodes.size());
  CHECK_FALSE(BoundFilter(filter, implied, row.shape()).matches(row));
  implied[0] = true;
  const BoundFilter bound(filter, implied, row.shape());
  CHECK(bound.matches(row));
  CHECK(bound.test_count() == 1);
  implied.back() = true;
  CHECK(BoundFilter(filter, implied, row.shape()).accepts_all());
}

TEST_CASE("random filters agree with the reference on rows of all shapes") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = random_rows(prng, 12);
    const TableIndex index = rows.index();
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 10; ++i) {
      const Filter filter = RandomFilter(prng, vocabulary).make(4);
      CAPTURE(to_sexpr(filter));
      for (const Entity& entity : rows.all()) {
        REQUIRE(bound_matches(filter, row_of(index, entity.key)) ==
                matches_unbound(filter, entity));
      }
    }
  }
}

namespace {

// Texts with the same digest, of which only two are equal, and other texts.
std::string random_text(Prng& prng) {
  std::string text(prng.below(4) * 20, 'x');
  if (text.size() > 20 && prng.chance(2)) text[10] = static_cast<char>('a' + prng.below(2));
  return text;
}

// Rows of one shape in a few partitions, with more properties than columns are cached.
Rows rows_of_one_shape(Prng& prng, std::size_t count) {
  Rows rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::int64_t>(prng.below(9));
    rows.put(entity_of("p" + digits(prng.below(5), 1), digits(i, 4),
                       {{"Big", Value::of_int64(number << 40)},
                        {"Bytes", Value::of_binary(random_text(prng))},
                        {"Flag", Value::of_boolean(prng.chance(2))},
                        {"Half", Value::of_double(static_cast<double>(number) / 2)},
                        {"Number", Value::of_int32(static_cast<int>(prng.below(17)))},
                        {"Text", Value::of_string(random_text(prng))}},
                       static_cast<Ticks>(i) + 1));
  }
  return rows;
}

// Trusts next() where it is sure, and tests the row where it is not.
std::size_t next_match(const BoundFilter& bound, const RowBatch& run, std::size_t from) {
  for (; from < run.size(); ++from) {
    const BoundFilter::Candidate next = bound.next_candidate(run, from);
    from = next.at;
    if (from == run.size() || next.sure || bound.matches(run[from])) return from;
  }
  return from;
}

}  // namespace

TEST_CASE("next() skips to the next matching row of a batch") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = rows_of_one_shape(prng, 200);
    const TableIndex index = rows.index();
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 10; ++i) {
      const Filter filter = RandomFilter(prng, vocabulary).make(3);
      CAPTURE(to_sexpr(filter));
      Cursor cursor(index, {});
      while (cursor.valid()) {
        RowBatch run = cursor.batch();
        REQUIRE(run.shape() != nullptr);
        const std::size_t from = prng.below(run.size());
        const BoundFilter bound(filter, {}, *run.shape());
        for (std::uint64_t scans = prng.below(3); scans > 0; --scans) bound.prepare_batch(run);
        std::size_t expected = from;
        const auto is_match = [&](const RowView& row) {
          return matches_unbound(filter, row.materialize());
        };
        while (expected < run.size() && !is_match(run[expected])) ++expected;
        REQUIRE(next_match(bound, run, from) == expected);
        cursor.skip(run.size());
      }
    }
  }
}

TEST_CASE("cached columns are tested like rows, for all pairs of types") {
  const std::vector<Value> values = edge_values();
  for (const Value& value : values) {
    TableIndex index;
    for (std::size_t i = 0; i < 3; ++i) index.put(entity_of("p", digits(i), {{"v", value}}));
    RowBatch run = Cursor(index, {}).batch();
    for (const Value& literal : values) {
      for (const CompareOp op : all_ops) {
        Filter filter = comparison("v", op, literal);
        CAPTURE(value_text(value.view()), edm_name(value.type()), to_sexpr(filter));
        const BoundFilter bound(filter, {}, *run.shape());
        bound.prepare_batch(run);
        bound.prepare_batch(run);
        REQUIRE(next_match(bound, run, 1) == (bound.matches(run[1]) ? 1 : 3));
      }
    }
  }
}

TEST_CASE("rows of the generic shape are tested by property name") {
  TableIndex index = full_table();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    Entity entity{EntityKey("generic", "r"), random_ticks(prng), random_properties(prng, 6)};
    entity.properties.push_back({"always", Value::of_boolean(true)});  // so that no shape fits
    index.put(entity);
    const RowView row = row_of(index, entity.key);
    REQUIRE(row.shape().is_generic());
    const FilterVocabulary vocabulary = vocabulary_of({entity});
    for (int i = 0; i < 30; ++i) {
      const Filter filter = RandomFilter(prng, vocabulary).make(3);
      CAPTURE(to_sexpr(filter));
      REQUIRE(bound_matches(filter, row) == matches_unbound(filter, entity));
    }
  }
}

TEST_CASE("a shape is bound when its first row is tested") {
  TableIndex index;
  index.put(entity_of("p", "1", {{"Age", Value::of_int32(30)}}));
  index.put(entity_of("p", "2", {{"Age", Value::of_double(30)}}));
  const Filter filter = filter_of("Age gt 3");
  const std::vector<char> implied;
  BoundFilterCache filters(filter, implied);
  CHECK(filters.bound_shapes().empty());
  for (const char* row_key : {"1", "2", "1"}) {
    const RowView row = row_of(index, EntityKey("p", row_key));
    CHECK(filters.filter_for(row.shape()).matches(row));
  }
  CHECK(filters.bound_shapes().size() == 2);
  CHECK(filters.shapes_complete());
}

TEST_CASE("the memory of bound filters is limited, and results beyond the limit are the same") {
  const TableIndex index = full_table();
  std::string text = "f000000";
  for (std::size_t i = 0; i < 60; ++i) text += " or PartitionKey eq '" + digits(i) + "'";
  text += " or f000700";
  const Filter filter = filter_of(text);
  const std::vector<char> implied;
  BoundFilterCache filters(filter, implied);
  std::size_t matching = 0;
  for (Cursor cursor(index, {}); cursor.valid(); cursor.next()) {
    matching += filters.filter_for(cursor.row().shape()).matches(cursor.row());
  }
  CHECK(matching == 2);
  CHECK(filters.bound_shapes().size() > 500);
  CHECK(filters.bound_shapes().size() < shapes_max);
  CHECK_FALSE(filters.shapes_complete());
}

TEST_CASE("few bound filters give the same results") {
  const TableIndex index = full_table();
  const Filter filter = filter_of("f000000 or f000700");
  const std::vector<char> implied;
  BoundFilterCache filters(filter, implied, 10);
  std::size_t matching = 0;
  for (Cursor cursor(index, {}); cursor.valid(); cursor.next())
    matching += filters.filter_for(cursor.row().shape()).matches(cursor.row());
  CHECK(matching == 2);
  CHECK(filters.bound_shapes().size() <= 10);
}

TEST_CASE("the deepest and the longest filter are bound without recursion") {
  const Entity entity = entity_of("p", "r", {{"a", Value::of_int32(1)}});
  TableIndex index;
  index.put(entity);
  const RowView row = row_of(index, entity.key);
  // Deeper than the text of any filter can nest: a right-leaning chain of 100,000.
  Filter deep;
  for (int i = 0; i <= 100'000; ++i) {
    FilterNode leaf{FilterKind::comparison};
    leaf.property = "a";
    leaf.op = CompareOp::eq;
    leaf.literal = Value::of_int32(1);
    deep.nodes.push_back(leaf);
  }
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const auto above = static_cast<std::uint32_t>(deep.nodes.size() - 1);
    const FilterKind kind = i % 2 == 0 ? FilterKind::all_of : FilterKind::any_of;
    deep.nodes.push_back({kind, 99'999 - i, above});
  }
  CHECK(BoundFilter(deep, {}, row.shape()).matches(row) == matches_unbound(deep, entity));
}
