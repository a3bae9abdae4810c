#include "core/model/entity.h"

#include <limits>
#include <map>

#include "core/base/utf8.h"
#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;
using namespace std::string_literals;

namespace {

std::vector<Property> numbered_properties(std::size_t count) {
  std::vector<Property> properties;
  for (std::size_t i = 0; i < count; ++i) {
    properties.push_back({"p" + std::to_string(i), Value::of_int32(1)});
  }
  return properties;
}

Error error_of(const Result<void>& result) {
  REQUIRE_FALSE(result.ok());
  return result.error();
}

// Returns an entity of exactly `bytes` bytes, whose values are within their own limits.
Entity entity_of_size(std::size_t bytes) {
  Entity entity;
  entity.key = EntityKey("p", "r");
  std::size_t left = bytes - entity_size(entity);
  for (char name = 'a'; left > 0; ++name) {
    constexpr std::size_t overhead = 8 + 2 * 1 + 4;
    std::size_t size = std::min(left - overhead, limits::binary_bytes_max);
    if (left - overhead - size > 0 && left - overhead - size < overhead) size -= overhead;
    entity.properties.push_back({std::string(1, name), Value::of_binary(std::string(size, 'x'))});
    left -= overhead + size;
  }
  REQUIRE(entity_size(entity) == bytes);
  return entity;
}

std::vector<Property> merged_of(const std::vector<Property>& base,
                                const std::vector<Property>& update) {
  std::vector<PropertyView> merged = property_views(base);
  merge_into(merged, property_views(update));
  return owned_properties(merged);
}

}  // namespace

TEST_CASE("the size of each type of value") {
  CHECK(value_size(ValueView::of_string("")) == 4);
  CHECK(value_size(ValueView::of_string("abc")) == 10);
  CHECK(value_size(ValueView::of_string("\xC3\xA4")) == 6);
  CHECK(value_size(ValueView::of_string("\xF0\x9F\x98\x80")) == 8);
  CHECK(value_size(ValueView::of_string("\xED\xA0\x80")) == 6);
  CHECK(value_size(ValueView::of_binary("")) == 4);
  CHECK(value_size(ValueView::of_binary("abc")) == 7);
  CHECK(value_size(ValueView::of_date_time(0)) == 8);
  CHECK(value_size(ValueView::of_int64(0)) == 8);
  CHECK(value_size(ValueView::of_double(0)) == 8);
  CHECK(value_size(Value::of_guid(Guid{}).view()) == 16);
  CHECK(value_size(ValueView::of_int32(0)) == 4);
  CHECK(value_size(ValueView::of_boolean(true)) == 1);
}

TEST_CASE("the size of an entity follows the service's formula") {
  Entity entity;
  CHECK(entity_size(entity) == 4);
  entity.key = EntityKey("ab", "\xF0\x9F\x98\x80");
  CHECK(entity_size(entity) == 4 + 2 * (2 + 2));
  entity.timestamp = 99;  // system properties other than the keys cost nothing
  CHECK(entity_size(entity) == 12);
  entity.properties.push_back({"n", Value::of_int32(1)});
  CHECK(entity_size(entity) == 12 + 8 + 2 + 4);
  entity.properties.push_back({"\xC3\xA4\xC3\xA4", Value::of_string("abc")});
  CHECK(entity_size(entity) == 26 + 8 + 4 + 10);
}

TEST_CASE("an entity has at most 1 MiB") {
  CHECK(check_entity(entity_of_size(limits::entity_bytes_max - 1)).ok());
  CHECK(check_entity(entity_of_size(limits::entity_bytes_max)).ok());
  CHECK(error_of(check_entity(entity_of_size(limits::entity_bytes_max + 1))) ==
        Error(ErrorCode::entity_too_large));
}

TEST_CASE("an entity has at most 252 custom properties") {
  Entity entity;
  entity.properties = numbered_properties(252);
  CHECK(check_properties(entity.properties).ok());
  CHECK(check_entity(entity).ok());
  entity.properties = numbered_properties(253);
  CHECK(error_of(check_properties(entity.properties)) == Error(ErrorCode::too_many_properties));
  CHECK(error_of(check_entity(entity)) == Error(ErrorCode::too_many_properties));
}

TEST_CASE("no property may occur twice, but names are case-sensitive") {
  const auto one = Value::of_int32(1);
  CHECK(error_of(check_properties({{"a", one}, {"b", one}, {"a", Value::of_string("x")}})) ==
        Error(ErrorCode::duplicate_properties));
  CHECK(check_properties({{"ETag", one}, {"etag", one}, {"Etag", one}}).ok());
  std::vector<Property> many = numbered_properties(252);
  many[251].name = "p0";
  CHECK(error_of(check_properties(many)) == Error(ErrorCode::duplicate_properties));
}

TEST_CASE("system properties and invalid names are no custom properties") {
  const auto one = Value::of_int32(1);
  for (const char* name : {"PartitionKey", "RowKey", "Timestamp", "", "a b", "1a", "odata.etag"}) {
    CAPTURE(name);
    CHECK(error_of(check_properties({{"a", one}, {name, one}})) ==
          Error(ErrorCode::property_name_invalid));
  }
  CHECK(check_properties({{"partitionKey", one}, {"timestamp", one}}).ok());
  CHECK(error_of(check_properties({{std::string(256, 'a'), one}})) ==
        Error(ErrorCode::property_name_too_long));
}

