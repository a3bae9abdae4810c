// Whole-store invariants, for tests, verify() and the demo.
#pragma once

#include <string>

#include "core/store/catalog.h"

namespace entitable {

// Empty text: names and ids agree, and every index holds its own invariants. Otherwise what is
// wrong, and where.
std::string verify_catalog(const Catalog& catalog);

}  // namespace entitable
