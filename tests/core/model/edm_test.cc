#include "core/model/edm.h"

#include "tests/support/catch.h"

using namespace entitable;

TEST_CASE("every type keeps its number and its name") {
  const std::pair<int, std::string_view> table[] = {
      {1, "Edm.String"}, {2, "Edm.Binary"}, {3, "Edm.Boolean"}, {4, "Edm.DateTime"},
      {5, "Edm.Double"}, {6, "Edm.Guid"},   {7, "Edm.Int32"},   {8, "Edm.Int64"}};
  CHECK(std::size(table) == edm_type_last);
  for (const auto& [number, name] : table) {
    const std::optional<EdmType> type = edm_from_number(static_cast<std::uint8_t>(number));
    REQUIRE(type);
    CHECK(static_cast<int>(*type) == number);
    CHECK(edm_name(*type) == name);
    CHECK(edm_from_name(name) == *type);
  }
}

TEST_CASE("no other number or name is a type") {
  CHECK_FALSE(edm_from_number(0));
  CHECK_FALSE(edm_from_number(9));
  CHECK_FALSE(edm_from_number(255));
  for (const char* name :
       {"", "String", "Edm.", "edm.string", "Edm.string", "EDM.STRING", "Edm.String ", "Edm.Int16",
        "Edm.Single", "Edm.Decimal", "Edm.DateTimeOffset", "Edm.Null", "Edm.Byte"}) {
    CAPTURE(name);
    CHECK_FALSE(edm_from_name(name));
  }
}
