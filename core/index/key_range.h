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
  bool empty() const;  // upper is not above lower, so no key can be in it
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// The keys in both; its bounds are the tighter ones, so it may be empty().
KeyRange intersect(const KeyRange& a, const KeyRange& b);

}  // namespace entitable
