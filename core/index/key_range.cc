#include "core/index/key_range.h"

namespace entitable {

KeyRange KeyRange::point(const KeyView& key) {
  return {EntityKey(key.partition, key.row), EntityKey(key.partition, successor(key.row))};
}

KeyRange KeyRange::partition(std::string_view partition) {
  return {EntityKey(partition, {}), EntityKey(successor(partition), {})};
}

bool KeyRange::contains(const KeyView& key) const {
  return compare(lower.view(), key) <= 0 && (!upper || compare(key, upper->view()) < 0);
}

bool KeyRange::empty() const {
  return upper && compare(lower.view(), upper->view()) >= 0;
}

KeyRange intersect(const KeyRange& a, const KeyRange& b) {
  KeyRange both;
  both.lower = compare(a.lower.view(), b.lower.view()) >= 0 ? a.lower : b.lower;
  if (!a.upper || !b.upper) {
    both.upper = a.upper ? a.upper : b.upper;
  } else {
    both.upper = compare(a.upper->view(), b.upper->view()) <= 0 ? a.upper : b.upper;
  }
  return both;
}

}  // namespace entitable
