// Bearer tokens (JSON Web Tokens) of Microsoft Entra ID, checked as Azurite does at its OAuth level
// "basic": issuer, audience and lifetime. Signatures are not verified, so the check only suits
// development.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/model/date_time.h"

namespace entitable::rest {

// Checks that the token is for this account and valid now. AuthenticationFailed: it is not; the
// message says what is wrong.
Result<void> check_bearer_token(std::string_view token, std::string_view account, Ticks now);

// AuthenticationFailed, with `detail` after the service's message.
Error bearer_token_error(std::string_view detail);

}  // namespace entitable::rest
