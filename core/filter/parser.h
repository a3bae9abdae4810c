// $filter text to tree; the grammar is in GRAMMAR.md.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/filter/ast.h"

namespace entitable {

// Errors, all of which change nothing and none of which depends on data:
//   InvalidInput "Syntax error at position N in '<filter>'."  N = offset in units just past the first bad token
//   InvalidInput "Unrecognized 'Edm.Int32' literal '…'"       an integer outside Int32 without L
//   InvalidInput                                              bad literal content, null, unknown literal type,
//                                                             over limits::filter_bytes_max or filter_depth_max
//   NotImplemented                                            property–property, constant–constant, arithmetic, functions
// Time is linear in the text; the stack used is bounded by filter_depth_max.
Result<Filter> parse_filter(std::string_view text);

}  // namespace entitable
