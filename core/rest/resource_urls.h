// URLs of resources in responses. In a key, each quote is doubled, and all characters except quotes
// are percent-encoded (percent_encoding.h).
#pragma once

#include <string>
#include <string_view>

#include "core/model/key.h"

namespace entitable::rest {

// Appends for example people(PartitionKey='Sales',RowKey='o''x').
void append_entity_path(std::string& out, std::string_view table, const KeyView& key);
// Appends for example Tables('people').
void append_table_path(std::string& out, std::string_view table);

// Return the same after `base` (ResourceUri::base) and a slash.
std::string entity_url(std::string_view base, std::string_view table, const KeyView& key);
std::string table_url(std::string_view base, std::string_view table);

}  // namespace entitable::rest
