// $filter text to tree; the grammar is in GRAMMAR.md.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/filter/ast.h"

namespace entitable {

// Errors, none of which depends on data:
//   InvalidInput "Syntax error at position N in '<filter>'."
//       N = offset in UTF-16 units just past the first token that cannot stand where it does;
//       the length of the text if something is missing at its end
//   InvalidInput "Unrecognized 'Edm.Int32' literal '5454161346626'"
//       an integer outside Int32 without L; the same with another type for any bad content
//   InvalidInput, standard text
//       null, a literal of a type no property can have; text that is not WTF-8, is over
//       limits::filter_bytes_max or nests deeper than limits::filter_depth_max
//   NotImplemented
//       what is legal OData and not run: property–property, constant–constant, a condition
//       compared, arithmetic, functions, a constant other than true and false as a condition
// The leftmost InvalidInput wins; NotImplemented is said only of a text that has none.
//
// Time and memory are linear in the text, and nothing recurses. Nesting is the number of
// parentheses, `not`s and signs that are open at one place.
Result<Filter> parse_filter(std::string_view text);

}  // namespace entitable
