// Stores many short lists of property views in a few allocations. A list keeps its address until
// the arena is destroyed, even if the arena is moved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/model/entity.h"

namespace entitable {

class PropertyViewArena {
 public:
  PropertyViewArena() = default;
  PropertyViewArena(PropertyViewArena&&) = default;
  PropertyViewArena& operator=(PropertyViewArena&&) = default;

  // Removes all lists, but keeps memory for later ones.
  void clear() {
    if (chunks_.size() > 1) chunks_.erase(chunks_.begin() + 1, chunks_.end());
    if (!chunks_.empty()) chunks_.front().clear();
  }

  // Returns a new list with this number of views, for the caller to fill.
  std::span<PropertyView> allocate_list(std::size_t properties) {
    if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() < properties) {
      chunks_.emplace_back().reserve(std::max(properties, chunk_properties));
    }
    std::vector<PropertyView>& chunk = chunks_.back();
    const std::size_t start = chunk.size();
    chunk.resize(start + properties, {{}, ValueView::of_boolean(false)});
    return std::span(chunk).subspan(start);
  }
  std::span<const PropertyView> copy_list(std::span<const PropertyView> list) {
    const std::span<PropertyView> made = allocate_list(list.size());
    std::copy(list.begin(), list.end(), made.begin());
    return made;
  }

 private:
  static constexpr std::size_t chunk_properties = 1024;
  std::vector<std::vector<PropertyView>> chunks_;  // each stays within its reserved capacity
};

}  // namespace entitable
