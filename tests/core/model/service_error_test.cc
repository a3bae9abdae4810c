#include "core/model/service_error.h"

#include <set>

#include "tests/support/catch.h"

using namespace entitable;

namespace {

struct Expected {
  ErrorCode code;
  int status;
  std::string_view name;
  std::string_view message;
  bool at_commit = false;
};

// Typed a second time from core/rest/SERVICE.md (§9 and §6.3), so that a typo in either place
// fails.
const Expected table[] = {
    {ErrorCode::invalid_input, 400, "InvalidInput", "One of the request inputs is not valid.",
     false},
    {ErrorCode::out_of_range_input, 400, "OutOfRangeInput",
     "One of the request inputs is out of range.", false},
    {ErrorCode::not_implemented, 501, "NotImplemented",
     "The requested operation is not implemented on the specified resource.", false},
    {ErrorCode::request_body_too_large, 413, "RequestBodyTooLarge",
     "The request body is too large and exceeds the maximum permissible limit.", false},
    {ErrorCode::duplicate_properties, 400, "DuplicatePropertiesSpecified",
     "A property is specified more than one time.", false},
    {ErrorCode::properties_need_value, 400, "PropertiesNeedValue",
     "The values are not specified for all properties in the entity.", false},
    {ErrorCode::property_name_invalid, 400, "PropertyNameInvalid", "The property name is invalid.",
     false},
    {ErrorCode::property_name_too_long, 400, "PropertyNameTooLong",
     "The property name exceeds the maximum allowed length (255).", false},
    {ErrorCode::property_value_too_large, 400, "PropertyValueTooLarge",
     "The property value exceeds the maximum allowed size (64KB). If the property value is a "
     "string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.",
     true},
    {ErrorCode::too_many_properties, 400, "TooManyProperties",
     "The entity contains more properties than allowed. Each entity can include up to 252 "
     "properties to store data. Each entity also has 3 system properties.",
     false},
    {ErrorCode::entity_too_large, 400, "EntityTooLarge",
     "The entity is larger than the maximum allowed size (1MB).", true},
    {ErrorCode::invalid_resource_name, 400, "InvalidResourceName",
     "The specifed resource name contains invalid characters.", false},
    {ErrorCode::primary_key_type_invalid, 400, "PrimaryKeyPropertyIsInvalidType",
     "PartitionKey and RowKey must be strings.", false},
    {ErrorCode::table_not_found, 404, "TableNotFound", "The table specified does not exist.",
     false},
    {ErrorCode::table_already_exists, 409, "TableAlreadyExists",
     "The table specified already exists.", false},
    {ErrorCode::resource_not_found, 404, "ResourceNotFound",
     "The specified resource does not exist.", true},
    {ErrorCode::entity_already_exists, 409, "EntityAlreadyExists",
     "The specified entity already exists.", true},
    {ErrorCode::update_condition_not_satisfied, 412, "UpdateConditionNotSatisfied",
     "The update condition specified in the request was not satisfied.", true},
    {ErrorCode::batch_partitions_differ, 400, "CommandsInBatchActOnDifferentPartitions",
     "All commands in a batch must operate on same entity group.", false},
    {ErrorCode::batch_duplicate_row, 400, "InvalidDuplicateRow",
     "The batch request contains multiple changes with same row key. An entity can appear only "
     "once in a batch request.",
     false},
    {ErrorCode::invalid_uri, 400, "InvalidUri",
     "The requested URI does not represent any resource on the server."},
    {ErrorCode::invalid_http_verb, 400, "InvalidHttpVerb",
     "The HTTP verb specified was not recognized by the server."},
    {ErrorCode::method_not_allowed, 405, "MethodNotAllowed",
     "The requested method is not allowed on the specified resource."},
    {ErrorCode::x_method_incorrect_count, 400, "XMethodIncorrectCount",
     "More than one X-HTTP-Method is specified."},
    {ErrorCode::x_method_incorrect_value, 400, "XMethodIncorrectValue",
     "The specified X-HTTP-Method is invalid."},
    {ErrorCode::x_method_not_using_post, 400, "XMethodNotUsingPost",
     "The request uses X-HTTP-Method with an HTTP verb other than POST."},
    {ErrorCode::media_type_not_supported, 415, "MediaTypeNotSupported",
     "None of the provided media types are supported."},
    {ErrorCode::atom_format_not_supported, 415, "AtomFormatNotSupported",
     "Atom format is not supported."},
    {ErrorCode::json_verbose_not_supported, 415, "JsonVerboseFormatNotSupported",
     "JSON verbose format is not supported."},
    {ErrorCode::invalid_header_value, 400, "InvalidHeaderValue",
     "The value for one of the HTTP headers is not in the correct format."},
    {ErrorCode::invalid_query_parameter, 400, "InvalidQueryParameterValue",
     "Value for one of the query parameters specified in the request URI is invalid."},
    {ErrorCode::query_parameter_out_of_range, 400, "OutOfRangeQueryParameterValue",
     "One of the query parameters specified in the request URI is outside the permissible "
     "range."},
    {ErrorCode::invalid_xml_document, 400, "InvalidXmlDocument",
     "XML specified is not syntactically valid."},
    {ErrorCode::invalid_xml_node_value, 400, "InvalidXmlNodeValue",
     "The value for one of the XML nodes is not in the correct format."},
    {ErrorCode::missing_xml_node, 400, "MissingRequiredXmlNode",
     "A required XML node was not specified in the request body."},
    {ErrorCode::unsupported_xml_node, 400, "UnsupportedXmlNode",
     "One of the XML nodes specified in the request body is not supported."},
    {ErrorCode::cors_preflight_failure, 403, "CorsPreflightFailure",
     "CORS not enabled or no matching rule found for this request."},
    {ErrorCode::authentication_failed, 403, "AuthenticationFailed",
     "Server failed to authenticate the request. Make sure the value of Authorization header is "
     "formed correctly including the signature."},
    {ErrorCode::invalid_authentication_info, 400, "InvalidAuthenticationInfo",
     "Authentication information is not given in the correct format. Check the value of "
     "Authorization header."},
    {ErrorCode::authorization_failure, 403, "AuthorizationFailure",
     "This request is not authorized to perform this operation."},
    {ErrorCode::permission_mismatch, 403, "AuthorizationPermissionMismatch",
     "This request is not authorized to perform this operation using this permission."},
    {ErrorCode::protocol_mismatch, 403, "AuthorizationProtocolMismatch",
     "This request is not authorized to perform this operation using this protocol."},
    {ErrorCode::source_ip_mismatch, 403, "AuthorizationSourceIPMismatch",
     "This request is not authorized to perform this operation using this source IP."},
    {ErrorCode::service_mismatch, 403, "AuthorizationServiceMismatch",
     "This request is not authorized to perform this operation using this service."},
    {ErrorCode::resource_type_mismatch, 403, "AuthorizationResourceTypeMismatch",
     "This request is not authorized to perform this operation using this resource type."},
    {ErrorCode::secondary_is_read_only, 403, "InsufficientAccountPermissions",
     "Write operations are not allowed."},
    {ErrorCode::table_has_pending_operations, 409, "TableHasPendingOperations",
     "The table has changes that its remote table does not have yet. They would be lost.", false},
    {ErrorCode::internal_error, 500, "InternalError",
     "Server encountered an internal error. Please try again after some time.", true},
    {ErrorCode::out_of_memory, 507, "OutOfMemory",
     "There is not enough memory for this operation. Nothing was changed.", true},
    {ErrorCode::corrupted, 500, "Corrupted", "Stored data is damaged and cannot be read.", true},
    {ErrorCode::format_too_new, 501, "FormatTooNew",
     "The store was written by a newer version of this software.", true},
    {ErrorCode::read_only, 403, "ReadOnly",
     "The store is open for reading only. Write operations are not allowed.", true},
};

}  // namespace

