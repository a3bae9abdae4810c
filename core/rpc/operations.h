// The calls of the direct door: block in, store call, block out. Writes are parsed by
// write_parser.h, staged together with those of the other door by core/dispatch/dispatcher.h, and
// answered by what is here.
//
// Nothing here fails: what cannot be answered is answered by an error block, in the service's
// words.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/model/service_error.h"
#include "core/rpc/message.h"
#include "core/rpc/page_writer.h"
#include "core/rpc/timestamp_formatter.h"
#include "core/store/store.h"

namespace entitable::rpc {

// get, query, explain, list tables, get each. Replaces what `out` holds; `pages` only lends its
// memory. Gives the parts to load before it is asked again (query.h, PartsNeeded); none: `out` is
// the reply, and `rows`, if it is asked for, what it took.
std::vector<PartId> handle_read(const Store& store, std::string_view request, PageWriter& pages,
                                ResponseBuffer& out, RowCounts* rows = nullptr);

// The ticks of a host's clock, in milliseconds since 1970 with their fraction. What is no time at
// all is the epoch: the store's clock rises anyway.
Ticks ticks_from_unix_ms(double milliseconds);

// Makes room for the answer to a write of one operation that holds: writing it takes no memory
// then.
void reserve_write_result(ResponseBuffer& out);

// What the store answered to a write of this door (write_parser.h). `text` only remembers what the
// timestamps before had in common.
void encode_write_result(ResponseBuffer& out, const WriteResult& answer, TimestampFormatter& text);
void encode_error(ResponseBuffer& out, const Error& error);
void encode_error(ResponseBuffer& out, const GroupFailure& failure);
// One that the store didn't give: of an operation and of a transaction as a whole.
using HeaderViews = std::vector<std::pair<std::string_view, std::string_view>>;
void encode_error(ResponseBuffer& out, const ServiceError& error, const HeaderViews& headers);

}  // namespace entitable::rpc
