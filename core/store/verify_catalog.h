// Checks the invariants of a whole store.
#pragma once

#include <string>

#include "core/store/catalog.h"

namespace entitable {

// Checks the invariants of catalog.h, and those of every index. Returns a description of the first
// violation, or an empty text.
std::string verify_catalog(const Catalog& catalog);

}  // namespace entitable
