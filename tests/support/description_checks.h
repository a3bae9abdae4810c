// Checks the description of any write that REST or RPC could parse.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/check.h"
#include "core/store/request_description.h"
#include "core/store/write_requests.h"

namespace entitable::test {

inline void check_operations(const RequestDescription& description, const WriteEntities& write) {
  ENTITABLE_CHECK(write.transaction == (description.operation == RequestOperation::batch));
  const std::vector<RequestDescription> operations =
      write.transaction ? description.operations : std::vector{description};
  ENTITABLE_CHECK(operations.size() == write.operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = write.operations[i];
    ENTITABLE_CHECK(operations[i].operation == request_operation_of(operation.kind));
    ENTITABLE_CHECK(operations[i].partition == operation.key.partition);
    ENTITABLE_CHECK(operations[i].row == operation.key.row);
  }
}

}  // namespace entitable::test
