// Encodes and decodes one Commit: the payload of a commit record (FORMAT.md, "Segment").
//
// A commit is encoded once, when it is staged, before it is known which segment will store it.
// encode_commit() therefore writes a standalone form, which starts with the definitions of all
// shapes of its rows (shape_codec.h). When SegmentWriter adds the commit to a segment, each
// definition that the segment already contains is replaced by its number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/log/pending_records.h"
#include "core/log/shape_codec.h"
#include "core/model/commit.h"
#include "core/model/property_view_arena.h"

namespace entitable {

// Encodes the commit into memory from records.reserve_record() and returns its size in bytes, which
// the caller passes to records.add(). The memory has room for the codes of the commit's effects
// (commit_effects.h).
//
// REQUIRES: decode_commit() would accept the commit: entities can be stored (check_entity) and have
// a timestamp; number > 0; no timestamp is above last_timestamp; is_table_id_valid() of table ids;
// only rows have the id of a hidden table; table names are valid; check_policies() accepts
// policies.
std::size_t encode_commit(const Commit& commit, PendingRecords& records);
// Returns the encoded commit. REQUIRES: as above.
std::string encode_commit(const Commit& commit);

// Decodes the payload of a commit record. If the payload is bad, returns ErrorCode::corrupted; the
// message names the mutation and the reason. `shapes`: the shapes that the segment has defined so
// far; the new shapes of this commit are added. `rows`: receives the property lists of the rows.
// The commit refers to `payload` and to `rows`. `uses_hidden_tables`: the type of the record.
Result<Commit> decode_commit(std::string_view payload, ShapeDictionary& shapes,
                             PropertyViewArena& rows, bool uses_hidden_tables = false);

// Appends the payload of the commit record to `out`, with known shapes replaced by their numbers.
// REQUIRES: `standalone` came from encode_commit().
void append_commit_payload(std::string_view standalone, ShapeNumbers& shapes, std::string& out);
// Returns the number of an encoded commit. REQUIRES: `standalone` came from encode_commit().
std::uint64_t commit_number(std::string_view standalone);

}  // namespace entitable
