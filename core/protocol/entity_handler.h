// The operations on entities: query, get one, and the six writes.
#pragma once

#include "core/base/result.h"
#include "core/protocol/batch_handler.h"
#include "core/protocol/call.h"
#include "core/protocol/handled.h"

namespace entitable::protocol {

// REQUIRES: call.route is the one of the function.
Handled query_entities(const Call& call);
Handled get_entity(const Call& call);

// A write as it stands alone or in a batch: what it asks of the store, and what it is answered.
//
// In this order: AtomFormatNotSupported, MediaTypeNotSupported; RequestBodyTooLarge; errors of the
// body (entity_body.h) and of condition_of(); AuthorizationFailure for a key in the body that the
// caller may not write. REQUIRES: call.route is that of a write.
Result<EntityWrite> parse_entity_write(const Call& call);
Handled write_entity(const Call& call);

}  // namespace entitable::protocol
