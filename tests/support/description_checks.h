// What holds of the description of every write that a door could read, whichever door it is.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/check.h"
#include "core/store/description.h"
#include "core/store/requests.h"

namespace entitable::test {

inline void check_operations(const Description& description, const WriteEntities& write) {
  ENTITABLE_CHECK(write.transaction == (description.operation == DescribedAs::batch));
  const std::vector<Description> operations =
      write.transaction ? description.operations : std::vector{description};
  ENTITABLE_CHECK(operations.size() == write.operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = write.operations[i];
    ENTITABLE_CHECK(operations[i].operation == described_as(operation.kind));
    ENTITABLE_CHECK(operations[i].partition == operation.key.partition);
    ENTITABLE_CHECK(operations[i].row == operation.key.row);
  }
}

}  // namespace entitable::test
