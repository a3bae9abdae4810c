// Parses the text of a $filter to a tree. GRAMMAR.md describes the grammar.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/filter/ast.h"

namespace entitable {

// Returns the tree, which is empty for a blank text. Errors, none of which depends on data:
//   InvalidInput "Syntax error at position N in '<filter>'."
//       N = offset in UTF-16 units just past the first token that is not allowed at its place;
//       the length of the text if something is missing at its end
//   InvalidInput "Unrecognized 'Edm.Int32' literal '5454161346626'"
//       an integer outside Int32 without the suffix L; the same text with another type for invalid
//       literals of that type
//   InvalidInput, standard text
//       null; a literal of a type that no property can have; text that is not WTF-8, is longer than
//       limits::filter_bytes_max or is nested deeper than limits::filter_depth_max
//   NotImplemented
//       legal OData that is not supported: property–property, constant–constant, a comparison of
//       conditions, arithmetic, functions, a constant other than true and false as a condition
// The leftmost InvalidInput is returned; NotImplemented only if the text has no InvalidInput.
//
// Takes time and memory linear in the text, and does not recurse. The depth of a place in the text
// is the number of parentheses, `not`s and signs that are open there.
Result<Filter> parse_filter(std::string_view text);

}  // namespace entitable
