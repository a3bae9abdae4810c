// Splits a leaf that is too full into several. Internal to core/index.
#pragma once

#include <string_view>
#include <vector>

#include "core/index/inner_node.h"
#include "core/index/leaf.h"

namespace entitable {

// Returns the shortest key with below < key <= above whose last part is a prefix of the same part
// of `above`, in whole characters. If the partitions differ, the last part is the partition, and
// the row is empty. REQUIRES: below < above.
EntityKey bound_between(const KeyView& below, const KeyView& above);

// Returns the leaves that replace `leaf` when a row is inserted or replaced. `position`: the result
// of find() for the row's key. The lower bound of the first leaf is left empty. If the row comes
// before or after all rows of `leaf`, `leaf` itself is one of the results, so that inserts in key
// order leave full leaves. REQUIRES: `packed` starts with key.row.
std::vector<Child> split_leaf(const Ref<Node>& leaf, const Leaf::FindResult& position,
                              const KeyView& key, std::string_view packed);

}  // namespace entitable
