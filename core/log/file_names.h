// Names of the files of a store. A store's folder is flat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/commit.h"

namespace entitable {

inline const std::string manifest_name = "manifest";

// "wal-" and sixteen lower-case hex digits, so that names sort as sequences do; "part-" likewise.
std::string segment_name(std::uint64_t sequence);
std::string part_name(PartId id);

// The inverse; nothing for any other text.
std::optional<std::uint64_t> parse_segment_name(std::string_view name);
std::optional<PartId> parse_part_name(std::string_view name);

}  // namespace entitable
