// Splits a leaf that is too full into several. Internal to core/index.
#pragma once

#include <string_view>
#include <vector>

#include "core/index/inner_node.h"
#include "core/index/leaf.h"

namespace entitable {

// Returns the shortest bound with below < bound <= above: a prefix of `above` that ends at a whole
// character. If the partitions differ, the row of the bound is empty. REQUIRES: below < above.
EntityKey bound_between(const KeyView& below, const KeyView& above);

// Returns the leaves that replace `leaf` when a row is inserted or replaced at `position`, the
// result of find() for its key. The lower bound of the first leaf is left empty. If the row comes
// before or after all rows of `leaf`, the result contains `leaf` itself, unchanged, so that inserts
// in key order leave full leaves behind. REQUIRES: `packed` starts with key.row.
std::vector<Child> split_leaf(const Ref<Node>& leaf, const Leaf::FindResult& position,
                              const KeyView& key, std::string_view packed);

}  // namespace entitable
