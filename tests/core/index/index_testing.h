// Helpers of the index tests: short forms of entities, random keys, and the rows of an index as a
// list.
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

inline Property int32_property(std::string name) {
  return {std::move(name), Value::of_int32(1)};
}

// Returns for example "000042". These keys sort like the numbers.
inline std::string digits(std::uint64_t number, std::size_t width = 6) {
  std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

// Returns the entity with its properties ordered by name, for comparison.
inline Entity sorted(Entity entity) {
  std::sort(entity.properties.begin(), entity.properties.end(),
            [](const Property& a, const Property& b) { return a.name < b.name; });
  return entity;
}

inline std::vector<std::string> keys_in(const TableIndex& index, const KeyRange& range = {}) {
  std::vector<std::string> keys;
  for (Cursor cursor(index, range); cursor.valid(); cursor.next()) {
    keys.push_back(std::string(cursor.row().partition()) + "|" +
                   std::string(cursor.row().row_key()));
  }
  return keys;
}

inline std::vector<LeafInfo> leaves_of(const TableIndex& index) {
  std::vector<LeafInfo> leaves;
  index.for_each_leaf([&leaves](const LeafInfo& leaf) { leaves.push_back(leaf); });
  return leaves;
}

// Returns an entity that takes about `bytes` bytes as a packed row.
inline Entity sized(std::string_view partition, std::string_view row, std::size_t bytes,
                    Ticks timestamp = 1) {
  return entity(partition, row, timestamp, {{"text", Value::of_string(std::string(bytes, 'x'))}});
}

struct KeyOrder {
  bool operator()(const EntityKey& a, const EntityKey& b) const {
    return compare(a.view(), b.view()) < 0;
  }
};

// A simple model of a table.
using Model = std::map<EntityKey, Entity, KeyOrder>;

// Returns a random text of letters, surrogates and characters near them, whose orders by UTF-8 byte
// and by UTF-16 unit differ.
inline std::string hard_text(Prng& random, std::size_t units_max) {
  static constexpr char16_t choice[] = {u'a',   u'b',   0xD7FF, 0xE000, 0xFFFD,
                                        0xD800, 0xDBFF, 0xDC00, 0xDFFF};
  std::u16string text;
  const std::size_t units = random.below(units_max + 1);
  while (text.size() < units) text.push_back(choice[random.below(std::size(choice))]);
  return wtf8_from_utf16(text);
}

}  // namespace entitable::test