TEST_CASE("every service code is found, also one that this store never returns") {
  for (const Expected& expected : table) {
    const ServiceError* found = find_service_error(expected.name);
    REQUIRE(found != nullptr);
    CHECK(found->code == expected.name);
    CHECK(found->status == expected.status);
  }
  const ServiceError* busy = find_service_error("ServerBusy");
  REQUIRE(busy != nullptr);
  CHECK(busy->status == 503);
  CHECK(busy->message == "The server is busy.");
  const ServiceError* deleted = find_service_error("TableBeingDeleted");
  REQUIRE(deleted != nullptr);
  CHECK(deleted->status == 409);
  CHECK(find_service_error("serverbusy") == nullptr);
  CHECK(find_service_error("") == nullptr);
}

TEST_CASE("every code has its status, name and text") {
  std::set<std::string_view> names;
  for (const Expected& expected : table) {
    CAPTURE(expected.name);
    const ServiceError& error = service_error_of(expected.code);
    CHECK(error.status == expected.status);
    CHECK(error.code == expected.name);
    CHECK(error.message == expected.message);
    CHECK(is_commit_time_error(expected.code) == expected.at_commit);
    names.insert(error.code);
  }
  CHECK(std::size(table) == static_cast<std::size_t>(ErrorCode::read_only) + 1);
  CHECK(names.size() == std::size(table));
}

TEST_CASE("an error shows its own text, or else the standard one") {
  CHECK(error_message(Error(ErrorCode::invalid_input)) ==
        "One of the request inputs is not valid.");
  CHECK(error_message(
            Error(ErrorCode::invalid_input, "Syntax error at position 7 in 'aaa bbb ccc'.")) ==
        "Syntax error at position 7 in 'aaa bbb ccc'.");
}
