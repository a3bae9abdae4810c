// Half-open ranges of keys.
#pragma once

#include <optional>
#include <string>

#include "core/model/key.h"

namespace entitable {

// The keys with lower <= key < upper. No `upper`: no upper bound. The default range holds all keys.
// For an inclusive upper bound, set `upper` to its successor() (core/model/key.h): no stored key
// lies between the two.
struct KeyRange {
  EntityKey lower;
  std::optional<EntityKey> upper;

  static KeyRange point(const KeyView& key);
  static KeyRange partition(std::string_view partition);
  bool contains(const KeyView& key) const;
  bool empty() const;  // returns whether `upper` is not above `lower`, so that no key fits
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// Returns the range of the keys in both ranges; it may be empty().
KeyRange intersect(const KeyRange& a, const KeyRange& b);

}  // namespace entitable
