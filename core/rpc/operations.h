// The operations of the RPC entry point: decodes a request message, calls the store and encodes the
// response message. write_parser.h parses writes, and core/dispatch/dispatcher.h stages them
// together with REST writes. The functions here encode the responses of writes.
//
// No function here fails. A request that cannot be served gets an error response with the service's
// code and message.
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

// Handles get, query, explain, list tables and multi-get. Returns the parts to load before the
// caller repeats the request (PartsNeeded in query.h). If none are needed, `out` holds the
// response, and `rows`, if not null, counts the rows read and returned. `pages` provides reusable
// memory.
std::vector<PartId> handle_read(const Store& store, std::string_view request, PageWriter& pages,
                                ResponseBuffer& out, RowCounts* rows = nullptr);

// Converts a host's clock, in milliseconds since 1970 with a fraction, to ticks. Returns the Unix
// epoch for values that are not a time; the store's clock rises nevertheless.
Ticks ticks_from_unix_ms(double milliseconds);

// Allocates memory for the response to one successful write operation, so that encoding the
// response cannot run out of memory.
void reserve_write_result(ResponseBuffer& out);

// Encodes the store's result of an RPC write. `text` caches the text that consecutive timestamps
// share.
void encode_write_result(ResponseBuffer& out, const WriteResult& answer, TimestampFormatter& text);
void encode_error(ResponseBuffer& out, const Error& error);
void encode_error(ResponseBuffer& out, const GroupFailure& failure);
// Encodes an error that did not come from the store, with additional headers.
using HeaderViews = std::vector<std::pair<std::string_view, std::string_view>>;
void encode_error(ResponseBuffer& out, const ServiceError& error, const HeaderViews& headers);

}  // namespace entitable::rpc
