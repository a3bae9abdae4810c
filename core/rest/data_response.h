// Successful responses to reads and inserts.
#pragma once

#include <string>

#include "core/rest/headers.h"
#include "core/rest/http.h"

namespace entitable::rest {

// 200 with JSON of this level.
Response data_response(MetadataLevel level, std::string body);

// An entity or a table that was made.
struct CreatedResource {
  MetadataLevel level = MetadataLevel::minimal;
  ReturnPreference preference = ReturnPreference::unspecified;
  std::string url;
  std::string etag;  // empty: it has none
  std::string body;  // not looked at if the client prefers none
};

// 201 with what was made, or 204 if the client prefers that; and where it is, either way.
Response created_response(CreatedResource made);

}  // namespace entitable::rest
