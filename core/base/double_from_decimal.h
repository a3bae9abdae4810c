// Finds the double nearest to an integer times a power of ten: the arithmetic behind number_text.
#pragma once

#include <cstdint>
#include <optional>

namespace entitable {

// Returns digits * 10^exponent, rounded to the nearest double. Overflow gives infinity. Returns
// nothing if the result may be subnormal, or if arithmetic with 128 bits cannot decide the rounding
// (mostly ties). The caller then needs an exact method.
std::optional<double> double_from_decimal(std::uint64_t digits, std::int64_t exponent);

}  // namespace entitable
