#include "core/index/intern_cache.h"

#include <set>
#include <string>
#include <utility>

#include "core/index/schema.h"
#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::int32_property;

TEST_CASE("a schema knows the properties of recent rows, in the order in which they were written") {
  Schema schema;
  const std::vector<Property> row = {int32_property("a"), {"b", Value::of_string("x")}};
  CHECK(schema.shape_hint_of(property_views(row)) == 0);
  schema.intern(row);
  CHECK(schema.shape_hint_of(property_views(row)) != 0);
  CHECK(schema.shape_hint_of(
            property_views({int32_property("a"), {"b", Value::of_string("longer")}})) != 0);
  CHECK(schema.shape_hint_of(property_views({int32_property("a"), int32_property("b")})) == 0);
  CHECK(schema.shape_hint_of(property_views({int32_property("a"), {"c", Value::of_string("x")}})) ==
        0);
  CHECK(schema.shape_hint_of(property_views({int32_property("a")})) == 0);
  CHECK(schema.shape_hint_of({}) == 0);
}

TEST_CASE("a recently seen property list is interned without another lookup") {
  Ref<Schema> schema = make_ref<Schema>();
  // Two whose names are as long, so that the one makes it forget the other.
  const std::vector<Property> one = {int32_property("bb"), int32_property("a")};
  const std::vector<Property> other = {int32_property("c"), int32_property("dd")};
  const auto check = [&one](Schema& asked, ShapeHint shape_hint) {
    const std::vector<PropertyView> properties = property_views(one);
    const Schema::Interned interned = asked.intern(properties, shape_hint);
    CHECK(interned.shape == asked.intern(properties).shape);
    REQUIRE(interned.order.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(properties[interned.order[i]].name == interned.shape->columns()[i].name);
    }
  };
  schema->intern(one);
  const ShapeHint shape_hint = schema->shape_hint_of(property_views(one));
  REQUIRE(shape_hint != 0);
  check(*schema, shape_hint);
  schema->intern(other);
  CHECK(schema->shape_hint_of(property_views(one)) == 0);
  check(*schema, shape_hint);
  CHECK(schema->shape_hint_of(property_views(one)) != shape_hint);

  const ShapeHint in_base = schema->shape_hint_of(property_views(one));
  const Ref<Schema> later = make_ref<Schema>(schema);  // which remembers nothing yet
  check(*later, in_base);
  later->intern(other);
  CHECK(later->shape_hint_of(property_views(other)) != in_base);
  check(*later, in_base);
}

TEST_CASE("a definition cached with a shape hint is dropped with the hint") {
  Ref<Schema> schema = make_ref<Schema>();
  const std::vector<Property> one = {int32_property("bb"), int32_property("a")};
  const std::vector<Property> other = {int32_property("c"), int32_property("dd")};
  CHECK(schema->cached_definition(0) == nullptr);
  CHECK(schema->cached_definition(1) == nullptr);
  schema->intern(one);
  const ShapeHint shape_hint = schema->shape_hint_of(property_views(one));
  REQUIRE(schema->cached_definition(shape_hint) != nullptr);
  CHECK(schema->cached_definition(shape_hint)->empty());
  *schema->cached_definition(shape_hint) = "of one";
  schema->intern(one);
  CHECK(*schema->cached_definition(shape_hint) == "of one");
  CHECK(make_ref<Schema>(schema)->cached_definition(shape_hint) == nullptr);
  schema->intern(other);
  CHECK(schema->cached_definition(shape_hint) == nullptr);
  CHECK(schema->cached_definition(schema->shape_hint_of(property_views(other)))->empty());
}

TEST_CASE("adjacent names are distinguished like any others") {
  Schema schema;
  const std::string text = "abcabdabcde";
  const auto named = [&](std::vector<std::pair<std::size_t, std::size_t>> places) {
    std::vector<PropertyView> properties;
    for (const auto& [at, size] : places) {
      properties.push_back({std::string_view(text).substr(at, size), ValueView::of_int32(1)});
    }
    return properties;
  };
  schema.intern(named({{0, 1}, {1, 2}}));
  const ShapeHint shape_hint = schema.shape_hint_of(named({{0, 1}, {1, 2}}));
  REQUIRE(shape_hint != 0);
  CHECK(schema.shape_hint_of(named({{6, 1}, {7, 2}})) == shape_hint);  // elsewhere
  CHECK(schema.shape_hint_of(named({{0, 1}, {7, 2}})) == shape_hint);  // apart
  CHECK(schema.shape_hint_of(named({{0, 2}, {2, 1}})) == 0);           // "ab", "c"
  CHECK(schema.shape_hint_of(named({{3, 1}, {4, 2}})) == 0);           // "a", "bd"
  CHECK(schema.shape_hint_of(named({{0, 1}, {4, 2}})) == 0);
  CHECK(schema.shape_hint_of(named({{0, 1}})) == 0);
  CHECK(schema.shape_hint_of(named({{1, 2}, {0, 1}})) == 0);  // in another order
}

TEST_CASE("hints never confuse similar sets") {
  // Same number of properties and same length of names, so the same hint is tried.
  Schema schema;
  std::set<const Shape*> shapes;
  for (int round = 0; round < 2; ++round) {
    shapes.insert(&schema.intern({int32_property("ab"), int32_property("cd")}));
    shapes.insert(&schema.intern({int32_property("ab"), int32_property("ce")}));
    shapes.insert(&schema.intern({int32_property("abc"), int32_property("d")}));
    shapes.insert(&schema.intern({int32_property("ab"), {"cd", Value::of_int64(1)}}));
    shapes.insert(&schema.intern({int32_property("cd"), int32_property("ab")}));
  }
  CHECK(shapes.size() == 4);
}

}  // namespace entitable
