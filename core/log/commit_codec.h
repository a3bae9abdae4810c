// Encodes and decodes one Commit: the payload of a commit record (FORMAT.md, "Segment").
//
// A commit is encoded once, when it is staged. With deferred writes it may wait before a segment
// stores it. encode_commit() therefore writes a standalone form that starts with the shapes of its
// rows. When SegmentWriter adds the commit, it replaces each shape that the segment already defines
// by that shape's number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/log/pending_records.h"
#include "core/log/shape_codec.h"
#include "core/model/commit.h"
#include "core/model/property_arena.h"

namespace entitable {

// Encodes the commit as a new record that is reserved in `records` but not yet added; returns the
// size of the encoding in bytes. The second form returns the bytes instead.
//
// REQUIRES: what decode_commit() checks, most of which staging has checked already: entities can be
// stored (check_entity) and have a timestamp, number > 0, no timestamp is above last_timestamp,
// table ids are from 1 to table_id_max, table names are valid, and there are at most
// access_policies_max policies.
std::size_t encode_commit(const Commit& commit, PendingRecords& records);
std::string encode_commit(const Commit& commit);

// Decodes the payload of a commit record, or returns ErrorCode::corrupted with the mutation and the
// reason. `shapes` holds the shapes that the segment has defined so far; new shapes of this commit
// are added to it. The rows of the commit point into `payload` and into `rows`, to which their
// properties are added.
Result<Commit> decode_commit(std::string_view payload, ShapeDictionary& shapes,
                             PropertyArena& rows);

// Appends the payload of the commit record to `out`, with known shapes replaced by their numbers.
// REQUIRES: `standalone` came from encode_commit().
void append_commit(std::string_view standalone, ShapeNumbers& shapes, std::string& out);
// Returns the number of an encoded commit. REQUIRES: `standalone` came from encode_commit().
std::uint64_t commit_number(std::string_view standalone);

}  // namespace entitable
