// Short forms of operations for the tests.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/txn/operation.h"

namespace entitable::test {

inline Operation operation(OperationKind kind, std::string_view partition, std::string_view row,
                           std::vector<Property> properties = {}) {
  Operation made{kind, EntityKey(partition, row), std::move(properties), {}};
  const bool conditional = kind == OperationKind::replace || kind == OperationKind::merge ||
                           kind == OperationKind::remove;
  if (conditional) made.if_match = IfMatch::any();
  return made;
}

inline Operation insert(std::string_view partition, std::string_view row,
                        std::vector<Property> properties = {}) {
  return operation(OperationKind::insert, partition, row, std::move(properties));
}

inline Operation with_etag(Operation made, Ticks timestamp) {
  made.if_match = *IfMatch::parse(etag_text(timestamp));
  return made;
}

inline Property text_property(std::string name, std::size_t units) {
  return {std::move(name), Value::of_string(std::string(units, 'x'))};
}

// Returns Binary properties that, with the key ("p", a row of one unit), make an entity of exactly
// `bytes`. REQUIRES: at least one property's overhead, at most the size of 30 properties.
inline std::vector<Property> properties_of_bytes(std::size_t bytes) {
  constexpr std::size_t overhead = 8 + 2 * 3 + 4;  // of a property whose name has three letters
  constexpr std::size_t value_max = 60'000;
  std::vector<Property> properties;
  std::size_t left = bytes - (4 + 2 * 2);
  while (left > 0) {
    std::size_t value = std::min(left - overhead, value_max);
    const std::size_t rest = left - overhead - value;
    if (rest > 0 && rest < overhead) value -= overhead;
    properties.push_back(
        {"p" + std::to_string(10 + properties.size()), Value::of_binary(std::string(value, 'b'))});
    left -= overhead + value;
  }
  return properties;
}

}  // namespace entitable::test
