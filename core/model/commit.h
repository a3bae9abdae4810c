// Commit: the narrow waist of all writes. Live writes and recovery change state only through
// apply(Commit); merge is resolved before, so nothing below here knows the word.
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

// Given out on creation and never reused, so that a dropped and re-created table is another table.
using TableId = std::uint32_t;

// A checkpoint part: the file that holds the rows of one key range. 0: none.
using PartId = std::uint64_t;

// Set by Set Table ACL. Dates are the service's text forms; absent fields stay absent.
struct AccessPolicy {
  std::string id;
  std::optional<Ticks> start;
  std::optional<Ticks> expiry;
  std::optional<std::string> permission;
  friend bool operator==(const AccessPolicy&, const AccessPolicy&) = default;
};

// Says of a list of names and types that the index of a table has held it against its own
// (core/index/shape.h). 0: it has not, or knows no such list.
using ShapeHint = std::uint64_t;

// A row as it is after the write, timestamp included. What it looks at is owned by whoever made the
// commit, and outlives it.
struct PutRow {
  TableId table;
  KeyView key;
  Ticks timestamp;
  std::span<const PropertyView> properties;
  // Whether their names and types are surely those of the PutRow before it in the commit, in the
  // same order: then nobody has to compare them. False says nothing, and it is no part of the row.
  bool same_shape_as_previous = false;
  ShapeHint shape_hint = 0;  // what the table's index said of them; as little part of the row
  // They as the log writes them (core/log/shape_codec.h), if somebody keeps that; or nothing.
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
struct SetServiceProperties {  // opaque here; the protocol room owns the document
  std::string document;
  friend bool operator==(const SetServiceProperties&, const SetServiceProperties&) = default;
};

using Mutation =
    std::variant<PutRow, DeleteRow, CreateTable, DropTable, SetTableAcl, SetServiceProperties>;

// Who asked, so that a call sent again after a hand-over is answered and not applied twice.
using ClientId = std::array<std::uint8_t, 16>;
struct ClientCall {
  ClientId client{};
  std::uint64_t number = 0;       // rising per client
  std::vector<Ticks> timestamps;  // the answer: one per operation, 0 where it has no ETag
  friend bool operator==(const ClientCall&, const ClientCall&) = default;
};

// One request's mutations: applied whole or not at all.
struct Commit {
  std::uint64_t number = 0;  // 1, 2, 3, … without gaps over the life of a store
  Ticks last_timestamp = 0;  // the newest ever issued, this commit included
  std::optional<ClientCall> call;
  std::vector<Mutation> mutations;
  friend bool operator==(const Commit&, const Commit&) = default;
};

}  // namespace entitable
