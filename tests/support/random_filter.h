// Random $filter trees. Most conditions compare keys, because the planner turns these into ranges.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/filter/ast.h"
#include "core/model/value.h"
#include "tests/support/generators.h"
#include "tests/support/prng.h"

namespace entitable::test {

// The values that occur in the tested table. Most literals are taken from them, so that filters
// match some rows.
struct FilterVocabulary {
  std::vector<std::string> partitions;
  std::vector<std::string> rows;
  std::vector<Property> properties;
  std::vector<Ticks> timestamps;
};

inline FilterVocabulary vocabulary_of(const std::vector<Entity>& entities) {
  FilterVocabulary vocabulary;
  for (const Entity& entity : entities) {
    vocabulary.partitions.push_back(entity.key.partition);
    vocabulary.rows.push_back(entity.key.row);
    vocabulary.timestamps.push_back(entity.timestamp);
    for (const Property& property : entity.properties) vocabulary.properties.push_back(property);
  }
  return vocabulary;
}

class RandomFilter {
 public:
  RandomFilter(Prng& prng, const FilterVocabulary& vocabulary)
      : prng_(prng), vocabulary_(vocabulary) {}

  // Returns a filter that is not empty and has at most 2^depth conditions.
  Filter make(std::uint32_t depth) {
    filter_ = {};
    add_node(depth);
    return std::move(filter_);
  }

 private:
  std::uint32_t add(FilterNode node) {
    filter_.comparisons += node.kind == FilterKind::comparison;
    filter_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(filter_.nodes.size() - 1);
  }

  std::uint32_t add_node(std::uint32_t depth) {
    const std::uint64_t choice = prng_.below(10);
    if (depth == 0 || choice == 0) return add_leaf();
    if (choice == 1) {
      const std::uint32_t operand = add_node(depth - 1);
      return add({FilterKind::negation, operand});
    }
    const std::uint32_t left = add_node(depth - 1);
    const std::uint32_t right = add_node(depth - 1);
    return add({choice < 6 ? FilterKind::all_of : FilterKind::any_of, left, right});
  }

  std::uint32_t add_leaf() {
    const std::uint64_t choice = prng_.below(20);
    if (choice < 7) return add_comparison("PartitionKey", key_literal(vocabulary_.partitions));
    if (choice < 14) return add_comparison("RowKey", key_literal(vocabulary_.rows));
    if (choice == 14) return add_comparison("Timestamp", timestamp_literal());
    if (choice == 15) return add_leaf_of(FilterKind::flag);
    if (choice == 16) return add_leaf_of(FilterKind::constant);
    return add_property_comparison();
  }

  std::uint32_t add_comparison(std::string property, Value literal) {
    FilterNode node{FilterKind::comparison};
    node.op = static_cast<CompareOp>(prng_.below(6));
    node.property = std::move(property);
    node.literal = std::move(literal);
    return add(std::move(node));
  }

  std::uint32_t add_leaf_of(FilterKind kind) {
    FilterNode node{kind};
    if (kind == FilterKind::constant) node.literal = Value::of_boolean(prng_.chance(2));
    if (kind == FilterKind::flag) node.property = property_name();
    return add(std::move(node));
  }

  std::uint32_t add_property_comparison() {
    if (vocabulary_.properties.empty() || prng_.chance(6)) {
      return add_comparison(random_property_name(prng_), random_value(prng_));
    }
    const Property& property = pick(prng_, vocabulary_.properties);
    if (prng_.chance(2)) return add_comparison(property.name, property.value);
    const EdmType type = prng_.chance(3) ? random_type(prng_) : property.value.type();
    return add_comparison(property.name, random_value(prng_, type));
  }

  std::string property_name() {
    static const std::vector<std::string> system = {"PartitionKey", "RowKey", "Timestamp"};
    if (vocabulary_.properties.empty() || prng_.chance(6)) return pick(prng_, system);
    return pick(prng_, vocabulary_.properties).name;
  }

  Value key_literal(const std::vector<std::string>& keys) {
    if (prng_.chance(12)) return random_value(prng_);
    std::string key = keys.empty() || prng_.chance(6) ? random_key(prng_) : pick(prng_, keys);
    if (prng_.chance(12)) key.push_back('\0');
    return Value::of_string(key);
  }

  Value timestamp_literal() {
    if (prng_.chance(4)) return random_value(prng_);
    if (vocabulary_.timestamps.empty()) return Value::of_date_time(random_ticks(prng_));
    return Value::of_date_time(pick(prng_, vocabulary_.timestamps));
  }

  Prng& prng_;
  const FilterVocabulary& vocabulary_;
  Filter filter_;
};

}  // namespace entitable::test
