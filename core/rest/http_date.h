// Dates as HTTP has them (RFC 1123): "Tue, 02 Jan 2024 03:04:05 GMT".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/model/date_time.h"

namespace entitable::rest {

// Whole seconds; what is left of one is cut off. REQUIRES: ticks in the range of a DateTime.
std::string http_date_text(Ticks ticks);

// Exactly that form, and a weekday that the date has; nothing otherwise.
std::optional<Ticks> parse_http_date(std::string_view text);

}  // namespace entitable::rest
