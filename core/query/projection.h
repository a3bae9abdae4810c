// $select: which properties of a row are returned (core/rest/SERVICE.md §4.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/index/shape.h"

namespace entitable {

// Parses a comma-separated list of names to Query::select. Drops blanks around names, empty names
// and repeated names. A `*` anywhere, or no name at all, selects everything: the result is empty. A
// name may be any text, because a selected property may not exist. More than 255 different names,
// or more than 256 KiB of names, are InvalidInput.
Result<std::vector<std::string>> parse_select(std::string_view text);
// Applies the rules of parse_select() to a list that is already split.
Result<std::vector<std::string>> normalize_select(const std::vector<std::string_view>& names);

enum class PropertySourceKind : std::uint8_t {
  partition_key,
  row_key,
  timestamp,
  column,   // shape.columns()[column]
  by_name,  // the shape is generic: row.find(name), or null if the row lacks the property
  missing,  // the rows of the shape lack the property: null
};

struct PropertySource {
  PropertySourceKind kind;
  std::uint32_t column = 0;  // only if the kind is `column`
};

// Returns, for each name in `select`, where rows of the shape have that property. REQUIRES:
// `select` is not empty.
std::vector<PropertySource> find_property_sources(const std::vector<std::string>& select,
                                                  const Shape& shape);

}  // namespace entitable
