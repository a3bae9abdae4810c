// Tests copies of rows.
#include "core/live/row_copy.h"

#include <optional>

#include "core/index/table_index.h"
#include "tests/core/live/live_testing.h"
#include "tests/support/generators.h"
#include "tests/support/model_store.h"

namespace entitable {

using test::Prng;
using test::random_stored_entity;
using test::sorted;

TEST_CASE("a copy is the row, and stays so when the row is replaced and the table is gone") {
  std::optional<RowCopy> copy;
  {
    TableIndex index = test::index_of({test::row_of("a", 7, 5)});
    copy.emplace(*test::find(index, "a"));
    index.put(test::row_of("a", 8, 6));
  }
  CHECK(copy->view().materialize() == test::row_of("a", 7, 5));
  const RowCopy moved = std::move(*copy);
  copy.reset();
  CHECK(moved.view().materialize() == test::row_of("a", 7, 5));
}

TEST_CASE("rows of every shape are copied, also generic ones") {
  Prng prng(1);
  TableIndex index;
  for (int i = 0; i < 3000; ++i) {
    const Entity entity = random_stored_entity(prng);
    index.put(entity);
    const RowCopy copy(*index.find(entity.key.view()).row);
    REQUIRE(sorted(copy.view().materialize()) == sorted(entity));
  }
}

}  // namespace entitable
