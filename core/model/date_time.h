// Edm.DateTime: ticks of 100 ns since 0001-01-01T00:00:00Z, as in .NET.
// Unix milliseconds = (ticks - 621'355'968'000'000'000) / 10'000.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/limits.h"

namespace entitable {

using Ticks = std::int64_t;

inline constexpr Ticks ticks_per_millisecond = 10'000;
inline constexpr Ticks ticks_at_unix_epoch = 621'355'968'000'000'000;

// ISO 8601 in the forms the service takes: yyyy-mm-dd, yyyy-mm-ddThh:mm[:ss[.f…]], then Z, ±hh:mm
// (at most 14:00) or nothing (UTC). More than seven fraction digits are cut off. `property` names
// the value in the error: malformed text is InvalidInput, an instant outside 1601..9999 is
// OutOfRangeInput with the service's text "The '<property>' parameter of value 'MM/dd/yyyy
// HH:mm:ss' is out of range.", in UTC; instants that .NET has no date for show as its first or
// last.
Result<Ticks> parse_date_time(std::string_view text, std::string_view property);

// Whether a DateTime may have these ticks.
inline bool is_date_time_in_range(Ticks ticks) {
  return ticks >= limits::date_time_ticks_min && ticks <= limits::date_time_ticks_max;
}

// Checks a tick count against the range; errors as above.
Result<Ticks> check_date_time_range(Ticks ticks, std::string_view property);

// "2020-07-24T14:34:48.4767Z": fraction of 0 to 7 digits, trailing zeros removed.
// REQUIRES: ticks in range.
std::string date_time_text(Ticks ticks);
// The same into memory of the caller, which the result looks at.
using DateTimeBuffer = std::array<char, 28>;
std::string_view write_date_time(Ticks ticks, DateTimeBuffer& buffer);

}  // namespace entitable
