// A part that a manifest lists, from its file into its place in a table.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/index/table_index.h"
#include "core/log/manifest_codec.h"

namespace entitable {

struct Damage {
  std::string file;  // "manifest", "part-…", "wal-…"
  std::string message;
};

// Where a manifest lists a part.
struct ListedPart {
  TableId table;
  ManifestPart part;
  KeyRange
      range;  // from its lower bound to the next part's; the first one reaches down to the start
};

ListedPart listed_part(const ManifestTable& table, std::size_t position);
std::optional<ListedPart> find_part(const Manifest& manifest, PartId id);

// Whether the part's leaf is absent: its rows are still to be loaded.
bool is_unloaded(const TableIndex& index, const ListedPart& listed);

// Reads the file into each of these versions of the table. No file, or one that is not the part
// that is listed, whole and in its place, is recorded as damage and leaves the place empty; of a
// newer format is Code::format_too_new, and all is as before. REQUIRES: the part is absent in them;
// there is one at least.
Result<void> load_stored_part(const ListedPart& listed, std::optional<std::string_view> file,
                              const std::vector<TableIndex*>& versions,
                              std::vector<Damage>& damage);

}  // namespace entitable
