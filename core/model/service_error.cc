#include "core/model/service_error.h"

#include <cstddef>
#include <iterator>

#include "core/base/check.h"

namespace entitable {
namespace {

struct Line {
  ErrorCode code;
  ServiceError error;
  bool at_commit = false;
};

// Marks the errors for which is_commit_time_error() is true: errors that depend on stored rows,
// such as the size after a merge; failures of the store itself; and an error that the service was
// observed to find at commit. core/rest/SERVICE.md §6.3 lists them.
constexpr bool at_commit = true;

// In the order of the codes. Status, service code and text are the service's, except where noted.
constexpr Line lines[] = {
    {ErrorCode::invalid_input, {400, "InvalidInput", "One of the request inputs is not valid."}},
    {ErrorCode::out_of_range_input,
     {400, "OutOfRangeInput", "One of the request inputs is out of range."}},
    {ErrorCode::not_implemented,
     {501, "NotImplemented",
      "The requested operation is not implemented on the specified resource."}},
    {ErrorCode::request_body_too_large,
     {413, "RequestBodyTooLarge",
      "The request body is too large and exceeds the maximum permissible limit."}},
    {ErrorCode::duplicate_properties,
     {400, "DuplicatePropertiesSpecified", "A property is specified more than one time."}},
    {ErrorCode::properties_need_value,
     {400, "PropertiesNeedValue",
      "The values are not specified for all properties in the entity."}},
    {ErrorCode::property_name_invalid,
     {400, "PropertyNameInvalid", "The property name is invalid."}},
    {ErrorCode::property_name_too_long,
     {400, "PropertyNameTooLong", "The property name exceeds the maximum allowed length (255)."}},
    {ErrorCode::property_value_too_large,
     {400, "PropertyValueTooLarge",
      "The property value exceeds the maximum allowed size (64KB). If the property value is a "
      "string, it is UTF-16 encoded and the maximum number of characters should be 32K or less."},
     at_commit},
    {ErrorCode::too_many_properties,
     {400, "TooManyProperties",
      "The entity contains more properties than allowed. Each entity can include up to 252 "
      "properties to store data. Each entity also has 3 system properties."}},
    {ErrorCode::entity_too_large,
     {400, "EntityTooLarge", "The entity is larger than the maximum allowed size (1MB)."},
     at_commit},
    {ErrorCode::invalid_resource_name,  // the service's own spelling
     {400, "InvalidResourceName", "The specifed resource name contains invalid characters."}},
    {ErrorCode::primary_key_type_invalid,  // our text: the service's is not known
     {400, "PrimaryKeyPropertyIsInvalidType", "PartitionKey and RowKey must be strings."}},
    {ErrorCode::table_not_found, {404, "TableNotFound", "The table specified does not exist."}},
    {ErrorCode::table_already_exists,
     {409, "TableAlreadyExists", "The table specified already exists."}},
    {ErrorCode::resource_not_found,
     {404, "ResourceNotFound", "The specified resource does not exist."},
     at_commit},
    {ErrorCode::entity_already_exists,
     {409, "EntityAlreadyExists", "The specified entity already exists."},
     at_commit},
    {ErrorCode::update_condition_not_satisfied,
     {412, "UpdateConditionNotSatisfied",
      "The update condition specified in the request was not satisfied."},
     at_commit},
    {ErrorCode::batch_partitions_differ,
     {400, "CommandsInBatchActOnDifferentPartitions",
      "All commands in a batch must operate on same entity group."}},
    {ErrorCode::batch_duplicate_row,
     {400, "InvalidDuplicateRow",
      "The batch request contains multiple changes with same row key. An entity can appear only "
      "once in a batch request."}},
    {ErrorCode::invalid_uri,
     {400, "InvalidUri", "The requested URI does not represent any resource on the server."}},
    {ErrorCode::invalid_http_verb,
     {400, "InvalidHttpVerb", "The HTTP verb specified was not recognized by the server."}},
    {ErrorCode::method_not_allowed,
     {405, "MethodNotAllowed", "The requested method is not allowed on the specified resource."}},
    {ErrorCode::x_method_incorrect_count,
     {400, "XMethodIncorrectCount", "More than one X-HTTP-Method is specified."}},
    {ErrorCode::x_method_incorrect_value,
     {400, "XMethodIncorrectValue", "The specified X-HTTP-Method is invalid."}},
    {ErrorCode::x_method_not_using_post,
     {400, "XMethodNotUsingPost",
      "The request uses X-HTTP-Method with an HTTP verb other than POST."}},
    {ErrorCode::media_type_not_supported,
     {415, "MediaTypeNotSupported", "None of the provided media types are supported."}},
    {ErrorCode::atom_format_not_supported,
     {415, "AtomFormatNotSupported", "Atom format is not supported."}},
    {ErrorCode::json_verbose_not_supported,  // our text: the service's is not known
     {415, "JsonVerboseFormatNotSupported", "JSON verbose format is not supported."}},
    {ErrorCode::invalid_header_value,
     {400, "InvalidHeaderValue",
      "The value for one of the HTTP headers is not in the correct format."}},
    {ErrorCode::invalid_query_parameter,
     {400, "InvalidQueryParameterValue",
      "Value for one of the query parameters specified in the request URI is invalid."}},
    {ErrorCode::query_parameter_out_of_range,
     {400, "OutOfRangeQueryParameterValue",
      "One of the query parameters specified in the request URI is outside the permissible "
      "range."}},
    {ErrorCode::invalid_xml_document,
     {400, "InvalidXmlDocument", "XML specified is not syntactically valid."}},
    {ErrorCode::invalid_xml_node_value,
     {400, "InvalidXmlNodeValue",
      "The value for one of the XML nodes is not in the correct format."}},
    {ErrorCode::missing_xml_node,
     {400, "MissingRequiredXmlNode", "A required XML node was not specified in the request body."}},
    {ErrorCode::unsupported_xml_node,
     {400, "UnsupportedXmlNode",
      "One of the XML nodes specified in the request body is not supported."}},
    {ErrorCode::cors_preflight_failure,
     {403, "CorsPreflightFailure", "CORS not enabled or no matching rule found for this request."}},
    {ErrorCode::authentication_failed,
     {403, "AuthenticationFailed",
      "Server failed to authenticate the request. Make sure the value of Authorization header is "
      "formed correctly including the signature."}},
    {ErrorCode::invalid_authentication_info,
     {400, "InvalidAuthenticationInfo",
      "Authentication information is not given in the correct format. Check the value of "
      "Authorization header."}},
    {ErrorCode::authorization_failure,
     {403, "AuthorizationFailure", "This request is not authorized to perform this operation."}},
    {ErrorCode::permission_mismatch,
     {403, "AuthorizationPermissionMismatch",
      "This request is not authorized to perform this operation using this permission."}},
    {ErrorCode::protocol_mismatch,
     {403, "AuthorizationProtocolMismatch",
      "This request is not authorized to perform this operation using this protocol."}},
    {ErrorCode::source_ip_mismatch,  // core/rest inserts the address before the full stop
     {403, "AuthorizationSourceIPMismatch",
      "This request is not authorized to perform this operation using this source IP."}},
    {ErrorCode::service_mismatch,
     {403, "AuthorizationServiceMismatch",
      "This request is not authorized to perform this operation using this service."}},
    {ErrorCode::resource_type_mismatch,
     {403, "AuthorizationResourceTypeMismatch",
      "This request is not authorized to perform this operation using this resource type."}},
    {ErrorCode::secondary_is_read_only,
     {403, "InsufficientAccountPermissions", "Write operations are not allowed."}},
    {ErrorCode::table_has_pending_operations,  // ours
     {409, "TableHasPendingOperations",
      "The table has changes that its remote table does not have yet. They would be lost."}},
    {ErrorCode::internal_error,
     {500, "InternalError",
      "Server encountered an internal error. Please try again after some time."},
     at_commit},
    // Our own codes, for what can only happen to a store on this machine. The official clients
    // retry after status 408 and after 5xx except 501 and 505. An error that a retry cannot fix
    // therefore has another status. The exception is Corrupted, which is 500 because no request
    // causes damage.
    {ErrorCode::out_of_memory,
     {507, "OutOfMemory", "There is not enough memory for this operation. Nothing was changed."},
     at_commit},
    {ErrorCode::corrupted,
     {500, "Corrupted", "Stored data is damaged and cannot be read."},
     at_commit},
    {ErrorCode::format_too_new,
     {501, "FormatTooNew", "The store was written by a newer version of this software."},
     at_commit},
    {ErrorCode::read_only,
     {403, "ReadOnly", "The store is open for reading only. Write operations are not allowed."},
     at_commit},
};

// Errors of the service that cannot happen in this store (core/rest/SERVICE.md §9.3).
constexpr ServiceError never_ours[] = {
    {403, "AccountIsDisabled", "The specified account is disabled."},
    {400, "ContentLengthExceeded",
     "The content length for the requested operation has exceeded the limit (4MB)."},
    {400, "DuplicateKeyPropertySpecified",  // our text: the service's is not known
     "A key property is specified more than one time."},
    {404, "EntityNotFound", "The specified entity does not exist."},
    {400, "HostInformationNotPresent",
     "The required host information is not present in the request. You must send a non-empty Host "
     "header or include the absolute URI in the request line."},
    {400, "InvalidValueType", "The value specified is invalid."},
    {415, "JsonFormatNotSupported", "JSON format is not supported."},
    {400, "KeyValueTooLarge", "The key value exceeds the maximum allowed size."},  // our text
    {400, "MissingRequiredHeader",
     "An HTTP header that's mandatory for this request is not specified."},
    {500, "OperationTimedOut", "The operation could not be completed within the permitted time."},
    {503, "ServerBusy", "The server is busy."},
    {409, "TableBeingDeleted", "The specified table is being deleted. Try operation later."},
};

constexpr bool is_complete() {
  for (std::size_t i = 0; i < std::size(lines); ++i) {
    if (static_cast<std::size_t>(lines[i].code) != i) return false;
  }
  return std::size(lines) == static_cast<std::size_t>(ErrorCode::read_only) + 1;
}
static_assert(is_complete(), "one line for each code of core/base/error.h, in its order");

const Line& line_of(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  ENTITABLE_CHECK(index < std::size(lines));
  return lines[index];
}

}  // namespace

const ServiceError& service_error_of(ErrorCode code) {
  return line_of(code).error;
}

const ServiceError* find_service_error(std::string_view code) {
  for (const Line& line : lines) {
    if (line.error.code == code) return &line.error;
  }
  for (const ServiceError& error : never_ours) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

std::string_view error_message(const Error& error) {
  return error.message.empty() ? service_error_of(error.code).message : error.message;
}

bool is_commit_time_error(ErrorCode code) {
  return line_of(code).at_commit;
}

}  // namespace entitable
