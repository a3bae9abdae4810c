// EntityKey: PartitionKey and RowKey, their validity, and THE sort order of the store.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/utf8.h"

namespace entitable {

// A key that may point outside what can be stored (a bound of a range, a probe by a reader).
struct KeyView {
  std::string_view partition;
  std::string_view row;
};

struct EntityKey {
  std::string partition;
  std::string row;

  EntityKey() = default;
  EntityKey(std::string_view p, std::string_view r) : partition(p), row(r) {}
  KeyView view() const { return {partition, row}; }
  friend bool operator==(const EntityKey&, const EntityKey&) = default;
};

// PartitionKey, then RowKey, each by UTF-16 unit.
inline int compare(const KeyView& a, const KeyView& b) {
  const int order = compare_utf16(a.partition, b.partition);
  return order != 0 ? order : compare_utf16(a.row, b.row);
}

// True only for a key that check_key() and check_url_key() would not refuse, whatever its bytes:
// nearly all are plain.
bool is_trivially_valid_key(const KeyView& key);

// A key that may be stored: at most 512 units (PropertyValueTooLarge) and none of the forbidden
// characters / \ # ? U+0000..U+001F U+007F..U+009F (OutOfRangeInput "The 'PartitionKey' parameter
// of value '…' is out of range."). PartitionKey first, length before characters. REQUIRES: is_wtf8
// of both.
Result<void> check_key(const KeyView& key);

// A key in an address, as every operation but an insert names its entity: `/` or `\` in either part
// is InvalidInput "Bad Request - Error in query syntax.", any other forbidden character
// OutOfRangeInput with its standard text. Length is not looked at: no entity has a key that is too
// long. REQUIRES: is_wtf8 of both.
Result<void> check_url_key(const KeyView& key);

// The smallest string above `text`: text + U+0000, which no stored key can contain.
std::string successor(std::string_view text);

}  // namespace entitable
