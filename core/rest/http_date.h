// Dates in HTTP headers (RFC 1123): "Tue, 02 Jan 2024 03:04:05 GMT".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/model/date_time.h"

namespace entitable::rest {

// Returns the date, truncated to whole seconds. REQUIRES: `ticks` is in the range of a DateTime
// (core/model/date_time.h).
std::string http_date_text(Ticks ticks);

// Returns the ticks of a date in exactly the form above. Returns nothing for any other text, or if
// the weekday is not that of the date.
std::optional<Ticks> parse_http_date(std::string_view text);

}  // namespace entitable::rest
