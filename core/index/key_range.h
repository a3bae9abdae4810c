// Half-open ranges of keys.
#pragma once

#include <optional>
#include <string>

#include "core/model/key.h"

namespace entitable {

// lower <= key < upper. The default range is everything. An inclusive upper bound is written with
// successor() (key.h), since no stored key contains U+0000.
struct KeyRange {
  EntityKey lower;
  std::optional<EntityKey> upper;

  static KeyRange point(const KeyView& key);
  static KeyRange partition(std::string_view partition);
  bool contains(const KeyView& key) const;
  bool empty() const;  // whether no key can be in it: upper is not above lower
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// Returns the range of the keys in both ranges; it may be empty().
KeyRange intersect(const KeyRange& a, const KeyRange& b);

}  // namespace entitable
