#include "core/log/shape_codec.h"

#include "core/base/utf8.h"
#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/log_files.h"

using namespace entitable;

namespace {

std::string definition_of(const std::vector<Property>& properties) {
  RowShapeNumbers shapes;
  shapes.number_of(property_views(properties));
  return std::string(shapes.last_definition());
}

std::string read_error(const std::string& definition) {
  ShapeDictionary shapes;
  ByteReader reader(definition);
  const char* bad = shapes.read_definition(reader);
  return bad == nullptr ? "" : bad;
}

std::string definition_with(std::uint8_t type, std::string_view name) {
  std::string out;
  ByteWriter writer(out);
  writer.varint(1);
  writer.u8(type);
  writer.bytes(name);
  return out;
}

const Value some_int = Value::of_int32(1);
const Value some_text = Value::of_string("x");

}  // namespace

TEST_CASE("a definition is a list of types and names") {
  CHECK(definition_of({}) == test::bytes_from_hex("00"));
  CHECK(definition_of({{"ab", some_int}, {"c", some_text}}) ==
        test::bytes_from_hex("02 07 02 6162 01 01 63"));
}

TEST_CASE("shapes are numbered in the order of their first use") {
  RowShapeNumbers shapes;
  const auto number = [&](const std::vector<Property>& properties) {
    return shapes.number_of(property_views(properties));
  };
  const std::vector<Property> a = {{"x", some_int}, {"y", some_text}};
  const std::vector<Property> other_order = {{"y", some_text}, {"x", some_int}};
  const std::vector<Property> other_type = {{"x", some_text}, {"y", some_text}};
  const std::vector<Property> other_name = {{"x", some_int}, {"z", some_text}};
  const std::vector<Property> shorter = {{"x", some_int}};
  std::uint32_t next = 1;
  for (const auto& properties : {a, other_order, other_type, other_name, shorter, {}}) {
    const auto numbered = number(properties);
    CHECK(numbered.is_new);
    CHECK(numbered.number == next++);
    CHECK(shapes.last_definition() == definition_of(properties));
    CHECK(!number(properties).is_new);
  }
  CHECK(number(a).number == 1);
  CHECK(number(a).number == 1);
  CHECK(!number(other_type).is_new);
  CHECK(number(other_type).number == 3);
  CHECK(shapes.last_definition() == definition_of(other_type));
  CHECK(number({}).number == 6);
}

TEST_CASE("the previous row's shape is known even if its names are gone") {
  RowShapeNumbers shapes;
  auto first = std::make_unique<std::vector<Property>>();
  first->push_back({"a name that is not stored inside the string object", some_int});
  const std::vector<Property> again = *first;
  CHECK(shapes.number_of(property_views(*first)).is_new);
  first.reset();
  CHECK(!shapes.number_of(property_views(again)).is_new);
}

TEST_CASE("definitions are numbered too") {
  ShapeNumbers numbers;
  CHECK(numbers.number_of("a").number == 1);
  CHECK(numbers.number_of("b").is_new);
  const auto again = numbers.number_of("a");
  CHECK(again.number == 1);
  CHECK(!again.is_new);
}

TEST_CASE("a definition is read back, with the minimum size of its rows") {
  Entity entity;
  for (int type = 1; type <= edm_type_last; ++type) {
    entity.properties.push_back({"p\xC3\xA4" + std::to_string(type),
                                 Value(ValueView::from_parts(static_cast<EdmType>(type), 0, {}))});
  }
  const std::string bytes = definition_of(entity.properties);
  ShapeDictionary shapes;
  ByteReader reader(bytes);
  REQUIRE(shapes.read_definition(reader) == nullptr);
  CHECK(reader.at_end());
  const DecodedShape& shape = shapes.shape(1);
  REQUIRE(shape.properties.size() == entity.properties.size());
  for (std::size_t i = 0; i < shape.properties.size(); ++i) {
    CHECK(shape.properties[i].name == entity.properties[i].name);
    CHECK(shape.properties[i].type == entity.properties[i].value.type());
  }
  CHECK(shape.entity_size == entity_size(entity) - 4);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK(!read_error(bytes.substr(0, size)).empty());
  }
}

TEST_CASE("types and names of a definition are validated") {
  CHECK(read_error(definition_with(1, "a")).empty());
  CHECK(read_error(definition_with(edm_type_last, "a")).empty());
  CHECK(read_error(definition_with(0, "a")) == "a property has an unknown type");
  CHECK(read_error(definition_with(edm_type_last + 1, "a")) == "a property has an unknown type");
  const std::string not_allowed = "the name of a property is not allowed";
  CHECK(read_error(definition_with(1, "RowKey")) == not_allowed);
  CHECK(read_error(definition_with(1, "Timestamp")) == not_allowed);
  CHECK(read_error(definition_with(1, "rowkey")).empty());
  CHECK(read_error(definition_with(1, "1a")) == not_allowed);
  CHECK(read_error(definition_with(1, "") + "x") == not_allowed);
  CHECK(read_error(definition_with(1, "a\xC3")) == "the name of a property is not valid text");
  const std::string longest(limits::property_name_units_max, 'n');
  CHECK(read_error(definition_with(1, longest)).empty());
  CHECK(read_error(definition_with(1, longest + "n")) == not_allowed);
}

TEST_CASE("a shape has each property once, and a limited number") {
  std::string twins;
  ByteWriter writer(twins);
  writer.varint(3);
  for (const char* name : {"a", "b", "a"}) {
    writer.u8(1);
    writer.bytes(name);
  }
  CHECK(read_error(twins) == "a shape has a property twice");

  const auto many = [](std::size_t count) {
    std::string out;
    ByteWriter w(out);
    w.varint(count);
    for (std::size_t i = 0; i < count; ++i) {
      w.u8(1);
      w.bytes("n" + std::to_string(i));
    }
    return out;
  };
  CHECK(read_error(many(limits::custom_properties_max)).empty());
  CHECK(read_error(many(limits::custom_properties_max + 1)) == "a shape has too many properties");
}

TEST_CASE("a shape is read by definition once, then by number") {
  const std::string bytes = test::bytes_from_hex("00 01 07 01 61") + test::bytes_from_hex("00 00") +
                            test::bytes_from_hex("01 02 03");
  ShapeDictionary shapes;
  ByteReader reader(bytes);
  std::uint64_t number = 0;
  const auto read = [&] {
    const char* bad = shapes.read_shape(reader, number);
    return std::string(bad == nullptr ? "" : bad);
  };
  CHECK(read().empty());
  CHECK(number == 1);
  CHECK(read().empty());
  CHECK(number == 2);
  CHECK(read().empty());
  CHECK(number == 1);
  CHECK(read().empty());
  CHECK(number == 2);
  CHECK(read() == "a row has an undefined shape");
  CHECK(shapes.size() == 2);
  CHECK(read() == "the shape of a row is truncated");
}
