// Parses the JSON bodies of writes: entities, and tables to be created.
//
// A type annotation may stand before or after its property: "age":"39",
// "age@odata.type":"Edm.Int64". Without an annotation, a string is a String, and true and false are
// Boolean. A number is an Int32 if it is written as an integer and fits, otherwise a Double (also
// 3.0 and 3e0). A property that is null counts as absent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/entity.h"

namespace entitable::rest {

struct EntityBody {
  EntityKey key;  // only set for an insert
  std::vector<Property> properties;
};

// Parse the body of an insert, and of any other write. An insert needs PartitionKey and RowKey in
// the body. An update ignores them there, because its URL has the key. Members whose name begins
// with "odata.", Timestamp, and annotations of absent properties are ignored.
//
// InvalidInput: not a JSON object, an unknown type, or a value that is an array or object.
// DuplicatePropertiesSpecified: a repeated name. PropertiesNeedValue: a key is missing or null.
// PrimaryKeyPropertyIsInvalidType: a key is not a String. Also returns the errors of parse_value.
// The store checks names and number of properties.
Result<EntityBody> parse_inserted_entity(std::string_view body);
Result<EntityBody> parse_updated_entity(std::string_view body);

// The keys in the body of an insert, for descriptions of requests. A key that is missing or invalid
// is absent; other errors of the body are ignored.
struct BodyKeys {
  std::optional<std::string> partition, row;
};
BodyKeys parse_inserted_keys(std::string_view body);

// Returns the TableName in the body of Create Table. InvalidInput: not a JSON object, or the name
// is not a string. PropertiesNeedValue: the name is missing or null. DuplicatePropertiesSpecified:
// a repeated name.
Result<std::string> parse_create_table_body(std::string_view body);

}  // namespace entitable::rest
