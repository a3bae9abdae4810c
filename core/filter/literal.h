// The literal forms of $filter: a token to a value and back. GRAMMAR.md lists them.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/filter/token.h"
#include "core/model/value.h"

namespace entitable {

// Whether a token stands for a value: a number, a string, a typed literal, or one of the words
// true, false, null, NaN, INF and Infinity (which therefore name no property in a filter).
bool is_literal(const Token& token);

// Errors:
//   InvalidInput "Unrecognized 'Edm.Int32' literal '5454161346626'"
//       content that is none of its type, and so with every type; an integer without L is an Int32
//   InvalidInput, standard text
//       null, and types that no property can have
// REQUIRES: is_literal(token).
Result<Value> parse_literal(const Token& token);

// A literal that parses to the same value bit for bit (any NaN to the one there is).
std::string literal_text(const ValueView& value);

}  // namespace entitable