TEST_CASE("values are checked, and the error names the property") {
  CHECK(error_of(check_properties({{"a", Value::of_string(std::string(32'769, 'x'))}})) ==
        Error(ErrorCode::property_value_too_large));
  CHECK(error_of(check_properties({{"a", Value::of_binary(std::string(65'537, 'x'))}})) ==
        Error(ErrorCode::property_value_too_large));
  CHECK(error_of(check_properties({{"born", Value::of_date_time(0)}})) ==
        Error(ErrorCode::out_of_range_input,
              "The 'born' parameter of value '01/01/0001 00:00:00' is out of range."));
}

TEST_CASE(
    "errors have an order: names, duplicates, count, values; keys before properties before size") {
  const auto one = Value::of_int32(1);
  const auto huge = Value::of_binary(std::string(65'537, 'x'));
  CHECK(error_of(check_properties({{"a", huge}, {"a", one}, {"b c", one}})) ==
        Error(ErrorCode::property_name_invalid));
  CHECK(error_of(check_properties({{"a", huge}, {"a", one}})) ==
        Error(ErrorCode::duplicate_properties));
  std::vector<Property> many = numbered_properties(253);
  many[0].value = huge;
  CHECK(error_of(check_properties(many)) == Error(ErrorCode::too_many_properties));
  many[1].name = "p0";
  CHECK(error_of(check_properties(many)) == Error(ErrorCode::duplicate_properties));

  Entity entity = entity_of_size(limits::entity_bytes_max + 1);
  entity.properties[0].name = "b";
  CHECK(error_of(check_entity(entity)) == Error(ErrorCode::duplicate_properties));
  entity.key.row = "#";
  CHECK(
      error_of(check_entity(entity)) ==
      Error(ErrorCode::out_of_range_input, "The 'RowKey' parameter of value '#' is out of range."));
  entity.key.partition = std::string(513, 'k');
  CHECK(error_of(check_entity(entity)) == Error(ErrorCode::property_value_too_large));
}

TEST_CASE("find by exact name") {
  Entity entity;
  entity.properties = {{"a", Value::of_int32(1)}, {"A", Value::of_int32(2)}};
  REQUIRE(entity.find_property("A") != nullptr);
  CHECK(entity.find_property("A")->value == Value::of_int32(2));
  CHECK(entity.find_property("b") == nullptr);
  CHECK(entity.find_property("") == nullptr);
}

TEST_CASE("merge sets what the update names and keeps the rest") {
  const std::vector<Property> base = {{"a", Value::of_int32(1)}, {"b", Value::of_int32(2)}};
  CHECK(merged_of(base, {}) == base);
  CHECK(merged_of({}, base) == base);
  CHECK(merged_of({}, {}).empty());
  const std::vector<Property> update = {{"c", Value::of_int32(3)},
                                        {"b", Value::of_string("now text")}};
  const std::vector<Property> expected = {
      {"a", Value::of_int32(1)}, {"b", Value::of_string("now text")}, {"c", Value::of_int32(3)}};
  CHECK(merged_of(base, update) == expected);
  CHECK(merged_of(base, {{"A", Value::of_int32(9)}}).size() == 3);  // case matters
}

TEST_CASE("merge of random properties agrees with a map") {
  constexpr std::uint64_t seed = 30;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 2000; ++round) {
    const std::vector<Property> base = test::random_properties(prng, 12);
    const std::vector<Property> update = test::random_properties(prng, 12);
    std::map<std::string, Value> expected;
    for (const Property& property : base) expected.insert_or_assign(property.name, property.value);
    for (const Property& property : update)
      expected.insert_or_assign(property.name, property.value);
    const std::vector<Property> merged = merged_of(base, update);
    CHECK(merged.size() == expected.size());
    for (const Property& property : merged) {
      const auto found = expected.find(property.name);
      REQUIRE(found != expected.end());
      CHECK(found->second == property.value);
    }
    CHECK(merged_of(merged, update) == merged);  // merging a second time changes nothing
  }
}

TEST_CASE("names are the same in the same order only") {
  const Value one = Value::of_int32(1);
  const auto same = [](const std::vector<Property>& a, const std::vector<Property>& b) {
    return same_names(property_views(a), property_views(b));
  };
  CHECK(same({}, {}));
  CHECK(same({{"a", one}, {"b", one}}, {{"a", Value::of_string("x")}, {"b", one}}));
  CHECK_FALSE(same({{"a", one}, {"b", one}}, {{"b", one}, {"a", one}}));
  CHECK_FALSE(same({{"a", one}}, {{"a", one}, {"b", one}}));
  CHECK_FALSE(same({{"a", one}}, {{"A", one}}));
}

TEST_CASE("columns are the same if types are, too") {
  const Value one = Value::of_int32(1);
  const auto same = [](const std::vector<Property>& a, const std::vector<Property>& b) {
    return same_names_and_types(property_views(a), property_views(b));
  };
  CHECK(same({}, {}));
  CHECK(same({{"a", one}, {"b", one}}, {{"a", Value::of_int32(2)}, {"b", one}}));
  CHECK_FALSE(same({{"a", one}}, {{"a", Value::of_int64(1)}}));
  CHECK_FALSE(same({{"a", one}, {"b", one}}, {{"b", one}, {"a", one}}));
  CHECK_FALSE(same({{"a", one}}, {{"a", one}, {"b", one}}));
}
