#include "core/query/continuation.h"

#include <algorithm>
#include <array>

#include "core/base/base64.h"
#include "core/base/utf8.h"

namespace entitable {
namespace {

constexpr std::string_view version_mark = "1!";

// A character of standard base64, and the character that replaces it in tokens.
struct Replacement {
  char base64;
  char token;
};
constexpr std::array<Replacement, 3> replacements{{{'=', '-'}, {'/', '_'}, {'+', '*'}}};

std::string to_token_alphabet(std::string text) {
  for (const Replacement& r : replacements) {
    std::replace(text.begin(), text.end(), r.base64, r.token);
  }
  return text;
}

// Returns nothing if the text has characters that tokens do not use.
std::optional<std::string> to_base64_alphabet(std::string text) {
  for (const Replacement& r : replacements) {
    if (text.find(r.base64) != std::string::npos) return std::nullopt;
    std::replace(text.begin(), text.end(), r.token, r.base64);
  }
  return text;
}

Error bad_token() {
  return Error(ErrorCode::invalid_input);
}

struct TokenParts {
  std::string_view length;  // digits
  std::string_view text;
};

// Returns nothing if the text does not have the shape of a token.
std::optional<TokenParts> split(std::string_view token) {
  if (!token.starts_with(version_mark)) return std::nullopt;
  token.remove_prefix(version_mark.size());
  const std::size_t length_end = token.find_first_not_of("0123456789");
  if (length_end == 0 || length_end == std::string_view::npos || token[length_end] != '!')
    return std::nullopt;
  return TokenParts{token.substr(0, length_end), token.substr(length_end + 1)};
}

}  // namespace

std::string encode_token(std::string_view key) {
  const std::string text = to_token_alphabet(base64_encode(key));
  return std::string(version_mark) + std::to_string(text.size()) + "!" + text;
}

Result<std::string> decode_token(std::string_view token) {
  const std::optional<TokenParts> parts = split(token);
  if (!parts.has_value()) {
    if (!is_wtf8(token)) return bad_token();
    return std::string(token);
  }
  if (parts->length != std::to_string(parts->text.size())) return bad_token();
  const auto base64 = to_base64_alphabet(std::string(parts->text));
  if (!base64.has_value()) return bad_token();
  auto key = base64_decode(*base64);
  if (!key.has_value() || !is_wtf8(*key)) return bad_token();
  return std::move(*key);
}

ContinuationTokens encode_continuation(const Continuation& continuation) {
  return {encode_token(continuation.next.partition), encode_token(continuation.next.row)};
}

Result<Continuation> decode_continuation(std::string_view next_partition_key,
                                         std::optional<std::string_view> next_row_key) {
  const auto partition = decode_token(next_partition_key);
  if (!partition.ok()) return partition.error();
  Continuation continuation{EntityKey(*partition, "")};
  if (!next_row_key.value_or("").empty()) {
    auto row = decode_token(*next_row_key);
    if (!row.ok()) return row.error();
    continuation.next.row = std::move(*row);
  }
  return continuation;
}

}  // namespace entitable
