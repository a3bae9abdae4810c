// The double nearest to a whole number times a power of ten: the arithmetic behind number_text.
#pragma once

#include <cstdint>
#include <optional>

namespace entitable {

// digits * 10^exponent, rounded to nearest. Always right if it answers; overflow is infinity.
// Nothing if 128 bits cannot tell which way to round (ties, mostly) or if the result may be
// subnormal: then ask an exact method.
std::optional<double> double_from_decimal(std::uint64_t digits, std::int64_t exponent);

}  // namespace entitable
