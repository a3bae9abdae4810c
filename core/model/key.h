// EntityKey: PartitionKey and RowKey, their validity, and the store's sort order.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/utf8.h"

namespace entitable {

// A key whose text is owned elsewhere. It may be a key that cannot be stored: the bound of a range,
// or the key of a lookup.
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

// Compares PartitionKeys, then RowKeys, each by UTF-16 unit. Returns a negative number, zero or a
// positive number.
inline int compare(const KeyView& a, const KeyView& b) {
  const int order = compare_utf16(a.partition, b.partition);
  return order != 0 ? order : compare_utf16(a.row, b.row);
}

// A fast check. True guarantees that check_key() and check_url_key() accept the key; false is
// inconclusive. True for nearly all valid keys. Accepts any bytes.
bool is_trivially_valid_key(const KeyView& key);

// Checks a key to be stored: at most 512 units (PropertyValueTooLarge) and none of the forbidden
// characters / \ # ? U+0000..U+001F U+007F..U+009F (OutOfRangeInput "The 'PartitionKey' parameter
// of value '…' is out of range."). Checks PartitionKey first, and length before characters.
// REQUIRES: is_wtf8() of both.
Result<void> check_key(const KeyView& key);

// Checks a key that a URL contains (all operations but insert). `/` or `\` in PartitionKey or
// RowKey is InvalidInput "Bad Request - Error in query syntax."; any other forbidden character is
// OutOfRangeInput with its standard text. Does not check the length: a key that is too long matches
// no entity. REQUIRES: is_wtf8() of both.
Result<void> check_url_key(const KeyView& key);

// Returns the smallest string above `text`: text + U+0000, which no stored key can contain.
std::string successor(std::string_view text);

}  // namespace entitable
