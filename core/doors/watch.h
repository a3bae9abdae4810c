// What goes by either door, told and answered without the store's having a part in it: for those
// who log requests, and fail some of them on purpose.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/direct/block.h"
#include "core/protocol/account.h"
#include "core/store/description.h"
#include "core/store/store.h"

namespace entitable::doors {

// Of a block of either door, in a call or not. The same call is described alike, whichever door it
// comes through; what is malformed is DescribedAs::unknown.
Description describe(const protocol::Account& account, std::string_view block);

// As JSON, with what is known only (RequestDescription of web/src/types.ts):
//   {"operation":"query","table":"people","filter":"Age gt 3","select":["Age"],"top":5}
//   {"operation":"batch","table":"people","partitionKey":"p","operations":[{"operation":"upsert",
//     "mode":"Merge","table":"people","partitionKey":"p","rowKey":"1"}]}
std::string description_json(const Description& description);

// The reply that the service would give to the block if it failed as `refusal` says: an HTTP
// response, or an error block that its client makes the same error of. Nothing is done.
//
// The refusal is a JSON object of "code", and if the catalogue (core/model/service_error) doesn't
// know that or it is to be otherwise, "status" (300 to 599) and "message" (else what HTTP says of
// the status); "header:<name>" for each header more. InvalidInput, in words, if it is not.
Result<void> refuse(const protocol::Account& account, const Store& store, std::string_view block,
                    std::string_view refusal, Ticks now, direct::ReplyBuffer& out);

// What the reply says became of the block, in or without its call.
Outcome outcome_of(std::string_view block, std::string_view reply);

}  // namespace entitable::doors
