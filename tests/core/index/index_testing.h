// What the tests of the index share: entities in short, random keys, and the rows of an index as a
// plain list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/index/cursor.h"
#include "core/index/table_index.h"
#include "tests/support/prng.h"

namespace entitable::test {

inline Entity entity(std::string_view partition, std::string_view row, Ticks timestamp = 1,
                     std::vector<Property> properties = {}) {
  Entity made;
  made.key = EntityKey(partition, row);
  made.timestamp = timestamp;
  made.properties = std::move(properties);
  return made;
}

// "000042": keys whose order is that of the numbers.
inline std::string digits(std::uint64_t number, std::size_t width = 6) {
  std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

// Properties by name, so that entities compare equal whatever the order.
inline Entity sorted(Entity entity) {
  std::sort(entity.properties.begin(), entity.properties.end(),
            [](const Property& a, const Property& b) { return a.name < b.name; });
  return entity;
}

inline std::vector<std::string> keys_in(const TableIndex& index, const KeyRange& range = {}) {
  std::vector<std::string> keys;
  for (Cursor cursor(index, range); cursor.valid(); cursor.next()) {
    keys.push_back(std::string(cursor.row().partition()) + "|" + std::string(cursor.row().row()));
  }
  return keys;
}

inline std::vector<LeafInfo> leaves_of(const TableIndex& index) {
  std::vector<LeafInfo> leaves;
  index.for_each_leaf([&leaves](const LeafInfo& leaf) { leaves.push_back(leaf); });
  return leaves;
}

// A row of about `bytes` packed bytes.
inline Entity sized(std::string_view partition, std::string_view row, std::size_t bytes,
                    Ticks timestamp = 1) {
  return entity(partition, row, timestamp, {{"text", Value::of_string(std::string(bytes, 'x'))}});
}

struct KeyOrder {
  bool operator()(const EntityKey& a, const EntityKey& b) const {
    return compare(a.view(), b.view()) < 0;
  }
};

// The slow obvious model of a table.
using Model = std::map<EntityKey, Entity, KeyOrder>;

// A text of characters that are hard to sort: U+D7FF, U+E000, U+FFFF, pairs, lone surrogates, and
// plain letters.
inline std::string hard_text(Prng& random, std::size_t units_max) {
  static constexpr char16_t choice[] = {u'a',   u'b',   0xD7FF, 0xE000, 0xFFFD,
                                        0xD800, 0xDBFF, 0xDC00, 0xDFFF};
  std::u16string text;
  const std::size_t units = random.below(units_max + 1);
  while (text.size() < units) text.push_back(choice[random.below(std::size(choice))]);
  return wtf8_from_utf16(text);
}

}  // namespace entitable::test
