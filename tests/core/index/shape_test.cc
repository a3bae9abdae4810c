#include "core/index/shape.h"

#include <string>
#include <utility>

#include "core/index/schema.h"
#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::int32_property;

TEST_CASE("slots: texts first, then 8-byte kinds, Guid, Int32, Boolean, each in canonical order") {
  Schema schema;
  const Shape& shape = schema.intern({{"bool", Value::of_boolean(true)},
                                      {"int32", Value::of_int32(1)},
                                      {"guid", Value::of_guid(Guid{})},
                                      {"double", Value::of_double(1)},
                                      {"text", Value::of_string("s")},
                                      {"int64", Value::of_int64(1)},
                                      {"date", Value::of_date_time(1)},
                                      {"bytes", Value::of_binary("b")}});
  const auto slot = [&shape](std::string_view name) {
    return shape.columns()[*shape.find(name)].slot;
  };
  CHECK(slot("text") == 16);
  CHECK(slot("bytes") == 20);
  CHECK(slot("double") == 24);
  CHECK(slot("int64") == 32);
  CHECK(slot("date") == 40);
  CHECK(slot("guid") == 48);
  CHECK(slot("int32") == 64);
  CHECK(slot("bool") == 68);
  CHECK(shape.fixed_bytes() == 69);
}

TEST_CASE("columns are found by exact name, in shapes of any size") {
  for (const std::size_t count : {1u, 2u, 7u, 30u, 252u}) {
    CAPTURE(count);
    Schema schema;
    std::vector<Property> properties;
    for (std::size_t i = 0; i < count; ++i)
      properties.push_back(int32_property("name" + std::to_string(i)));
    const Shape& shape = schema.intern(properties);
    for (std::size_t i = 0; i < count; ++i) {
      REQUIRE(shape.find("name" + std::to_string(i)) == i);
      CHECK_FALSE(shape.find("Name" + std::to_string(i)));
    }
    CHECK_FALSE(shape.find(""));
    CHECK_FALSE(shape.find("name"));
    CHECK_FALSE(shape.find("name" + std::to_string(count)));
  }
}

}  // namespace entitable
