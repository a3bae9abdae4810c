// What goes by either door, told and answered without the store's having a part in it: for those
// who log requests, and fail some of them on purpose.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/rest/account.h"
#include "core/rpc/message.h"
#include "core/store/request_description.h"
#include "core/store/store.h"

namespace entitable::dispatch {

// Of a block of either door, in a call or not. The same call is described alike, whichever door it
// comes through; what is malformed is RequestOperation::unknown.
RequestDescription describe_request(const rest::Account& account, std::string_view message);

// As JSON, with what is known only (RequestDescription of web/src/types.ts):
//   {"operation":"query","table":"people","filter":"Age gt 3","select":["Age"],"top":5}
//   {"operation":"batch","table":"people","partitionKey":"p","operations":[{"operation":"upsert",
//     "mode":"Merge","table":"people","partitionKey":"p","rowKey":"1"}]}
std::string description_json(const RequestDescription& description);

// The reply that the service would give to the block if it failed as `refusal` says: an HTTP
// response, or an error block that its client makes the same error of. Nothing is done.
//
// The refusal is a JSON object of "code", and if the catalogue (core/model/service_error) doesn't
// know that or it is to be otherwise, "status" (300 to 599) and "message" (else what HTTP says of
// the status); "header:<name>" for each header more. InvalidInput, in words, if it is not.
Result<void> make_error_response(const rest::Account& account, const Store& store,
                                 std::string_view message, std::string_view error_json, Ticks now,
                                 rpc::ResponseBuffer& out);

// What the reply says became of the block, in or without its call.
RequestOutcome outcome_of(std::string_view message, std::string_view response);

}  // namespace entitable::dispatch
