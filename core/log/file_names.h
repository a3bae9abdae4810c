// Names of the files of a store, which all lie in one flat folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/commit.h"

namespace entitable {

inline const std::string manifest_name = "manifest";

// Return "wal-" or "part-" followed by 16 lower-case hex digits, so that names sort like their
// numbers.
std::string segment_name(std::uint64_t sequence);
std::string part_name(PartId id);

// Parse such a name; return nothing for any other text.
std::optional<std::uint64_t> parse_segment_name(std::string_view name);
std::optional<PartId> parse_part_name(std::string_view name);

}  // namespace entitable
