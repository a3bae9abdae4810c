#include "core/index/overlay.h"

namespace entitable {

void Overlay::put(const KeyView& key, std::string_view packed) {
  const auto [at, is_new] = changes_.try_emplace(EntityKey(key.partition, key.row));
  if (is_new) key_bytes_ += key.partition.size() + key.row.size();
  const std::uint64_t before = at->second.size();
  at->second.assign(packed);
  bytes_ += packed.size();
  bytes_ -= before;
}

std::uint64_t Overlay::memory_bytes() const {
  constexpr std::uint64_t links = 4 * sizeof(void*);  // in each node of the map
  constexpr std::uint64_t block_overhead = 16;
  return sizeof(Overlay) + key_bytes_ + bytes_ +
         changes_.size() * (sizeof(Changes::value_type) + links + block_overhead);
}

}  // namespace entitable
