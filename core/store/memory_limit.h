// Unloads parts of a store that exceeds its memory limit.
#pragma once

#include <cstdint>

#include "core/store/catalog.h"

namespace entitable {

// Unloads clean parts of about `bytes` bytes in total, or all of them if they are smaller. Parts
// that were not used since the previous call come first. Within each group, the order is that of
// tables and keys.
void unload_unused_parts(Catalog& catalog, std::uint64_t bytes);

}  // namespace entitable
