// Requests of the code that syncs tables (web/src/sync): reads of hidden tables, and changes of
// several tables in one commit. They use the messages of ordinary requests; which of the tables a
// message is for is given beside it. Only the owner of a store sends them, so no client can.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/rpc/message.h"
#include "core/rpc/page_writer.h"
#include "core/store/sync_tables.h"

namespace entitable::rpc {

// The number of a table in the calls below: that of a HiddenTable, or of the synced table itself.
inline constexpr std::uint32_t synced_table_number = 0xFF;

// Handles a get or a query message, whose table is the synced one. As handle_read()
// (operations.h), returns the parts that it needs, and otherwise no parts; `out` then holds the
// response. A query has no filter and no select. Its page ends after
// about 1 MiB.
std::vector<PartId> handle_sync_read(Store& store, std::uint32_t table, std::string_view request,
                                     PageWriter& pages, ResponseBuffer& out);

// Adds the operations of a write message to `changes`. Operations insertOrReplace put a row, and
// operations delete delete the row if there is one. `timestamps`: the Timestamps of the rows in
// ticks, a u64 for each operation; 0: the store chooses. Returns the error of parse_write(), or
// InvalidInput for other operations, and if `changes` has those of another table. REQUIRES:
// `message` outlives `changes`.
std::optional<Error> add_sync_changes(std::uint32_t table, std::string_view timestamps,
                                      std::string_view message, SyncedChanges& changes);

}  // namespace entitable::rpc
