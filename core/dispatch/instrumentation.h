// Describes messages of both entry points and makes error responses for them, without executing
// them. Hosts use this to log requests and to inject faults.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/rest/account_settings.h"
#include "core/rpc/message.h"
#include "core/store/request_description.h"
#include "core/store/store.h"

namespace entitable::dispatch {

// Returns the description of an RPC or HTTP message, wrapped in a call or not. RPC and REST
// requests for the same operation have equal descriptions. The operation of a malformed message is
// RequestOperation::unknown.
RequestDescription describe_request(const rest::Account& account, std::string_view message);

// Returns the description as JSON, without absent members (RequestDescription in web/src/types.ts):
//   {"operation":"query","table":"people","filter":"Age gt 3","select":["Age"],"top":5}
//   {"operation":"batch","table":"people","partitionKey":"p","operations":[{"operation":"upsert",
//     "mode":"Merge","table":"people","partitionKey":"p","rowKey":"1"}]}
std::string description_json(const RequestDescription& description);

// Sets `out` to the response that `message` would get if it failed with the error in `error_json`:
// an HTTP response or an RPC error response. Does not execute the message.
//
// `error_json` is a JSON object with "code" and, optionally, "status" (300 to 599), "message" and
// "header:<name>" for each additional header. The defaults for status and message are those of the
// code in core/model/service_error. For an unknown code the status is required, and the default
// message is the reason phrase of the status. Returns InvalidInput with a message if `error_json`
// is not such an object.
Result<void> make_error_response(const rest::Account& account, const Store& store,
                                 std::string_view message, std::string_view error_json, Ticks now,
                                 rpc::ResponseBuffer& out);

// Returns the outcome that `response` reports for `message`, wrapped in a call or not.
ResponseOutcome response_outcome(std::string_view message, std::string_view response);

}  // namespace entitable::dispatch
