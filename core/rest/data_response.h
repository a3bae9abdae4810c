// Successful responses to reads and inserts.
#pragma once

#include <string>

#include "core/rest/http.h"
#include "core/rest/request_headers.h"

namespace entitable::rest {

// Returns a 200 response with a JSON body and the Content-Type of that metadata level.
Response data_response(MetadataLevel level, std::string body);

// An entity or a table that was created.
struct CreatedResource {
  MetadataLevel level = MetadataLevel::minimal;
  ReturnPreference preference = ReturnPreference::unspecified;
  std::string url;
  std::string etag;  // empty: the resource has no ETag
  std::string body;  // ignored if `preference` is no_content
};

// Returns a 201 response with the body, or a 204 response without it if `preference` is no_content.
// Both have a Location header.
Response created_response(CreatedResource made);

}  // namespace entitable::rest
