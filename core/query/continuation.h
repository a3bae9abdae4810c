// Continuation tokens: the text of x-ms-continuation-NextPartitionKey and -NextRowKey
// (core/rest/SERVICE.md §5).
//
//   token = "1!" n "!" t        t = base64 of the key's text, n = length of t in decimal
//
// with '=' written '-', '/' written '_' and '+' written '*', so that a token needs no escaping in a
// URL or a header. (The URL-safe alphabet's '-' for '+' would make a final '-' mean two things.)
// The empty key is "1!0!". A token carries the next key and nothing else, so it survives writes,
// restarts and other tabs, and never expires.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/query/query.h"

namespace entitable {

// One key's token, also that of a table name (NextTableName).
std::string encode_token(std::string_view key);
// InvalidInput for any text that encode_token() does not give.
Result<std::string> decode_token(std::string_view token);

struct ContinuationTokens {
  std::string next_partition_key;
  std::string next_row_key;
};
ContinuationTokens encode_continuation(const Continuation& continuation);
// No or an empty row token is the empty RowKey: the start of the partition.
Result<Continuation> decode_continuation(std::string_view next_partition_key,
                                         std::optional<std::string_view> next_row_key);

}  // namespace entitable
