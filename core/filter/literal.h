// The literals of $filter: converts tokens to values and values to literals. GRAMMAR.md lists them.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/filter/token.h"
#include "core/model/value.h"

namespace entitable {

// Returns whether a token is a literal: a number, a string, a typed literal, or one of the words
// true, false, null, NaN, INF and Infinity. These words therefore cannot be property names in a
// filter.
bool is_literal(const Token& token);

// Returns the value of a literal. Errors:
//   InvalidInput "Unrecognized 'Edm.Int32' literal '5454161346626'"
//       the content is invalid for the type (here Int32: an integer without the suffix L)
//   InvalidInput, standard text
//       null, and types that no property can have
// REQUIRES: is_literal(token).
Result<Value> parse_literal(const Token& token);

// Returns a literal that parses to the same value, bit for bit (except that all NaNs become `NaN`).
std::string literal_text(const ValueView& value);

}  // namespace entitable
