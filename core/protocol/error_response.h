// Errors as HTTP: status, code and text come from core/model/service_error, the frame from here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/model/service_error.h"
#include "core/protocol/headers.h"
#include "core/protocol/http.h"

namespace entitable::protocol {

// How one request wants to be told. Owns what it needs.
struct ErrorForm {
  bool xml = false;                            // else JSON
  Metadata level = Metadata::minimal;          // of the Content-Type, for JSON
  Preference preference = Preference::unsaid;  // said again, where the operation has preferences
  bool in_batch = false;                       // parts of a batch don't repeat the code as a header
  std::string request_id;
  Ticks now = 0;
};

// The text of a request id: 16 bytes as a GUID. Fewer are filled with zeros.
std::string request_id_text(std::string_view bytes);

// "Bad Request" for 400 and so on.
std::string_view reason_phrase(std::uint16_t status);

// {"odata.error":{"code":…,"message":{"lang":"en-US","value":"text\nRequestId:…\nTime:…"}}}, or the
// same as an <m:error> document, whose text is the reason phrase too.
Response error_response(const Error& error, const ErrorForm& form);
Response error_response(const ServiceError& error, const ErrorForm& form);

}  // namespace entitable::protocol
