#include "core/txn/entity_size_bound.h"

#include "tests/core/txn/txn_testing.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;
using namespace entitable::test;

TEST_CASE("the bound is never below the size") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Entity entity = random_entity(prng);
    REQUIRE(entity_size_bound(entity.key.view(), property_views(entity.properties)) >=
            entity_size(entity));
  }
}

TEST_CASE("test entities have the size requested") {
  for (const std::size_t bytes : {26u, 27u, 60'000u, 60'026u, 60'030u, 60'044u, 1'048'576u}) {
    CAPTURE(bytes);
    CHECK(entity_size({EntityKey("p", "r"), 0, properties_of_bytes(bytes)}) == bytes);
  }
}
