// A page of rows as a reply block (LAYOUT.md): shapes once, then per row its payloads, all text in
// one area.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/direct/block.h"
#include "core/index/row.h"
#include "core/query/query.h"

namespace entitable::direct {

// Column types of a page: 0, the numbers of EdmType, and these.
inline constexpr std::uint8_t column_null = 0;
inline constexpr std::uint8_t column_etag = 16;
inline constexpr std::uint8_t column_partition = 17;
inline constexpr std::uint8_t column_row = 18;
inline constexpr std::uint8_t column_timestamp = 19;

// `select` as normalize_select() gives it; empty: everything. `table` only makes the shapes' hints
// differ from table to table. REQUIRES: the version that the rows come from is held.
void write_page(ReplyBuffer& out, std::string_view table, std::span<const RowView> rows,
                const std::vector<std::string>& select, const std::optional<Continuation>& next);

}  // namespace entitable::direct
