// Makes PutRow mutations. A PutRow views its entity, so the entities are kept until the program
// ends.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "core/model/commit.h"

namespace entitable::test {

inline PutRow put_row(TableId table, Entity entity) {
  struct Kept {
    Entity entity;
    std::vector<PropertyView> properties;
  };
  static std::deque<Kept> all;
  Kept& kept = all.emplace_back(Kept{std::move(entity), {}});
  for (const Property& property : kept.entity.properties) {
    kept.properties.push_back({property.name, property.value.view()});
  }
  return {table, kept.entity.key.view(), kept.entity.timestamp, kept.properties};
}

}  // namespace entitable::test
