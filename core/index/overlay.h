// The changes to a part's rows since the part was stored, by key. A part is the stored file of one
// key range of rows; an unloaded leaf stands for a part that is not in memory. Internal to
// core/index.
//
//   unloaded leaf
//     |- part 7     in storage: rows "a" "b" "c" "d"
//     '- overlay    in memory: "b" -> a packed row (row.h): a new row, or the row was replaced
//                              "d" -> nothing: the row was erased
//
// Recovery and writes add changes to an overlay without loading the part. The part is loaded when
// its rows are read. The loaded leaves then hold "a", the new "b" and "c", and keep the overlay.
// The part can therefore be unloaded again: an unloaded leaf with the same part and overlay
// replaces the leaves. While memory is nearly full, a write unloads the part that it changes
// (TableIndex::unload_part_at), because a changed part in memory could not be unloaded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/refcounted.h"
#include "core/model/key.h"

namespace entitable {

// Versions of the index and the leaves of a part share an overlay. REQUIRES for changes: the
// overlay is referenced once.
class Overlay : public RefCounted<Overlay> {
 public:
  // About how many bytes an overlay takes before writes load the part instead. A write copies the
  // overlay if another version shares it, so this limits the cost of a write.
  static constexpr std::uint64_t bytes_max = 64 * 1024;

  struct Order {
    using is_transparent = void;
    bool operator()(const EntityKey& a, const EntityKey& b) const {
      return compare(a.view(), b.view()) < 0;
    }
    bool operator()(const EntityKey& a, const KeyView& b) const { return compare(a.view(), b) < 0; }
    bool operator()(const KeyView& a, const EntityKey& b) const { return compare(a, b.view()) < 0; }
  };
  // The last change of each row: the packed row after the change, or empty if the row was erased.
  using Changes = std::map<EntityKey, std::string, Order>;

  const Changes& changes() const { return changes_; }
  // Returns the key and the last change of the row, or null if the row is as in the part.
  const Changes::value_type* find(const KeyView& key) const {
    const auto at = changes_.find(key);
    return at == changes_.end() ? nullptr : &*at;
  }
  // How often writes have unloaded the part (TableIndex::unload_part_at). A part for which this is
  // high is loaded again and again.
  std::uint32_t unloads_by_writes() const { return unloads_by_writes_; }
  std::uint64_t packed_bytes() const { return bytes_; }  // size of the packed rows
  std::uint64_t memory_bytes() const;                    // estimated, in bytes
  // Whether a write should load the part instead of adding a change. Recovery adds changes to a
  // full overlay, too: it does not copy overlays.
  bool is_full() const { return memory_bytes() >= bytes_max; }

  void put(const KeyView& key, std::string_view packed);
  void erase(const KeyView& key) { put(key, {}); }
  void count_unload_by_write() { ++unloads_by_writes_; }

 private:
  Changes changes_;
  std::uint32_t unloads_by_writes_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t key_bytes_ = 0;
};

}  // namespace entitable
