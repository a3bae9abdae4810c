#include "core/index/row.h"

#include <cmath>
#include <limits>

#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::sorted;

namespace {

// A packed row that owns its bytes.
struct Packed {
  Packed(Schema& schema, const Entity& entity) : partition(entity.key.partition) {
    for (const Property& property : entity.properties) {
      views.push_back({property.name, property.value.view()});
    }
    const Schema::Interned interned = schema.intern(std::span<const PropertyView>(views));
    shape = interned.shape;
    pack_row(interned, entity.key.row, entity.timestamp, views, bytes);
    base_at = entity.key.row.size();
  }
  RowView view() const { return RowView(bytes.data() + base_at, *shape, partition); }

  std::vector<PropertyView> views;
  std::string partition;
  std::string bytes;
  std::size_t base_at = 0;
  const Shape* shape = nullptr;
};

std::vector<Property> one_of_each() {
  Guid guid{};
  for (std::size_t i = 0; i < guid.size(); ++i) guid[i] = static_cast<std::uint8_t>(0xF0 + i);
  return {{"string", Value::of_string("text \xF0\x9F\x98\x80")},
          {"empty", Value::of_string("")},
          {"binary", Value::of_binary(std::string_view("\0\xFF\x01", 3))},
          {"nothing", Value::of_binary("")},
          {"true", Value::of_boolean(true)},
          {"false", Value::of_boolean(false)},
          {"date", Value::of_date_time(637'000'000'000'000'001)},
          {"double", Value::of_double(-0.0)},
          {"nan", Value::of_double(std::numeric_limits<double>::quiet_NaN())},
          {"guid", Value::of_guid(guid)},
          {"int32", Value::of_int32(std::numeric_limits<std::int32_t>::min())},
          {"int64", Value::of_int64(std::numeric_limits<std::int64_t>::min())},
          {"last", Value::of_string("z")}};
}

// Fills the schema up to its limit. From then on, new sets of properties get the generic shape.
void fill_up(Schema& schema) {
  for (std::size_t i = 0; i < shapes_max; ++i) {
    schema.intern({{"filler" + std::to_string(i), Value::of_int32(1)}});
  }
}

void check_round_trip(Schema& schema, bool generic) {
  const Entity entity = test::entity("part", "row key", 42, one_of_each());
  const Packed packed(schema, entity);
  const RowView row = packed.view();
  CHECK(row.shape().is_generic() == generic);
  CHECK(row.partition() == "part");
  CHECK(row.row_key() == "row key");
  CHECK(row.timestamp() == 42);
  CHECK(row.packed_bytes() == packed.bytes.size());
  CHECK(row_layout::packed(packed.bytes.data() + packed.base_at) == packed.bytes);
  for (const Property& property : entity.properties) {
    CAPTURE(property.name);
    REQUIRE(row.find(property.name).has_value());
    CHECK(*row.find(property.name) == property.value.view());
  }
  CHECK_FALSE(row.find("missing"));
  CHECK_FALSE(row.find(""));
  CHECK_FALSE(row.find("PartitionKey"));
  CHECK(sorted(row.materialize()) == sorted(entity));
  std::string copy(row.packed_bytes(), '\0');
  CHECK(sorted(row.copy_to(copy.data()).materialize()) == sorted(entity));
}

}  // namespace

TEST_CASE("the bytes of a row are those drawn in row.h") {
  Schema schema;
  const Packed packed(schema, test::entity("p", "r1", 0x0102030405060708,
                                           {{"a", Value::of_int32(7)},
                                            {"b", Value::of_string("xy")},
                                            {"c", Value::of_string("z")}}));
  const std::string expected(
      "r1"
      "\x08\x07\x06\x05\x04\x03\x02\x01"
      "\x01\x00"
      "\x02\x00"
      "\x1F\x00\x00\x00"
      "\x1D\x00\x00\x00"
      "\x1C\x00\x00\x00"
      "\x07\x00\x00\x00"
      "z"
      "xy",
      33);
  CHECK(packed.bytes == expected);
}

TEST_CASE("every type survives packing") {
  Schema schema;
  check_round_trip(schema, false);
}

TEST_CASE("every type survives packing under the generic shape") {
  Schema schema;
  fill_up(schema);
  check_round_trip(schema, true);
}

TEST_CASE("columns are read by position, by column and by slot") {
  Schema schema;
  const Packed packed(schema, test::entity("p", "r", 1, one_of_each()));
  const RowView row = packed.view();
  for (std::uint32_t i = 0; i < row.shape().columns().size(); ++i) {
    CHECK(row.value(i) == *row.find(row.shape().columns()[i].name));
    CHECK(row.value(row.shape().columns()[i]) == row.value(i));
  }
  const auto slot = [&row](std::string_view name) {
    return row.shape().columns()[*row.shape().find(name)].slot;
  };
  CHECK(row.fixed_value<std::int32_t>(slot("int32")) == std::numeric_limits<std::int32_t>::min());
  CHECK(row.fixed_value<std::int64_t>(slot("int64")) == std::numeric_limits<std::int64_t>::min());
  CHECK(row.fixed_value<std::int64_t>(slot("date")) == 637'000'000'000'000'001);
  CHECK(std::signbit(row.fixed_value<double>(slot("double"))));
  CHECK(row.fixed_value<std::uint8_t>(slot("true")) == 1);
  CHECK(row.fixed_value<std::uint8_t>(slot("false")) == 0);
  CHECK(row.text(slot("last")) == "z");
  CHECK(row.text(slot("empty")).empty());
  CHECK(row.guid(slot("guid")) == row.find("guid")->guid_bytes());
}

TEST_CASE("properties are visited in canonical order, whatever the order of writing") {
  Schema schema;
  schema.intern({{"z", Value::of_int32(1)}, {"m", Value::of_int32(1)}, {"a", Value::of_int32(1)}});
  const auto names = [](const RowView& row) {
    std::string all;
    row.for_each_property([&all](std::string_view name, const ValueView&) { all += name; });
    return all;
  };
  const Entity entity = test::entity(
      "p", "r", 1,
      {{"a", Value::of_int32(1)}, {"m", Value::of_int32(2)}, {"z", Value::of_int32(3)}});
  CHECK(names(Packed(schema, entity).view()) == "zma");

  Schema full;
  fill_up(full);
  CHECK(names(Packed(full, entity).view()) == "amz");
}

TEST_CASE("a row may have no properties and an empty key") {
  for (const bool generic : {false, true}) {
    CAPTURE(generic);
    Schema schema;
    if (generic) fill_up(schema);
    const Packed packed(schema, test::entity("", "", 9));
    CHECK(packed.view().shape().is_generic() == generic);
    CHECK(packed.view().row_key().empty());
    CHECK(packed.view().timestamp() == 9);
    CHECK(packed.view().materialize() == test::entity("", "", 9));
    CHECK(packed.bytes.size() == (generic ? 22u : 16u));
  }
}

TEST_CASE("the widest and the largest row survive") {
  Schema schema;
  Entity wide = test::entity("p", std::string(512 * 3, '\xE2'), 1);
  wide.key.row.clear();
  for (int i = 0; i < 512; ++i) wide.key.row += "\xE2\x82\xAC";  // 512 units, 1536 bytes
  for (int i = 0; i < 252; ++i) {
    wide.properties.push_back({"guid" + std::to_string(i), Value::of_guid(Guid{})});
  }
  CHECK(sorted(Packed(schema, wide).view().materialize()) == sorted(wide));

  Entity large = test::entity("p", "r", 1);
  for (int i = 0; i < 15; ++i) {
    large.properties.push_back({"p" + std::to_string(i),
                                Value::of_binary(std::string(65'536, static_cast<char>('a' + i)))});
  }
  CHECK(sorted(Packed(schema, large).view().materialize()) == sorted(large));
  fill_up(schema);
  large.properties[0].name = "unheard of";
  const Packed generic(schema, large);
  CHECK(generic.view().shape().is_generic());
  CHECK(sorted(generic.view().materialize()) == sorted(large));
}

}  // namespace entitable
