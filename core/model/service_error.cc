#include "core/model/service_error.h"

#include <cstddef>
#include <iterator>

#include "core/base/check.h"

namespace entitable {
namespace {

struct Line {
  Code code;
  ServiceError error;
};

// In the order of the codes. Status, service code and text are the service's; the exceptions say
// so.
constexpr Line lines[] = {
    {Code::invalid_input, {400, "InvalidInput", "One of the request inputs is not valid."}},
    {Code::out_of_range_input,
     {400, "OutOfRangeInput", "One of the request inputs is out of range."}},
    {Code::not_implemented,
     {501, "NotImplemented",
      "The requested operation is not implemented on the specified resource."}},
    {Code::request_body_too_large,
     {413, "RequestBodyTooLarge",
      "The request body is too large and exceeds the maximum permissible limit."}},
    {Code::duplicate_properties,
     {400, "DuplicatePropertiesSpecified", "A property is specified more than one time."}},
    {Code::properties_need_value,
     {400, "PropertiesNeedValue",
      "The values are not specified for all properties in the entity."}},
    {Code::property_name_invalid, {400, "PropertyNameInvalid", "The property name is invalid."}},
    {Code::property_name_too_long,
     {400, "PropertyNameTooLong", "The property name exceeds the maximum allowed length (255)."}},
    {Code::property_value_too_large,
     {400, "PropertyValueTooLarge",
      "The property value exceeds the maximum allowed size (64KB). If the property value is a "
      "string, it is UTF-16 encoded and the maximum number of characters should be 32K or less."}},
    {Code::too_many_properties,
     {400, "TooManyProperties",
      "The entity contains more properties than allowed. Each entity can include up to 252 "
      "properties to store data. Each entity also has 3 system properties."}},
    {Code::entity_too_large,
     {400, "EntityTooLarge", "The entity is larger than the maximum allowed size (1MB)."}},
    {Code::invalid_resource_name,  // the service's own spelling
     {400, "InvalidResourceName", "The specifed resource name contains invalid characters."}},
    {Code::primary_key_type_invalid,  // our text: the service's is not known
     {400, "PrimaryKeyPropertyIsInvalidType", "PartitionKey and RowKey must be strings."}},
    {Code::table_not_found, {404, "TableNotFound", "The table specified does not exist."}},
    {Code::table_already_exists,
     {409, "TableAlreadyExists", "The table specified already exists."}},
    {Code::resource_not_found, {404, "ResourceNotFound", "The specified resource does not exist."}},
    {Code::entity_already_exists,
     {409, "EntityAlreadyExists", "The specified entity already exists."}},
    {Code::update_condition_not_satisfied,
     {412, "UpdateConditionNotSatisfied",
      "The update condition specified in the request was not satisfied."}},
    {Code::batch_partitions_differ,
     {400, "CommandsInBatchActOnDifferentPartitions",
      "All commands in a batch must operate on same entity group."}},
    {Code::batch_duplicate_row,
     {400, "InvalidDuplicateRow",
      "The batch request contains multiple changes with same row key. An entity can appear only "
      "once in a batch request."}},
    {Code::internal_error,
     {500, "InternalError",
      "Server encountered an internal error. Please try again after some time."}},
    // Our own codes, for what only happens to a store on this machine. The official clients repeat
    // a request after 408 and 5xx other than 501 and 505, so what repeating cannot help is not one
    // of those, save damage, which is nobody's request's fault.
    {Code::out_of_memory,
     {507, "OutOfMemory", "There is not enough memory for this operation. Nothing was changed."}},
    {Code::corrupted, {500, "Corrupted", "Stored data is damaged and cannot be read."}},
    {Code::format_too_new,
     {501, "FormatTooNew", "The store was written by a newer version of this software."}},
    {Code::read_only,
     {403, "ReadOnly", "The store is open for reading only. Write operations are not allowed."}},
};

constexpr bool is_complete() {
  for (std::size_t i = 0; i < std::size(lines); ++i) {
    if (static_cast<std::size_t>(lines[i].code) != i) return false;
  }
  return std::size(lines) == static_cast<std::size_t>(Code::read_only) + 1;
}
static_assert(is_complete(), "one line for each code of core/base/status.h, in its order");

}  // namespace

const ServiceError& service_error(Code code) {
  const auto index = static_cast<std::size_t>(code);
  ENTITABLE_CHECK(index < std::size(lines));
  return lines[index].error;
}

std::string_view message_of(const Error& error) {
  return error.message.empty() ? service_error(error.code).message : error.message;
}

bool found_at_commit(Code code) {
  switch (code) {
    // Seen on the service without a prefix, or treated so by choice (spec §6.3).
    case Code::entity_already_exists:
    case Code::update_condition_not_satisfied:
    case Code::property_value_too_large:
    case Code::resource_not_found:
    // The stored entity is measured last, after all that needs a look at what is there.
    case Code::entity_too_large:
    // Failures of the store, which belong to no operation.
    case Code::internal_error:
    case Code::out_of_memory:
    case Code::corrupted:
    case Code::format_too_new:
    case Code::read_only:
      return true;
    case Code::invalid_input:
    case Code::out_of_range_input:
    case Code::not_implemented:
    case Code::request_body_too_large:
    case Code::duplicate_properties:
    case Code::properties_need_value:
    case Code::property_name_invalid:
    case Code::property_name_too_long:
    case Code::too_many_properties:
    case Code::invalid_resource_name:
    case Code::primary_key_type_invalid:
    case Code::table_not_found:
    case Code::table_already_exists:
    case Code::batch_partitions_differ:
    case Code::batch_duplicate_row:
      return false;
  }
  ENTITABLE_CHECK(false);
}

}  // namespace entitable
