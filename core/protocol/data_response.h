// What reads and inserts are answered: the data that was asked for, and what was made.
#pragma once

#include <string>

#include "core/protocol/headers.h"
#include "core/protocol/http.h"

namespace entitable::protocol {

// 200 with JSON of this level.
Response data_response(Metadata level, std::string body);

// An entity or a table that was made.
struct Made {
  Metadata level = Metadata::minimal;
  Preference preference = Preference::unsaid;
  std::string url;
  std::string etag;  // empty: it has none
  std::string body;  // not looked at if the client prefers none
};

// 201 with what was made, or 204 if the client prefers that; and where it is, either way.
Response made_response(Made made);

}  // namespace entitable::protocol
