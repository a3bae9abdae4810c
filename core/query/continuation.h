// Continuation tokens: the text of x-ms-continuation-NextPartitionKey and -NextRowKey
// (core/rest/SERVICE.md §5).
//
//   token = "1!" n "!" t        t = base64 of the key's text, n = length of t in decimal
//
// where '=' is written '-', '/' is written '_' and '+' is written '*', so that a token needs no
// escaping in a URL or a header. The URL-safe base64 alphabet is not used: there '-' means '+', so
// a final '-' would be ambiguous. The token of the empty key is "1!0!". A token contains only the
// next key. It therefore stays valid after writes, after a restart and in another tab, and never
// expires.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/query/query.h"

namespace entitable {

// Encodes one key, or a table name (NextTableName).
std::string encode_token(std::string_view key);
// Returns the key or table name. Text without the shape "1!<digits>!<text>" is the key itself,
// because some clients send keys and names of their own. InvalidInput: text with this shape that
// encode_token() cannot produce, or that is not WTF-8.
Result<std::string> decode_token(std::string_view token);

struct ContinuationTokens {
  std::string next_partition_key;
  std::string next_row_key;
};
ContinuationTokens encode_continuation(const Continuation& continuation);
// A missing or empty row token means the empty RowKey: the start of the partition.
Result<Continuation> decode_continuation(std::string_view next_partition_key,
                                         std::optional<std::string_view> next_row_key);

}  // namespace entitable
