#include "core/index/schema.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/index/row.h"
#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::int32_property;
using test::Prng;

namespace {

void shuffle(std::vector<Property>& properties, Prng& random) {
  for (std::size_t i = properties.size(); i > 1; --i) {
    std::swap(properties[i - 1], properties[random.below(i)]);
  }
}

}  // namespace

TEST_CASE("a shape is a set: the order of writing makes no new one") {
  Schema schema;
  const Shape& first = schema.intern({int32_property("b"), {"a", Value::of_string("x")}});
  const Shape& second = schema.intern({{"a", Value::of_string("y")}, int32_property("b")});
  CHECK(&first == &second);
  CHECK(schema.shape_count() == 2);  // with the generic one
  CHECK_FALSE(first.is_generic());
  CHECK(&schema.shape(first.id()) == &first);

  // Canonical order: names as first seen.
  REQUIRE(first.columns().size() == 2);
  CHECK(first.columns()[0].name == "b");
  CHECK(first.columns()[1].name == "a");
}

TEST_CASE("the type belongs to the shape") {
  Schema schema;
  const Shape& number = schema.intern({int32_property("a")});
  const Shape& text = schema.intern({{"a", Value::of_string("1")}});
  CHECK(&number != &text);
  CHECK(number.columns()[0].type == EdmType::int32);
  CHECK(text.columns()[0].type == EdmType::string);
  CHECK(schema.shape_count() == 3);
}

TEST_CASE("no properties are a shape too") {
  Schema schema;
  const Shape& none = schema.intern(std::vector<Property>{});
  CHECK_FALSE(none.is_generic());
  CHECK(none.columns().empty());
  CHECK(none.fixed_bytes() == row_layout::columns_at);
  CHECK_FALSE(none.find("a"));
  CHECK(&schema.intern(std::vector<Property>{}) == &none);
}

TEST_CASE("intern returns where the columns were") {
  Schema schema;
  schema.intern({int32_property("a"), int32_property("b"), int32_property("c")});
  const std::vector<PropertyView> views = {
      {"c", ValueView::of_int32(3)}, {"a", ValueView::of_int32(1)}, {"b", ValueView::of_int32(2)}};
  for (int round = 0; round < 3; ++round) {  // slowly, then by the hint
    const Schema::Interned interned = schema.intern(std::span<const PropertyView>(views));
    CHECK(interned.shape->id() == 1);
    REQUIRE(interned.order.size() == 3);
    CHECK(interned.order[0] == 1);
    CHECK(interned.order[1] == 2);
    CHECK(interned.order[2] == 0);
  }
}

