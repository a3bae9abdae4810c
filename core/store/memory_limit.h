// What of a store stays in memory.
#pragma once

#include <cstdint>

#include "core/store/catalog.h"

namespace entitable {

// Drops clean parts of about `bytes` in all, if there are so many: first those that nobody used
// since this was called last, then the others; in the order of tables and keys.
void unload_unused_parts(Catalog& catalog, std::uint64_t bytes);

}  // namespace entitable
