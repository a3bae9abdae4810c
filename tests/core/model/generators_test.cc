// Tests of the generators of random values: what they generate can be stored, and reaches edge
// cases.
#include "tests/support/generators.h"

#include <map>
#include <set>

#include "core/base/utf8.h"
#include "core/model/property_name.h"
#include "core/model/table_name.h"
#include "tests/support/catch.h"

using namespace entitable;

TEST_CASE("generated entities may be stored, and the same seed makes the same ones") {
  constexpr std::uint64_t seed = 20;
  CAPTURE(seed);
  test::Prng prng(seed);
  test::Prng again(seed);
  for (int round = 0; round < 3000; ++round) {
    const Entity entity = test::random_entity(prng);
    CHECK(entity == test::random_entity(again));
    CHECK(is_wtf8(entity.key.partition));
    CHECK(is_wtf8(entity.key.row));
    for (const Property& property : entity.properties) {
      CHECK(is_wtf8(property.name));
      if (property.value.type() == EdmType::string) CHECK(is_wtf8(property.value.view().string()));
    }
    const Result<void> checked = check_entity(entity);
    if (!checked.ok()) {
      CAPTURE(static_cast<int>(checked.error().code), checked.error().message);
      REQUIRE(checked.ok());
    }
  }
}

TEST_CASE("generated keys collide, and reach the limit") {
  constexpr std::uint64_t seed = 21;
  CAPTURE(seed);
  test::Prng prng(seed);
  std::set<std::string> keys;
  std::size_t units_max = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::string key = test::random_key(prng);
    keys.insert(key);
    units_max = std::max(units_max, utf16_length(key));
    CHECK(is_wtf8(test::random_probe_key(prng)));
  }
  CHECK(keys.size() > 200);
  CHECK(keys.size() < 4500);
  CHECK(units_max == limits::key_units_max);
}

TEST_CASE("generated values reach every type, and names every rule") {
  constexpr std::uint64_t seed = 22;
  CAPTURE(seed);
  test::Prng prng(seed);
  std::map<EdmType, int> types;
  for (int round = 0; round < 2000; ++round) {
    ++types[test::random_value(prng).type()];
    CHECK(check_property_name(test::random_property_name(prng)).ok());
    CHECK(TableName::parse(test::random_table_name(prng)).ok());
  }
  CHECK(types.size() == edm_type_last);
}
