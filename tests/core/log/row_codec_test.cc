#include "core/log/row_codec.h"

#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/log_files.h"

using namespace entitable;

namespace {

std::string values_of(const std::vector<Property>& properties) {
  std::string out;
  append_values(property_views(properties), out);
  return out;
}

// Reads the values of a row with a given shape. read() returns the error, or "".
struct RowReader {
  explicit RowReader(const std::vector<Property>& like) {
    RowShapeNumbers numbers;
    numbers.number_of(property_views(like));
    definition = numbers.last_definition();
    ByteReader reader(definition);
    REQUIRE(shapes.read_definition(reader) == nullptr);
  }
  std::string read(std::string_view bytes, const KeyView& key = {"p", "r"}) {
    ByteReader reader(bytes);
    row.resize(shapes.shape(1).properties.size(), {{}, ValueView::of_boolean(false)});
    const char* bad = read_values(reader, shapes.shape(1), key, row);
    if (bad == nullptr) CHECK(reader.at_end());
    return bad == nullptr ? "" : bad;
  }
  std::string definition;
  ShapeDictionary shapes;
  std::vector<PropertyView> row;
};

std::string bytes_of_size(std::size_t size, char fill) {
  std::string out;
  ByteWriter(out).bytes(std::string(size, fill));
  return out;
}

std::string u64_bytes(std::int64_t value) {
  std::string out;
  ByteWriter(out).u64(static_cast<std::uint64_t>(value));
  return out;
}

}  // namespace

TEST_CASE("each type has its encoding") {
  const auto bytes = [](Value value) { return values_of({{"a", std::move(value)}}); };
  CHECK(bytes(Value::of_string("xy")) == test::bytes_from_hex("02 7879"));
  CHECK(bytes(Value::of_binary(std::string("\0\xFF", 2))) == test::bytes_from_hex("02 00ff"));
  CHECK(bytes(Value::of_boolean(true)) == test::bytes_from_hex("01"));
  CHECK(bytes(Value::of_boolean(false)) == test::bytes_from_hex("00"));
  CHECK(bytes(Value::of_date_time(0x0102030405060708)) == test::bytes_from_hex("0807060504030201"));
  CHECK(bytes(Value::of_double(1.0)) == test::bytes_from_hex("000000000000f03f"));
  CHECK(bytes(Value::of_guid(Guid{0xAB})) == test::bytes_from_hex("ab") + std::string(15, '\0'));
  CHECK(bytes(Value::of_int32(-2)) == test::bytes_from_hex("feffffff"));
  CHECK(bytes(Value::of_int64(-2)) == test::bytes_from_hex("feffffffffffffff"));
  CHECK(bytes(Value::of_string(std::string(200, 'x'))) ==
        test::bytes_from_hex("c801") + std::string(200, 'x'));
}

TEST_CASE("values are appended to existing text") {
  std::string out = "before";
  append_values(property_views({{"a", Value::of_boolean(true)}}), out);
  CHECK(out == "before\x01");
  append_values({}, out);
  CHECK(out == "before\x01");
}

TEST_CASE("random rows are read back, and no truncated text is a row") {
  constexpr std::uint64_t seed = 32;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 500; ++round) {
    const Entity entity = test::random_entity(prng);
    const std::string bytes = values_of(entity.properties);
    RowReader reader(entity.properties);
    REQUIRE(reader.read(bytes, entity.key.view()).empty());
    CHECK(owned_properties(reader.row) == entity.properties);
    for (std::size_t size = 0; size < std::min<std::size_t>(bytes.size(), 60); ++size) {
      CHECK(!reader.read(bytes.substr(0, size), entity.key.view()).empty());
    }
  }
}

TEST_CASE("a truncated row is an error") {
  for (int type = 1; type <= edm_type_last; ++type) {
    CAPTURE(type);
    RowReader reader({{"a", Value(ValueView::from_parts(static_cast<EdmType>(type), 0, {}))}});
    CHECK(reader.read("") == "it is truncated");
  }
}

TEST_CASE("strings are text of at most 32768 units") {
  RowReader reader({{"a", Value::of_string("")}});
  CHECK(reader.read(bytes_of_size(limits::string_units_max, 's')).empty());
  CHECK(reader.read(bytes_of_size(limits::string_units_max + 1, 's')) == "a String is too long");
  CHECK(reader.read(bytes_of_size(9, '\xFF')) == "a String is not valid text");
}

TEST_CASE("binaries have at most 65536 bytes") {
  RowReader reader({{"a", Value::of_binary("")}});
  CHECK(reader.read(bytes_of_size(limits::binary_bytes_max, '\xFF')).empty());
  CHECK(reader.read(bytes_of_size(limits::binary_bytes_max + 1, 0)) == "a Binary is too long");
}

TEST_CASE("a boolean is 0 or 1") {
  RowReader reader({{"a", Value::of_boolean(true)}});
  CHECK(reader.read(test::bytes_from_hex("00")).empty());
  CHECK(reader.read(test::bytes_from_hex("01")).empty());
  CHECK(reader.row[0].value.boolean());
  CHECK(reader.read(test::bytes_from_hex("02")) == "a Boolean is neither true nor false");
}

TEST_CASE("a date is in range") {
  RowReader reader({{"a", Value::of_date_time(limits::date_time_ticks_min)}});
  CHECK(reader.read(u64_bytes(limits::date_time_ticks_min)).empty());
  CHECK(reader.read(u64_bytes(limits::date_time_ticks_min - 1)) == "a DateTime is out of range");
  CHECK(reader.read(u64_bytes(limits::date_time_ticks_max)).empty());
  CHECK(reader.read(u64_bytes(limits::date_time_ticks_max + 1)) == "a DateTime is out of range");
  CHECK(reader.read(u64_bytes(-1)) == "a DateTime is out of range");
}

TEST_CASE("a row is at most 1 MiB as the service counts it, to the byte") {
  // Fifteen Strings of maximum length, and a Binary that fills the rest.
  Entity entity;
  entity.key = EntityKey("p\xC3\xA4", "\xF0\x9F\x98\x80");
  std::string text;
  while (text.size() < 2 * limits::string_units_max) text += "\xC3\xA4";  // two bytes, one unit
  for (int i = 0; i < 15; ++i) {
    entity.properties.push_back({"a" + std::to_string(i), Value::of_string(text)});
  }
  entity.properties.push_back({"rest", Value::of_binary("")});
  const std::size_t rest = limits::entity_bytes_max - entity_size(entity);
  REQUIRE(rest < limits::binary_bytes_max);
  RowReader reader(entity.properties);

  entity.properties.back().value = Value::of_binary(std::string(rest, 'b'));
  REQUIRE(entity_size(entity) == limits::entity_bytes_max);
  const std::string bytes = values_of(entity.properties);
  CHECK(reader.read(bytes, entity.key.view()).empty());
  CHECK(owned_properties(reader.row) == entity.properties);
  entity.properties.back().value = Value::of_binary(std::string(rest + 1, 'b'));
  CHECK(reader.read(values_of(entity.properties), entity.key.view()) == "the row is too large");
}
