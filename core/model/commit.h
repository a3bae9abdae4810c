// Commit: the only way to change a store's state. Live writes and recovery both go through
// apply(Commit). Merges are resolved before, so a commit holds complete rows.
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

#include "core/model/entity.h"

namespace entitable {

// Assigned when a table is created and never reused: a table that was dropped and created again has
// a new id.
using TableId = std::uint32_t;

// Identifies a checkpoint part: the file that holds the rows of one key range. 0: none.
using PartId = std::uint64_t;

// A stored access policy, set by Set Table ACL. Absent fields stay absent.
struct AccessPolicy {
  std::string id;
  std::optional<Ticks> start;
  std::optional<Ticks> expiry;
  std::optional<std::string> permission;
  friend bool operator==(const AccessPolicy&, const AccessPolicy&) = default;
};

// Cached shape lookup: set once a table's index has matched a property list to a shape
// (core/index/shape.h). 0: not matched, or no such shape.
using ShapeHint = std::uint64_t;

// A row as it is after the write, with its timestamp. Its views refer to memory that is owned by
// the creator of the commit and outlives the commit.
struct PutRow {
  TableId table;
  KeyView key;
  Ticks timestamp;
  std::span<const PropertyView> properties;
  // True only if the names and types are known to equal those of the previous PutRow of the commit,
  // in the same order, which saves comparing them. Not part of the row's value.
  bool same_shape_as_previous = false;
  ShapeHint shape_hint = 0;  // for `properties`; not part of the row's value
  // The property list as the log encodes it (core/log/shape_codec.h), if it is cached; else empty.
  std::string_view encoded_definition{};
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

using Mutation =
    std::variant<PutRow, DeleteRow, CreateTable, DropTable, SetTableAcl, SetServiceProperties>;

// Identifies a call, so that a call that is sent again after a takeover is answered from the log
// and not applied twice.
using ClientId = std::array<std::uint8_t, 16>;
struct ClientCall {
  ClientId client{};
  std::uint64_t number = 0;       // increases with each call of a client
  std::vector<Ticks> timestamps;  // the response: one per operation, 0 if it has no ETag
  friend bool operator==(const ClientCall&, const ClientCall&) = default;
};

// One request's mutations: applied whole or not at all.
struct Commit {
  std::uint64_t number = 0;  // 1, 2, 3, … without gaps over the life of a store
  Ticks last_timestamp = 0;  // the newest timestamp ever issued, including this commit
  std::optional<ClientCall> call;
  std::vector<Mutation> mutations;
  friend bool operator==(const Commit&, const Commit&) = default;
};

}  // namespace entitable
