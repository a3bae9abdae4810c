// How a leaf that is too full becomes several. Internal to core/index.
#pragma once

#include <string_view>
#include <vector>

#include "core/index/inner_node.h"
#include "core/index/leaf.h"

namespace entitable {

// The shortest bound between two neighbouring keys: below < bound <= above, cut from `above` after
// a whole character. Between two partitions its row is empty. REQUIRES: below < above.
EntityKey bound_between(const KeyView& below, const KeyView& above);

// The leaves that take the place of `leaf` when a row is put at `position` (find()'s answer for its
// key). The lower bound of the first is left empty. Rows that come in order leave full leaves
// behind: then `leaf` itself is among the answer, unchanged. REQUIRES: `packed` starts with
// key.row.
std::vector<Child> split_leaf(const Ref<Node>& leaf, const Leaf::FindResult& position,
                              const KeyView& key, std::string_view packed);

}  // namespace entitable