TEST_CASE("24 counters merged in arbitrary order are one shape per subset") {
  const std::uint64_t seed = 24;
  CAPTURE(seed);
  Prng random(seed);
  Schema schema;
  std::set<std::uint32_t> subsets;
  std::vector<Property> all;
  for (int i = 0; i < 24; ++i) all.push_back(int32_property("counter" + std::to_string(i)));
  for (int row = 0; row < 60; ++row) {
    std::vector<std::uint32_t> order(24);
    for (std::uint32_t i = 0; i < 24; ++i) order[i] = i;
    for (std::size_t i = 24; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    std::uint32_t subset = 0;
    std::vector<Property> properties;
    for (const std::uint32_t i : order) {
      subset |= 1u << i;
      properties.push_back(all[i]);
      subsets.insert(subset);
      const Shape& shape = schema.intern(properties);
      std::vector<Property> again = properties;
      shuffle(again, random);
      REQUIRE(&schema.intern(again) == &shape);
      REQUIRE(shape.columns().size() == properties.size());
    }
  }
  CHECK(schema.shape_count() == subsets.size() + 1);
}

TEST_CASE("after shapes_max shapes the generic shape is used, and known shapes stay") {
  Schema schema;
  const Shape* last = nullptr;
  for (std::size_t i = 0; i < shapes_max; ++i) {
    last = &schema.intern({int32_property("p" + std::to_string(i))});
    REQUIRE_FALSE(last->is_generic());
  }
  CHECK(last->id() == shapes_max);
  CHECK(schema.shape_count() == shapes_max + 1);
  const Shape& more = schema.intern({int32_property("one more")});
  CHECK(more.is_generic());
  CHECK(more.id() == generic_shape_id);
  CHECK(more.columns().empty());
  // Known names, but no shape of that set.
  CHECK(schema.intern({int32_property("p1"), int32_property("p2")}).is_generic());
  CHECK_FALSE(schema.intern({int32_property("p1")}).is_generic());
  CHECK(schema.shape_count() == shapes_max + 1);
}

TEST_CASE("the sum of columns is bounded, and names without a shape are not kept") {
  Schema schema;
  std::vector<Property> properties;
  for (int i = 0; i < 252; ++i) properties.push_back(int32_property("wide" + std::to_string(i)));
  std::size_t shapes = 0;
  for (int round = 0;; ++round) {
    properties[0].name = "first" + std::to_string(round);
    if (schema.intern(properties).is_generic()) break;
    ++shapes;
  }
  CHECK(shapes == shape_columns_max / 252);
  const std::size_t memory = schema.memory_bytes();
  for (int round = 0; round < 100; ++round) {
    properties[0].name = "never" + std::to_string(round);
    CHECK(schema.intern(properties).is_generic());
  }
  CHECK(schema.memory_bytes() <= memory + 64 * 1024);  // scratch may grow, the dictionary does not
}

TEST_CASE("the generic shape orders names by bytes") {
  Schema schema;
  for (std::size_t i = 0; i < shapes_max; ++i)
    schema.intern({int32_property("p" + std::to_string(i))});
  const std::vector<PropertyView> views = {
      {"b", ValueView::of_int32(3)}, {"a", ValueView::of_int32(1)}, {"B", ValueView::of_int32(2)}};
  const Schema::Interned interned = schema.intern(std::span<const PropertyView>(views));
  REQUIRE(interned.shape->is_generic());
  REQUIRE(interned.order.size() == 3);
  CHECK(interned.order[0] == 2);
  CHECK(interned.order[1] == 1);
  CHECK(interned.order[2] == 0);
}

TEST_CASE("a schema begins with all shapes of another, under the same ids, and shares them") {
  const auto base = make_ref<Schema>();
  const Shape& ab = base->intern({int32_property("b"), int32_property("a")});
  Schema one(base);
  Schema two(base);
  CHECK(&one.intern({int32_property("a"), int32_property("b")}) == &ab);
  CHECK(&one.shape(generic_shape_id) == &base->shape(generic_shape_id));

  const Shape& added = one.intern({int32_property("c"), int32_property("a")});
  const Shape& other = two.intern({int32_property("d"), int32_property("b")});
  CHECK(added.id() == 2);
  CHECK(other.id() == 2);
  CHECK(added.columns()[0].name == "a");
  CHECK(added.columns()[1].name == "c");
  CHECK(other.columns()[0].name == "b");
  CHECK(&added.schema() == &one);
  CHECK(&ab.schema() == base.get());
  CHECK(base->shape_count() == 2);
  CHECK(one.shape_count() == 3);
  CHECK(one.memory_bytes() > base->memory_bytes());
}

TEST_CASE("whether a set of properties is known, below the limit and at the limit") {
  const auto base = make_ref<Schema>();
  base->intern({int32_property("a"), int32_property("b")});
  Schema schema(base);
  const auto interns_without_growth = [](Schema& in, std::vector<std::string> names) {
    std::vector<PropertyView> views;
    for (const std::string& name : names) views.push_back({name, ValueView::of_int32(1)});
    return in.interns_without_growth(views);
  };
  CHECK(interns_without_growth(schema, {"b", "a"}));
  CHECK_FALSE(interns_without_growth(schema, {"a"}));       // no shape of that set
  CHECK_FALSE(interns_without_growth(schema, {"a", "c"}));  // nor the name
  schema.intern({int32_property("a"), int32_property("c")});
  CHECK(interns_without_growth(schema, {"c", "a"}));
  CHECK_FALSE(interns_without_growth(*base, {"c", "a"}));
  for (std::size_t i = 0; schema.shape_count() <= shapes_max; ++i) {
    schema.intern({int32_property("p" + std::to_string(i))});
  }
  CHECK(interns_without_growth(schema, {"never seen"}));  // a generic row adds nothing
}

TEST_CASE("schemas derived from schemas find all their shapes, and are freed one by one") {
  Ref<Schema> schema = make_ref<Schema>();
  constexpr std::uint32_t layers = 2'000;
  for (std::uint32_t i = 0; i < layers; ++i) {
    schema = make_ref<Schema>(schema);
    schema->intern({int32_property("p" + std::to_string(i)), int32_property("common")});
  }
  REQUIRE(schema->shape_count() == layers + 1);
  for (std::uint32_t i = 0; i < layers; i += 37) {
    CAPTURE(i);
    const Shape& shape =
        schema->intern({int32_property("common"), int32_property("p" + std::to_string(i))});
    REQUIRE(shape.id() == i + 1);
    REQUIRE(shape.columns()[0].name == (i == 0 ? "p0" : "common"));
  }
  CHECK(schema->shape_count() == layers + 1);
  schema = nullptr;
}

}  // namespace entitable
