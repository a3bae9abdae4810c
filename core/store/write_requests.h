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
#include "core/query/query.h"
#include "core/txn/entity_group.h"
#include "core/txn/operation.h"
#include "core/txn/stage.h"

namespace entitable {

class Catalog;
class CommitClock;
struct StoreVersion;

struct WriteEntities {
  std::string table;  // any spelling
  std::vector<Operation> operations;
  bool transaction = false;   // false: a single write, whose error has no index prefix
  bool size_checked = false;  // the entry point has checked the request against the size limit
  // Owns text to which `operations` refer, if neither the operations nor the message own that text.
  // Otherwise null.
  std::shared_ptr<const void> texts{};
};
struct WriteCreateTable {
  std::string table;
};
struct WriteDropTable {
  std::string table;
};
// Replaces the table's access policies. Errors, which take precedence over a missing table:
// InvalidXmlDocument for more than 5 policies, or an id that is empty or not unique.
// InvalidXmlNodeValue for an id of more than 64 UTF-16 units, a date outside the DateTime range, or
// a permission that is not made of letters of "raud" in this order.
struct WriteTableAcl {
  std::string table;
  std::vector<AccessPolicy> policies;
};
// Replaces the document of service properties with change(current document). A function is needed
// because a request may keep sections of the current document, which an earlier request of the same
// group may still change. `change` must depend only on its argument, because staging may be
// repeated, and must not fail.
struct WriteServiceProperties {
  std::function<std::string(const std::string& current)> change;
};

// Changes rows of a synced table and of its hidden tables (core/store/sync_tables.h). A function,
// because the code of sync is not in the code that writes. `version`: to which the mutations will
// be applied. `clock`: of that version; advanced to the time of the commit. `base`: null, or the
// version from which `version` was made. `staged`: empty; without mutations, there is no commit.
// Returns why nothing was staged; `clock` is unchanged then.
struct WriteSynced {
  using Failure = std::variant<GroupFailure, PartsNeeded>;
  std::function<std::optional<Failure>(const StoreVersion& version, CommitClock& clock,
                                       const Catalog* base, Ticks now, StagedMutations& staged)>
      stage;
};

struct WriteRequest {
  std::optional<ClientCall> call;  // client and number; timestamps are ignored
  std::variant<WriteEntities, WriteCreateTable, WriteDropTable, WriteTableAcl,
               WriteServiceProperties, WriteSynced>
      body;
  CommitOrigin origin = CommitOrigin::local;
};

struct WriteSuccess {
  std::vector<Ticks> timestamps;  // one per operation; 0 for an operation without an ETag
};

using WriteResult = std::variant<WriteSuccess, GroupFailure>;

}  // namespace entitable
