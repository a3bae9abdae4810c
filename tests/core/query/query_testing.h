// Helpers of the query tests: filters from text, tables from lists, and a naive reference query.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/filter/evaluate.h"
#include "core/filter/parser.h"
#include "core/index/table_index.h"
#include "core/query/query.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"
#include "tests/support/prng.h"

namespace entitable::test {

inline Filter filter_of(std::string_view text) {
  CAPTURE(text);
  Result<Filter> filter = parse_filter(text);
  REQUIRE(filter.ok());
  return std::move(*filter);
}

inline Entity entity_of(std::string_view partition, std::string_view row,
                        std::vector<Property> properties = {}, Ticks timestamp = 1) {
  return {EntityKey(partition, row), timestamp, std::move(properties)};
}

// Returns for example "000042". These keys sort like the numbers.
inline std::string digits(std::uint64_t number, std::size_t width = 6) {
  const std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

// The model of a table: rows in key order, each key once.
class Rows {
 public:
  void put(Entity entity) {
    const auto at = place(entity.key);
    if (at != rows_.end() && at->key == entity.key) {
      *at = std::move(entity);
    } else {
      rows_.insert(at, std::move(entity));
    }
  }
  void erase(const EntityKey& key) {
    const auto at = place(key);
    if (at != rows_.end() && at->key == key) rows_.erase(at);
  }
  const std::vector<Entity>& all() const { return rows_; }

  // A naive query: returns the rows from `from` on that match.
  std::vector<Entity> matching(const Filter& filter, const EntityKey& from = {}) const {
    std::vector<Entity> found;
    for (const Entity& entity : rows_) {
      if (compare(entity.key.view(), from.view()) >= 0 && matches_unbound(filter, entity)) {
        found.push_back(entity);
      }
    }
    return found;
  }

  TableIndex index() const {
    TableIndex index;
    for (const Entity& entity : rows_) index.put(entity);
    return index;
  }

 private:
  std::vector<Entity>::iterator place(const EntityKey& key) {
    return std::partition_point(rows_.begin(), rows_.end(), [&key](const Entity& entity) {
      return compare(entity.key.view(), key.view()) < 0;
    });
  }
  std::vector<Entity> rows_;
};

// Returns rows of partition "p" with the keys 0 to count - 1, and with these numbers as `n`.
inline Rows numbered_rows(std::size_t count, std::size_t key_width = 4) {
  Rows rows;
  for (std::size_t i = 0; i < count; ++i) {
    const Property n{"n", Value::of_int32(static_cast<int>(i))};
    rows.put(entity_of("p", digits(i, key_width), {n}));
  }
  return rows;
}

inline Query query_of(std::string_view filter, std::uint32_t top = limits::page_rows_max) {
  Query query;
  query.filter = filter_of(filter);
  query.top = top;
  return query;
}

// Keys as short text, for messages and expectations: "a|1 a|2".
inline std::string key_text(const KeyView& key) {
  return std::string(key.partition) + "|" + std::string(key.row);
}

template <typename Range>
std::string keys_text(const Range& entities) {
  std::string text;
  for (const Entity& entity : entities) {
    text += (text.empty() ? "" : " ") + key_text(entity.key.view());
  }
  return text;
}

inline std::string keys_text(const std::vector<RowView>& rows) {
  std::string text;
  for (const RowView& row : rows) text += (text.empty() ? "" : " ") + key_text(row.key());
  return text;
}

// A few rows with unusual keys and properties of all types.
inline Rows random_rows(Prng& prng, std::size_t count_max) {
  Rows rows;
  for (std::uint64_t i = prng.below(count_max + 1); i > 0; --i) {
    Entity entity{random_entity_key(prng), random_ticks(prng), random_properties(prng, 5)};
    rows.put(std::move(entity));
  }
  return rows;
}

// Many rows of a few shapes in a few partitions: more than one leaf.
inline Rows regular_rows(Prng& prng, std::size_t count) {
  Rows rows;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Property> properties = {{"Number", Value::of_int32(static_cast<int>(i % 17))}};
    if (prng.chance(2)) {
      properties.push_back({"Text", Value::of_string(std::string(prng.below(60), 'x'))});
    }
    rows.put(entity_of("p" + digits(prng.below(5), 1), digits(i, 4), std::move(properties),
                       static_cast<Ticks>(i) + 1));
  }
  return rows;
}

}  // namespace entitable::test
