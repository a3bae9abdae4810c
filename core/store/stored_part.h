// Writes the file of a part, and loads a part from its file into its table.
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

// A stored file that is missing or fails its checks.
struct Damage {
  std::string file;  // "manifest", "part-…", "wal-…"
  std::string message;
};

// A part as a manifest lists it, with its table and key range.
struct ListedPart {
  TableId table;
  ManifestPart part;
  // From the part's lower bound to that of the next part. The first part's range has no lower
  // bound.
  KeyRange range;
};

// Returns the part at this position of table.parts.
ListedPart listed_part(const ManifestTable& table, std::size_t position);

struct WrittenPart {
  ManifestPart part;
  std::string bytes;  // the file
};

// Writes the rows of `index` in `range` as the file of the part `id` of this table. REQUIRES: these
// rows are in memory.
WrittenPart write_stored_part(const TableIndex& index, const KeyRange& range, PartId id,
                              TableId table);

// Loads the part from its file into each of these versions of the table. A file that is missing,
// damaged or not the listed part is added to `damage`, and the part is then loaded without rows.
// Error: format_too_new for a file of a newer format; nothing has changed then. REQUIRES: there is
// at least one version, and the part is unloaded in all of them.
Result<void> load_stored_part(const ListedPart& listed, std::optional<std::string_view> file,
                              const std::vector<TableIndex*>& versions,
                              std::vector<Damage>& damage);

}  // namespace entitable
