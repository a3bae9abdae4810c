// Decodes arbitrary text as a continuation token. The result must be an error, the text itself, or
// a key whose encoding is the text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/query/continuation.h"

namespace {

bool stands_for(std::string_view text, const std::string& key) {
  return key == text || entitable::encode_token(key) == text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace entitable;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<std::string> key = decode_token(text);
  if (key.ok()) {
    ENTITABLE_CHECK(is_wtf8(*key) && stands_for(text, *key));
  } else {
    ENTITABLE_CHECK(key.error() == Error(ErrorCode::invalid_input));
  }
  // If the bytes are valid text, use them as a key too.
  if (is_wtf8(text)) {
    const Result<std::string> again = decode_token(encode_token(text));
    ENTITABLE_CHECK(again.ok() && *again == text);
  }
  // Split at the first line break, they are a pair of tokens.
  const std::size_t cut = text.find('\n');
  if (cut == std::string_view::npos) return 0;
  const std::string_view row = text.substr(cut + 1);
  const auto continuation = decode_continuation(text.substr(0, cut), row);
  if (!continuation.ok()) return 0;
  ENTITABLE_CHECK(stands_for(text.substr(0, cut), continuation->next.partition));
  ENTITABLE_CHECK(stands_for(row, continuation->next.row));
  return 0;
}
