// Error codes and the Error value: one vocabulary for every room.
//
// An ErrorCode names a condition, most of them conditions of the Table service. How a
// condition looks to a caller (HTTP status, service code, message) is decided in
// exactly one table, core/model/service_error.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace entitable {

enum class ErrorCode : std::uint8_t {
  // Request shape
  invalid_input,             // a malformed value, name, filter, option or token
  out_of_range_input,        // well formed, but outside the permitted range
  not_implemented,           // legal OData that the service does not run
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
  table_not_found,                 // an entity operation on a table that is not there
  table_already_exists,            //
  resource_not_found,              // an entity, or a table named by a table operation, is not there
  entity_already_exists,           //
  update_condition_not_satisfied,  // the ETag does not match
  // Entity group transactions
  batch_partitions_differ,  // two partition keys in one transaction
  batch_duplicate_row,      // one entity twice in one transaction
  // HTTP: only the REST door gives these
  invalid_uri,                   // names no resource
  invalid_http_verb,             // no verb that the service knows
  method_not_allowed,            // a verb that the resource doesn't have
  x_method_incorrect_count,      // X-HTTP-Method more than once
  x_method_incorrect_value,      //
  x_method_not_using_post,       //
  media_type_not_supported,      //
  atom_format_not_supported,     //
  json_verbose_not_supported,    //
  invalid_header_value,          //
  invalid_query_parameter,       // a value that the parameter cannot have
  query_parameter_out_of_range,  //
  invalid_xml_document,          // not XML, or not this document
  invalid_xml_node_value,        //
  missing_xml_node,              //
  unsupported_xml_node,          //
  cors_preflight_failure,        //
  authentication_failed,         // who asks is not known, or not now
  invalid_authentication_info,   // a malformed Authorization header
  authorization_failure,         // known, and not allowed to
  permission_mismatch,           // the permission that is missing: the operation's
  protocol_mismatch,             // HTTPS
  source_ip_mismatch,            // this address
  service_mismatch,              // tables
  resource_type_mismatch,        // service, container or object
  secondary_is_read_only,        // a write to the secondary endpoint
  // This machine
  internal_error,  // our bug; the store refuses writes until reopened
  out_of_memory,   // staging ran out of memory; nothing changed
  corrupted,       // stored bytes fail a check
  format_too_new,  // stored by a newer major format version
  read_only,       // the store opened read-only after damage
};

struct Error {
  ErrorCode code;
  // The text for the caller, without index prefix, request id or time. Empty: the
  // standard text of the code (core/model/service_error).
  std::string message;

  explicit Error(ErrorCode c, std::string m = {}) : code(c), message(std::move(m)) {}
  friend bool operator==(const Error&, const Error&) = default;
};

}  // namespace entitable
