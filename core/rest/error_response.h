// Errors as HTTP: status, code and text come from core/model/service_error, the frame from here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/model/service_error.h"
#include "core/rest/headers.h"
#include "core/rest/http.h"

namespace entitable::rest {

// The form of error responses to one request. Owns its data.
struct ErrorFormat {
  bool xml = false;                              // else JSON
  MetadataLevel level = MetadataLevel::minimal;  // of the Content-Type, for JSON
  ReturnPreference preference =
      ReturnPreference::unspecified;  // said again, where the operation has preferences
  bool in_batch = false;              // parts of a batch don't repeat the code as a header
  std::string request_id;
  Ticks now = 0;
};

// The text of a request id: 16 bytes as a GUID. Fewer are filled with zeros.
std::string request_id_text(std::string_view bytes);

// "Bad Request" for 400 and so on.
std::string_view reason_phrase(std::uint16_t status);

// {"odata.error":{"code":…,"message":{"lang":"en-US","value":"text\nRequestId:…\nTime:…"}}}, or the
// same as an <m:error> document, whose text is the reason phrase too.
Response error_response(const Error& error, const ErrorFormat& error_format);
Response error_response(const ServiceError& error, const ErrorFormat& error_format);

}  // namespace entitable::rest
