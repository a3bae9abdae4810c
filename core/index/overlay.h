// The changes to a part's rows since the part was stored, by key. Internal to core/index.
//
//   unloaded leaf            its rows are in the part, in storage; these changes are not
//     |- part 7              "a" "b" "c" "d"
//     '- overlay             "b" -> a packed row (row.h)   put: in place of the row, or a new one
//                            "d" -> nothing                erased
//
//   leaves of part 7       after loading: "a", the new "b", "c", under the same overlay; so they
//     |- part 7              may be dropped again, and an unloaded leaf as above takes their place,
//     '- overlay             unless a row that came later has taken the place of "d"
//
// So replaying a log that changes many parts loads none of them. A part is loaded when its rows are
// read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/refcounted.h"
#include "core/model/key.h"

namespace entitable {

// Shared by versions and by the leaves of a part. Changed only while it has a single reference.
class Overlay : public RefCounted<Overlay> {
 public:
  struct Order {
    bool operator()(const EntityKey& a, const EntityKey& b) const {
      return compare(a.view(), b.view()) < 0;
    }
  };
  // The last change of each row: the row as it is since, packed, or empty if it was erased.
  using Changes = std::map<EntityKey, std::string, Order>;

  const Changes& changes() const { return changes_; }
  std::uint64_t bytes() const { return bytes_; }  // packed, of the rows
  std::uint64_t memory() const;                   // about

  void put(const KeyView& key, std::string_view packed);
  void erase(const KeyView& key) { put(key, {}); }

 private:
  Changes changes_;
  std::uint64_t bytes_ = 0;
  std::uint64_t key_bytes_ = 0;
};

}  // namespace entitable
