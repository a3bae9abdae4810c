// What is answered: entities and tables as OData v3 JSON, at three levels of metadata, always on
// one line. Types are said where they cannot be guessed; numbers show what they are: 3 is an
// Int32, 3.0 a Double.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/index/row.h"
#include "core/model/entity.h"
#include "core/rest/headers.h"

namespace entitable::rest {

// What is the same for all that one request is answered. Views: lives as long as the request.
struct ODataContext {
  MetadataLevel level = MetadataLevel::minimal;
  std::string_view base;                   // Uri::base
  std::string_view account;                // its name
  std::string_view table;                  // of entities
  std::optional<std::string_view> select;  // $select as it was asked, which odata.metadata repeats
};

std::string table_json(const ODataContext& odata, std::string_view name);
// `selected`: the names of $select; empty: everything.
std::string tables_json(const ODataContext& odata, const std::vector<std::string>& names,
                        const std::vector<std::string>& selected);

std::string entity_json(const ODataContext& odata, const Entity& entity);
std::string row_json(const ODataContext& odata, const RowView& row,
                     const std::vector<std::string>& selected);
std::string rows_json(const ODataContext& odata, std::span<const RowView> rows,
                      const std::vector<std::string>& selected);

}  // namespace entitable::rest
