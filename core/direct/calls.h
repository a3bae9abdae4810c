// The calls of the direct door: block in, store call, block out. Writes are parsed by record.h,
// staged together with those of the other door by core/doors/group.h, and answered by what is here.
//
// Nothing here fails: what cannot be answered is answered by an error block, in the service's
// words.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/direct/block.h"
#include "core/direct/page.h"
#include "core/direct/timestamp_text.h"
#include "core/model/service_error.h"
#include "core/store/store.h"

namespace entitable::direct {

// get, query, explain, list tables, get each. Replaces what `out` holds; `pages` only lends its
// memory. Gives the parts to load before it is asked again (query.h, NeedParts); none: `out` is the
// reply, and `rows`, if it is asked for, what it took.
std::vector<PartId> read(const Store& store, std::string_view request, PageWriter& pages,
                         ReplyBuffer& out, RowCounts* rows = nullptr);

// The ticks of a host's clock, in milliseconds since 1970 with their fraction. What is no time at
// all is the epoch: the store's clock rises anyway.
Ticks ticks_from_unix_ms(double milliseconds);

// Makes room for the answer to a write of one operation that holds: writing it takes no memory
// then.
void make_room_for_answer(ReplyBuffer& out);

// What the store answered to a write of this door (record.h). `text` only remembers what the
// timestamps before had in common.
void write_answer(ReplyBuffer& out, const WriteAnswer& answer, TimestampText& text);
void write_error(ReplyBuffer& out, const Error& error);
void write_error(ReplyBuffer& out, const GroupFailure& failure);
// One that the store didn't give: of an operation and of a transaction as a whole.
using HeaderViews = std::vector<std::pair<std::string_view, std::string_view>>;
void write_error(ReplyBuffer& out, const ServiceError& error, const HeaderViews& headers);

}  // namespace entitable::direct
