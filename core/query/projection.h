// $select: which properties of a row are returned (core/rest/SERVICE.md §4.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/index/shape.h"

namespace entitable {

// A list of names to Query::select: split at commas, blanks around a name dropped, empty names
// skipped, of a name given twice the first kept. A `*` anywhere, or no name at all, selects
// everything: an empty list. Names need not exist anywhere, so any text is a name; more than 255
// different ones, or more than 256 KiB of them, are InvalidInput.
Result<std::vector<std::string>> parse_select(std::string_view text);
// The same for a list that comes as one.
Result<std::vector<std::string>> normalize_select(const std::vector<std::string_view>& names);

enum class SelectedKind : std::uint8_t {
  partition_key,
  row_key,
  timestamp,
  column,   // shape.columns()[column]
  by_name,  // the shape is generic: row.find(name), null if it has none
  missing,  // the rows lack it: null
};

struct SelectedProperty {
  SelectedKind kind;
  std::uint32_t column = 0;  // of kind column only
};

// How each selected name is answered for the rows of a shape, in the order selected. REQUIRES:
// `select` is not empty.
std::vector<SelectedProperty> select_properties(const std::vector<std::string>& select,
                                                const Shape& shape);

}  // namespace entitable
