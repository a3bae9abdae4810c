// Unloads parts of a store that exceeds its memory limit.
#pragma once

#include <cstdint>

#include "core/store/catalog.h"

namespace entitable {

// Unloads parts (TableIndex::resident_parts) until about `bytes` bytes of memory are freed or no
// more parts can be unloaded. Unloads parts that were not used since the previous call before those
// that were used; within each of these groups, in the order of tables and keys.
void unload_unused_parts(Catalog& catalog, std::uint64_t bytes);

}  // namespace entitable
