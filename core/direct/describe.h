// What blocks of the direct door say, without a store: for those who watch them go by.
#pragma once

#include <string_view>

#include "core/store/description.h"

namespace entitable::direct {

// Replaces what `out` holds. Nothing is known of a malformed block.
void describe(std::string_view request, Description& out);

// Of a reply: 200 to reads; to writes what HTTP says to a client that doesn't want them repeated,
// 204, or 202 to a transaction. `request`: what it answers.
Outcome outcome_of(std::string_view request, std::string_view reply);

}  // namespace entitable::direct
