// Errors as HTTP responses. core/model/service_error supplies status, code and message; this file
// adds headers and the JSON or XML around them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/model/service_error.h"
#include "core/rest/http.h"
#include "core/rest/request_headers.h"

namespace entitable::rest {

// How error responses to one request are written. Owns its data.
struct ErrorResponseContext {
  bool xml = false;                              // true: XML; false: JSON
  MetadataLevel level = MetadataLevel::minimal;  // in the Content-Type of JSON
  // The Prefer header of an insert or Create Table, repeated as Preference-Applied.
  ReturnPreference preference = ReturnPreference::unspecified;
  bool in_batch = false;       // parts of a batch response have no x-ms-error-code header
  std::string message_prefix;  // before the text of the message
  std::string request_id;
  Ticks now = 0;
};

// Returns the first 16 bytes as the text of a GUID. Zeros replace missing bytes.
std::string request_id_text(std::string_view bytes);

// Returns for example "Bad Request" for 400, or "" for a status that entitable does not know.
std::string_view reason_phrase(std::uint16_t status);

// Returns the response whose body is
// {"odata.error":{"code":…,"message":{"lang":"en-US","value":"text\nRequestId:…\nTime:…"}}}, or the
// same as an <m:error> document. With XML, the message is also the reason phrase of the status
// line, as in the service.
Response error_response(const Error& error, const ErrorResponseContext& error_format);
Response error_response(const ServiceError& error, const ErrorResponseContext& error_format);

}  // namespace entitable::rest
