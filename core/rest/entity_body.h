// The JSON that writers send: entities, and tables to be created.
//
// A name may carry its type, before or after the value: "age":"39", "age@odata.type":"Edm.Int64".
// Without one, a string is a String, true and false are Boolean, a number is Int32 if it is a whole
// one in its range and Double otherwise (3.0 and 3e0 too). null is absence.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/entity.h"

namespace entitable::rest {

struct EntityBody {
  EntityKey key;  // of an insert
  std::vector<Property> properties;
};

// Members that begin with "odata.", Timestamp, and types of what is not there are ignored. So are
// PartitionKey and RowKey in an update, whose address names the entity; an insert needs them.
//
// InvalidInput: not a JSON object, an unknown type, an array or an object as a value.
// DuplicatePropertiesSpecified: a name twice. PropertiesNeedValue: a key is missing or null.
// PrimaryKeyPropertyIsInvalidType: a key that is no String. Errors of parse_value. What a property
// may be called, and how many there may be, is the store's to say.
Result<EntityBody> parse_inserted_entity(std::string_view body);
Result<EntityBody> parse_updated_entity(std::string_view body);

// The keys of an insert as far as they are there, whatever else is wrong with it.
struct BodyKeys {
  std::optional<std::string> partition, row;
};
BodyKeys parse_inserted_keys(std::string_view body);

// The TableName of a table to be created. InvalidInput: not a JSON object, not a string.
// PropertiesNeedValue: missing or null. DuplicatePropertiesSpecified.
Result<std::string> parse_create_table_body(std::string_view body);

}  // namespace entitable::rest
