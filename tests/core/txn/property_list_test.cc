#include "core/txn/property_list.h"

#include <memory>
#include <string>

#include "tests/support/catch.h"

using namespace entitable;

namespace {
const std::string long_text = "longer than what a string keeps in itself";
}

TEST_CASE("a list refers to views and owns properties") {
  const std::string name = "a";
  PropertyList list;
  list.push_back(PropertyView{name, ValueView::of_string(long_text)});
  list.push_back(Property{"b", Value::of_string(long_text)});
  list.push_back(name, Value::of_int32(3));
  REQUIRE(list.size() == 3);
  CHECK(list[0].name.data() == name.data());
  CHECK(list[0].value.bytes().data() == long_text.data());
  CHECK(list[1] == PropertyView{"b", ValueView::of_string(long_text)});
  CHECK(list[1].value.bytes().data() != long_text.data());
  CHECK(list[2].name.data() == name.data());
  CHECK(list[2].value == ValueView::of_int32(3));
}

TEST_CASE("copies and moved lists outlive the original") {
  auto list = std::make_unique<PropertyList>(
      PropertyList{{"a", Value::of_string(long_text)}, {"b", Value::of_int32(1)}});
  PropertyList copy = *list;
  const PropertyList moved = std::move(*list);
  list.reset();
  copy.push_back(Property{"c", Value::of_boolean(true)});
  CHECK(owned_properties(moved) ==
        std::vector<Property>{{"a", Value::of_string(long_text)}, {"b", Value::of_int32(1)}});
  CHECK(moved != copy);
  REQUIRE(copy.size() == 3);
  CHECK(copy[0] == moved[0]);
  CHECK(copy[2] == PropertyView{"c", ValueView::of_boolean(true)});
}

TEST_CASE("a list keeps the properties it is built from, in order") {
  CHECK(PropertyList().empty());
  const std::vector<Property> properties = {{"b", Value::of_int32(1)}, {"a", Value::of_int32(2)}};
  CHECK(owned_properties(PropertyList(properties)) == properties);
}
