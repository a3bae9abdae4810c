// Entities and tables as OData v3 JSON, on one line, at three levels of metadata
// (request_headers.h). A type annotation is written only where JSON does not imply the type. An
// Int32 is written as 3, a Double as 3.0.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/index/row.h"
#include "core/model/entity.h"
#include "core/rest/request_headers.h"

namespace entitable::rest {

// Our own limit on the body of a page of entities. limits::page_bytes_max limits the rows as they
// are in memory, but text can take six times as many bytes in JSON.
inline constexpr std::size_t page_body_bytes_max = 64 * 1'048'576;

// What all entities or tables of one response have in common. Views text of the request.
struct ODataContext {
  MetadataLevel level = MetadataLevel::minimal;
  std::string_view base;     // ResourceUri::base
  std::string_view account;  // the account's name
  std::string_view table;    // the entities' table; empty in a response with tables
  // $select as the client wrote it, which odata.metadata repeats.
  std::optional<std::string_view> select;
};

// In all functions, `selected` holds the names in $select; empty selects everything.

std::string table_json(const ODataContext& odata, std::string_view name);
std::string tables_json(const ODataContext& odata, const std::vector<std::string>& names,
                        const std::vector<std::string>& selected);

std::string entity_json(const ODataContext& odata, const Entity& entity);
std::string row_json(const ODataContext& odata, const RowView& row,
                     const std::vector<std::string>& selected);

struct RowsJson {
  std::string body;
  std::size_t rows;  // how many of the rows the body holds, from the first on
};
// Stops before the first row that would make the body larger than page_body_bytes_max. The first
// row is always written: an entity takes less than that.
RowsJson rows_json(const ODataContext& odata, std::span<const RowView> rows,
                   const std::vector<std::string>& selected);

}  // namespace entitable::rest
