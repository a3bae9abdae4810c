// Checks the invariants of a whole store.
#pragma once

#include <string>

#include "core/store/catalog.h"

namespace entitable {

// Checks that names and ids agree and that every index keeps its own invariants. Returns a
// description of the first violation, or empty text.
std::string verify_catalog(const Catalog& catalog);

}  // namespace entitable
