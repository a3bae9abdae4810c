// The operations of the RPC entry point. For a read, this module decodes the request message, calls
// the store and encodes the response message. For a write, it only encodes the response:
// write_parser.h parses the request, and core/dispatch/dispatcher.h stages it together with REST
// writes. Requests about live queries and the change feed: listening_clients.h.
//
// No function here fails. A request that cannot be served gets an error response with the service's
// code and message.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/filter/ast.h"
#include "core/model/service_error.h"
#include "core/rpc/message.h"
#include "core/rpc/page_writer.h"
#include "core/rpc/timestamp_formatter.h"
#include "core/store/store.h"

namespace entitable::rpc {

// Handles all requests but writes and those of listening clients. If the request needs rows that
// are not in memory, returns the parts to load before the caller repeats the request (PartsNeeded
// in core/query/query.h). Otherwise returns no parts; `out` then holds the response, and `rows`, if
// not null, the number of rows read and returned. `pages` provides reusable memory.
std::vector<PartId> handle_read(const Store& store, std::string_view request, PageWriter& pages,
                                ResponseBuffer& out, RowCounts* rows = nullptr);

// Converts the time of a host's clock (milliseconds since 1970, with a fraction) to ticks. Returns
// the Unix epoch for a number that is not a time. This is harmless, because the store's timestamps
// increase in any case (core/store/commit_clock.h).
Ticks ticks_from_unix_ms(double milliseconds);

// Allocates memory for the response to one successful write operation, so that encoding the
// response cannot run out of memory.
void reserve_write_result(ResponseBuffer& out);

Error malformed_error();
// Parses a filter; without a text, returns one that accepts every row.
Result<Filter> parse_optional_filter(std::optional<std::string_view> text);

// Encodes the store's result of an RPC write as the response message. `text` formats the ETags; it
// may be used for many results.
void encode_write_result(ResponseBuffer& out, const WriteResult& answer, TimestampFormatter& text);
void encode_error(ResponseBuffer& out, const Error& error);
void encode_error(ResponseBuffer& out, const GroupFailure& failure);
// Encodes an error that did not come from the store, with additional headers.
using HeaderViews = std::vector<std::pair<std::string_view, std::string_view>>;
void encode_error(ResponseBuffer& out, const ServiceError& error, const HeaderViews& headers);

}  // namespace entitable::rpc
