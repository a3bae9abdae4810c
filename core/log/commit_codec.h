// One Commit to and from bytes: the payload of a commit record (FORMAT.md, "Commit").
//
// A commit is encoded once, when it is staged, and may then wait (deferred writes) until some
// segment stores it. So encode_commit gives a form that stands alone, with the shapes of its rows
// at the front; SegmentWriter replaces a shape that the segment has already by its number.
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

// REQUIRES: what decode_commit checks, most of it checked by whoever staged the commit: storable
// entities (check_entity) with a timestamp, number > 0, no timestamp above last_timestamp, table
// ids from 1 to table_id_max, valid table names, at most access_policies_max policies.
//
// Into the room behind `records`, of which it is none yet; gives its bytes.
std::size_t encode_commit(const Commit& commit, PendingRecords& records);
std::string encode_commit(const Commit& commit);

// The commit in the payload of a commit record, or Code::corrupted with the mutation and the
// reason. `shapes`: of the segment so far; the commit's new ones are added. Its rows look into the
// bytes and into `rows`, where their properties are added.
Result<Commit> decode_commit(std::string_view payload, ShapeDictionary& shapes,
                             PropertyArena& rows);

// For SegmentWriter: appends the payload of the record to `out`. REQUIRES: `standalone` came from
// encode_commit.
void append_commit(std::string_view standalone, ShapeNumbers& shapes, std::string& out);
// REQUIRES: `standalone` came from encode_commit.
std::uint64_t commit_number(std::string_view standalone);

}  // namespace entitable
