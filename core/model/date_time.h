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

// Parses ISO 8601 in the service's forms: yyyy-mm-dd or yyyy-mm-ddThh:mm[:ss[.f…]], then Z, ±hh:mm
// (at most 14:00) or nothing (UTC). Fraction digits beyond the seventh are dropped.
//
// Errors: malformed text is InvalidInput. A time outside the years 1601..9999 is OutOfRangeInput
// with the message "The '<property>' parameter of value 'MM/dd/yyyy HH:mm:ss' is out of range.", in
// UTC. A time outside the years 1..9999 is shown there as the first or last time of these years.
Result<Ticks> parse_date_time(std::string_view text, std::string_view property);

// Returns whether a DateTime may have these ticks.
inline bool is_date_time_in_range(Ticks ticks) {
  return ticks >= limits::date_time_ticks_min && ticks <= limits::date_time_ticks_max;
}

// Returns `ticks`, or OutOfRangeInput as parse_date_time() does.
Result<Ticks> check_date_time_range(Ticks ticks, std::string_view property);

// Returns "2020-07-24T14:34:48.4767Z": a fraction of 0 to 7 digits without trailing zeros.
// REQUIRES: ticks in range.
std::string date_time_text(Ticks ticks);
// Writes date_time_text() to the caller's buffer. The result is a view of that buffer.
using DateTimeBuffer = std::array<char, 28>;
std::string_view write_date_time(Ticks ticks, DateTimeBuffer& buffer);

}  // namespace entitable
