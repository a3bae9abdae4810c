// Addresses that answers carry. Keys have their quotes doubled and are then percent-encoded, except
// for the quotes.
#pragma once

#include <string>
#include <string_view>

#include "core/model/key.h"

namespace entitable::rest {

// people(PartitionKey='Sales',RowKey='o''x')
void append_entity_path(std::string& out, std::string_view table, const KeyView& key);
// Tables('people')
void append_table_path(std::string& out, std::string_view table);

std::string entity_url(std::string_view base, std::string_view table, const KeyView& key);
std::string table_url(std::string_view base, std::string_view table);

}  // namespace entitable::rest
