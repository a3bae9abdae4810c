// The operations on entities: query, get one, and the six writes.
#pragma once

#include "core/base/result.h"
#include "core/rest/authorized_request.h"
#include "core/rest/batch_handler.h"
#include "core/rest/handle_result.h"

namespace entitable::rest {

// REQUIRES: authorized.route is the function's own route.
HandleResult query_entities(const AuthorizedRequest& authorized);
HandleResult get_entity(const AuthorizedRequest& authorized);

// Parses a write, alone or in a batch. Returns the operation and the functions that make its
// response.
//
// In this order: AtomFormatNotSupported, MediaTypeNotSupported; RequestBodyTooLarge; errors of the
// body (request_body.h) and of if_match_of(); AuthorizationFailure for a key in the body that the
// caller may not write. REQUIRES: authorized.route is that of a write.
Result<EntityWrite> parse_entity_write(const AuthorizedRequest& authorized);
HandleResult write_entity(const AuthorizedRequest& authorized);

}  // namespace entitable::rest
