// What a writer asks of the store and what it is answered, as plain data. Both doors parse into
// these.
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
  bool size_checked = false;  // the door has held the request's bytes to the limit of a group
  // What properties look at, if it is neither theirs nor in bytes that outlive the request.
  std::shared_ptr<const void> texts{};
};
struct WriteCreateTable {
  std::string table;
};
struct WriteDropTable {
  std::string table;
};
// Replaces the table's policies. At most 5, each with an id of its own (InvalidXmlDocument); an id
// of at most 64 units, dates that a DateTime may have and a permission of "raud" in this order
// (InvalidXmlNodeValue); all that before the table is looked for.
struct WriteTableAcl {
  std::string table;
  std::vector<AccessPolicy> policies;
};
// Replaces the document by what `change` makes of the one before it, which may be that of a request
// in the same group: some sections are kept, and what they are is only known here. `change` must
// depend on nothing else, since staging may be repeated, and cannot fail: what is wrong with a
// request is found before.
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
