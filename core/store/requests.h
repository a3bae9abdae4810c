// Write requests and their results, as plain data. The RPC and the REST entry points parse messages
// into these types.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/model/commit.h"
#include "core/txn/entity_group.h"
#include "core/txn/operation.h"

namespace entitable {

struct WriteEntities {
  std::string table;  // any spelling
  std::vector<Operation> operations;
  bool transaction = false;   // false: a single write, whose error has no index prefix
  bool size_checked = false;  // the entry point has checked the request against the size limit
  // Owns text that properties view, unless the properties or the message own that text.
  std::shared_ptr<const void> texts{};
};
struct WriteCreateTable {
  std::string table;
};
struct WriteDropTable {
  std::string table;
};
// Replaces the table's access policies. At most 5 policies, each with a unique, non-empty id;
// otherwise InvalidXmlDocument. An id has at most 64 UTF-16 units, dates are in the DateTime range,
// and the permission consists of letters of "raud" in this order; otherwise InvalidXmlNodeValue.
// These errors take precedence over a missing table.
struct WriteTableAcl {
  std::string table;
  std::vector<AccessPolicy> policies;
};
// Replaces the document of service properties with the result of `change`. The current document may
// come from an earlier request of the same group, so sections that the request keeps are only known
// when the request is staged. `change` must depend only on its argument, because staging may be
// repeated. It cannot fail: the entry point checks the request first.
struct WriteServiceProperties {
  std::function<std::string(const std::string& current)> change;
};

struct WriteRequest {
  std::optional<ClientCall> call;  // client and number; timestamps are ignored
  std::variant<WriteEntities, WriteCreateTable, WriteDropTable, WriteTableAcl,
               WriteServiceProperties>
      body;
};

struct WriteSuccess {
  std::vector<Ticks> timestamps;  // one per operation; 0 where it has no ETag
};

using WriteResult = std::variant<WriteSuccess, GroupFailure>;

}  // namespace entitable
