// Hidden tables: what sync stores about a table that is synced, in trees of their own, so that it
// is stored in the same commit as the rows that it describes.
//
// A hidden table has an id but no name, so no request can address it. The id follows from the id of
// the synced table and from the kind; a commit tells by the ids alone which rows are hidden.
//
// A synced table has a hidden table of every kind, but only those that have had a row are in
// memory and in files. Rows of kinds that this version does not know are kept (FORMAT.md, "Hidden
// tables").
//
// The core itself writes `bases`, `base_rows` and `outbox`, removes rows of `etags`
// (core/store/outbox.h), and reads one row of `state` (core/store/remote_limits.h). The meaning of
// the others is defined by web/src/sync.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "core/model/commit.h"

namespace entitable {

// These numbers never change.
enum class HiddenTable : std::uint8_t {
  bases = 0,      // by key: whether and how the key has a Base
  base_rows = 1,  // by key: the row of a Base, as the remote had it
  etags = 2,      // by key: the ETag of a clean row, if it does not follow from the Timestamp
  outbox = 3,     // by partition and number: the operations that the remote does not have yet
  parked = 4,
  pushes = 5,
  tries = 6,
  receipts = 7,
  settling = 8,
  marks = 9,
  scans = 10,
  lost = 11,
  state = 12,
};
inline constexpr std::uint8_t hidden_tables_count = 13;  // that this version knows

// The ids of ordinary tables are below this bit.
inline constexpr TableId hidden_table_bit = TableId{1} << 31;
inline constexpr unsigned hidden_table_kind_bits = 5;
inline constexpr TableId hidden_table_kind_mask = (TableId{1} << hidden_table_kind_bits) - 1;
// The greatest id of a table that can be synced.
inline constexpr TableId synced_table_id_max = (hidden_table_bit >> hidden_table_kind_bits) - 1;
static_assert(hidden_tables_count <= hidden_table_kind_mask + 1);

constexpr bool is_hidden_table(TableId id) {
  return (id & hidden_table_bit) != 0;
}
// REQUIRES: 0 < owner <= synced_table_id_max.
constexpr TableId hidden_table_of(TableId owner, HiddenTable kind) {
  return hidden_table_bit | owner << hidden_table_kind_bits | static_cast<TableId>(kind);
}
// REQUIRES for the two functions below: is_hidden_table(id).
constexpr TableId owner_of_hidden_table(TableId id) {
  return (id & ~hidden_table_bit) >> hidden_table_kind_bits;
}
constexpr std::uint8_t kind_of_hidden_table(TableId id) {
  return static_cast<std::uint8_t>(id & hidden_table_kind_mask);
}
// Returns whether a hidden table can have this id.
constexpr bool is_hidden_table_valid(TableId id) {
  return is_hidden_table(id) && owner_of_hidden_table(id) != 0;
}

// Returns whether the mutation needs a record of commits with hidden tables (FORMAT.md).
inline bool uses_hidden_tables(const Mutation& mutation) {
  if (const auto* put = std::get_if<PutRow>(&mutation)) return is_hidden_table(put->table);
  if (const auto* erase = std::get_if<DeleteRow>(&mutation)) return is_hidden_table(erase->table);
  return std::holds_alternative<SetSynced>(mutation);
}
inline bool uses_hidden_tables(const Commit& commit) {
  for (const Mutation& mutation : commit.mutations) {
    if (uses_hidden_tables(mutation)) return true;
  }
  return false;
}

// Returns whether the change feed shows something of the commit.
inline bool is_in_change_feed(const Commit& commit) {
  const auto is_shown = [](const Mutation& mutation) {
    if (const auto* put = std::get_if<PutRow>(&mutation)) return !is_hidden_table(put->table);
    if (const auto* erase = std::get_if<DeleteRow>(&mutation))
      return !is_hidden_table(erase->table);
    return std::holds_alternative<CreateTable>(mutation) ||
           std::holds_alternative<DropTable>(mutation);
  };
  return std::any_of(commit.mutations.begin(), commit.mutations.end(), is_shown);
}

}  // namespace entitable
