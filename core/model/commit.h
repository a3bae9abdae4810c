// Commit: the only way to change a store's state. Live writes and recovery both call apply(Commit)
// (core/store/catalog.h). A merge is resolved before its commit is created, so a commit holds
// complete rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/model/access_policy.h"
#include "core/model/entity.h"

namespace entitable {

// Assigned when a table is created and never reused: a table that was dropped and created again has
// a new id.
using TableId = std::uint32_t;

// Identifies a checkpoint part: the file that holds the rows of one key range. 0: none.
using PartId = std::uint64_t;

// Identifies a cached lookup in a table's Schema: the shape that a property list has
// (core/index/schema.h, shape_hint_of()). 0: no lookup is cached.
using ShapeHint = std::uint64_t;

// What a put did to the row with its key, as far as that is known.
enum class PutEffect : std::uint8_t { unknown, insert, update };

// A whole row as it is after the write. The creator of the commit owns the memory of the views and
// keeps it until the commit is destroyed.
struct PutRow {
  TableId table;
  KeyView key;
  Ticks timestamp;
  std::span<const PropertyView> properties;
  // True only if the names and types are known to equal those of the commit's previous PutRow, in
  // the same order, so that no comparison is needed. Not part of the row's value.
  bool same_shape_as_previous = false;
  ShapeHint shape_hint = 0;  // of `properties`; not part of the row's value
  // The names and types of `properties` as the log encodes them (core/log/shape_codec.h), if this
  // encoding is cached; otherwise empty.
  std::string_view encoded_definition{};
  PutEffect effect = PutEffect::unknown;  // not part of the row's value
};
inline bool operator==(const PutRow& a, const PutRow& b) {
  return a.table == b.table && compare(a.key, b.key) == 0 && a.timestamp == b.timestamp &&
         std::equal(a.properties.begin(), a.properties.end(), b.properties.begin(),
                    b.properties.end());
}
struct DeleteRow {
  TableId table;
  EntityKey key;
  friend bool operator==(const DeleteRow&, const DeleteRow&) = default;
};
struct CreateTable {
  TableId table;
  std::string name;
  friend bool operator==(const CreateTable&, const CreateTable&) = default;
};
struct DropTable {
  TableId table;
  friend bool operator==(const DropTable&, const DropTable&) = default;
};
struct SetTableAcl {
  TableId table;
  std::vector<AccessPolicy> policies;
  friend bool operator==(const SetTableAcl&, const SetTableAcl&) = default;
};
struct SetServiceProperties {  // opaque here; core/rest defines the document
  std::string document;
  friend bool operator==(const SetServiceProperties&, const SetServiceProperties&) = default;
};

// Begins or ends syncing a table. From then on, or no longer, the table may have hidden tables
// (core/model/hidden_table.h), and local writes of it are recorded in its outbox. At the end, its
// hidden tables are dropped.
struct SetSynced {
  TableId table;
  bool synced;
  friend bool operator==(const SetSynced&, const SetSynced&) = default;
};

using Mutation = std::variant<PutRow, DeleteRow, CreateTable, DropTable, SetTableAcl,
                              SetServiceProperties, SetSynced>;

// Where the write of a commit came from.
enum class CommitOrigin : std::uint8_t {
  local,      // the tab that owns the store
  other_tab,  // another tab, or the page of a worker
  sync,       // synchronization with another store
  restore,    // a snapshot file
};

// Identifies a call and holds its response. When another tab takes over the store, clients send
// unanswered calls again. A call that was already applied is then answered from the log and not
// applied twice.
using ClientId = std::array<std::uint8_t, 16>;
struct ClientCall {
  ClientId client{};
  std::uint64_t number = 0;       // increases with each call of a client
  std::vector<Ticks> timestamps;  // the response: one per operation, 0 if it has no ETag
  friend bool operator==(const ClientCall&, const ClientCall&) = default;
};

// One request's mutations: applied whole or not at all.
struct Commit {
  std::uint64_t number = 0;  // 1, 2, 3, …; a restore that replaces the content skips a number
  Ticks last_timestamp = 0;  // the newest timestamp ever issued, including this commit
  std::optional<ClientCall> call;
  std::vector<Mutation> mutations;
  CommitOrigin origin = CommitOrigin::local;  // for readers of the change feed
  // Does not compare the origin and the effects of puts, which the record of a commit does not
  // have.
  friend bool operator==(const Commit& a, const Commit& b) {
    return a.number == b.number && a.last_timestamp == b.last_timestamp && a.call == b.call &&
           a.mutations == b.mutations;
  }
};

}  // namespace entitable
