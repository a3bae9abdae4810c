// Error codes and the Error value, shared by all modules.
//
// An ErrorCode names a condition, usually a condition of the Table service. One table,
// core/model/service_error, maps each condition to what a caller sees: HTTP status, service code
// and message.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace entitable {

enum class ErrorCode : std::uint8_t {
  // Malformed requests
  invalid_input,             // a malformed value, name, filter, option or token
  out_of_range_input,        // well formed, but outside the permitted range
  not_implemented,           // valid OData that the service does not implement
  request_body_too_large,    // a request or transaction over 4 MiB
  duplicate_properties,      // one property given twice
  properties_need_value,     // PartitionKey or RowKey missing
  property_name_invalid,     //
  property_name_too_long,    //
  property_value_too_large,  // a String, Binary or key value over its limit
  too_many_properties,       //
  entity_too_large,          // the entity as it would be stored is over 1 MiB
  invalid_resource_name,     // a table name with a forbidden character
  primary_key_type_invalid,  // PartitionKey or RowKey is not a String
  // State
  table_not_found,        // an entity operation on a table that does not exist
  table_already_exists,   //
  resource_not_found,     // an entity, or the table that a table operation names, does not exist
  entity_already_exists,  //
  update_condition_not_satisfied,  // the ETag does not match
  // Entity group transactions
  batch_partitions_differ,  // two partition keys in one transaction
  batch_duplicate_row,      // one entity twice in one transaction
  // HTTP: returned by the REST entry point only
  invalid_uri,                   // the URI names no resource
  invalid_http_verb,             // not a verb that the service knows
  method_not_allowed,            // a verb that the resource does not support
  x_method_incorrect_count,      // X-HTTP-Method more than once
  x_method_incorrect_value,      //
  x_method_not_using_post,       //
  media_type_not_supported,      //
  atom_format_not_supported,     //
  json_verbose_not_supported,    //
  invalid_header_value,          //
  invalid_query_parameter,       // a value that the parameter does not allow
  query_parameter_out_of_range,  //
  invalid_xml_document,          // not XML, or not the expected document
  invalid_xml_node_value,        //
  missing_xml_node,              //
  unsupported_xml_node,          //
  cors_preflight_failure,        //
  authentication_failed,         // the caller is unknown, or its token is not valid now
  invalid_authentication_info,   // a malformed Authorization header
  authorization_failure,         // the caller is known but not permitted
  permission_mismatch,           // lacks the permission that the operation needs
  protocol_mismatch,             // HTTPS is required
  source_ip_mismatch,            // the caller's address is not permitted
  service_mismatch,              // the token does not cover the Table service
  resource_type_mismatch,        // the token does not cover this resource type
  secondary_is_read_only,        // a write to the secondary endpoint
  // This store on this machine
  table_has_pending_operations,  // a synced table has operations that its remote does not have yet
  internal_error,                // a bug; the store rejects writes until it is reopened
  out_of_memory,                 // staging ran out of memory; nothing changed
  corrupted,                     // stored bytes fail a check
  format_too_new,                // stored by a newer major format version
  read_only,                     // the store opened read-only after damage
};

struct Error {
  ErrorCode code;
  // The text for the caller, without index prefix, request id or time. If empty, the code's
  // standard text applies (core/model/service_error).
  std::string message;

  explicit Error(ErrorCode c, std::string m = {}) : code(c), message(std::move(m)) {}
  friend bool operator==(const Error&, const Error&) = default;
};

}  // namespace entitable
