#include "core/base/double_from_decimal.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/check.h"

namespace entitable {
namespace {

struct Wide {  // 128 bits
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

Wide product(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a_low = a & 0xFFFF'FFFF;
  const std::uint64_t a_high = a >> 32;
  const std::uint64_t b_low = b & 0xFFFF'FFFF;
  const std::uint64_t b_high = b >> 32;
  const std::uint64_t low = a_low * b_low;
  const std::uint64_t middle = a_high * b_low + (low >> 32);  // cannot overflow
  const std::uint64_t other = a_low * b_high + (middle & 0xFFFF'FFFF);
  return {a_high * b_high + (middle >> 32) + (other >> 32), other << 32 | (low & 0xFFFF'FFFF)};
}

// A power of ten truncated to 128 bits: bits * 2^exponent, with the highest bit set.
struct Power {
  Wide bits;
  int exponent = 0;
};

// The powers that are computed. `power_error` bounds their error: a true power is above the
// computed one by less than this many units in the last of 128 places. Each step from one power to
// the next truncates less than one such unit, which is at most 2^-127 of the value.
constexpr int power_max = 308;
constexpr int power_min =
    -327;  // with smaller exponents, every 64-bit number gives a subnormal result
constexpr std::uint64_t power_error = 1024;
static_assert(2 * (power_max > -power_min ? power_max : -power_min) < power_error);

// Multiplies by 5 and adds 1 to the binary exponent. The product by 5 needs two or three more bits.
Power ten_times(const Power& power) {
  const Wide low = product(power.bits.low, 5);
  Wide high = product(power.bits.high, 5);
  high.low += low.high;
  if (high.low < low.high) ++high.high;
  const auto carried = static_cast<int>(std::bit_width(high.high));
  ENTITABLE_CHECK(carried == 2 || carried == 3);
  return {{high.low >> carried | high.high << (64 - carried),
           low.low >> carried | high.low << (64 - carried)},
          power.exponent + 1 + carried};
}

// Divides by 5 and subtracts 1 from the binary exponent. The quotient has two or three bits less,
// which are filled from the remainder.
Power tenth_of(const Power& power) {
  std::uint64_t remainder = 0;
  const auto divide = [&](std::uint64_t value) {
    std::uint64_t quotient = 0;
    for (const int shift : {32, 0}) {
      const std::uint64_t part = remainder << 32 | (value >> shift & 0xFFFF'FFFF);
      quotient = quotient << 32 | part / 5;
      remainder = part % 5;
    }
    return quotient;
  };
  const std::uint64_t high = divide(power.bits.high);
  const std::uint64_t low = divide(power.bits.low);
  const std::uint64_t more = divide(0);
  const int freed = std::countl_zero(high);
  ENTITABLE_CHECK(freed == 2 || freed == 3);
  return {{high << freed | low >> (64 - freed), low << freed | more >> (64 - freed)},
          power.exponent - 1 - freed};
}

// Computes all powers on first use, so that the 15 KB are not downloaded with the module.
std::vector<Power> make_powers() {
  constexpr Power one = {{1ull << 63, 0}, -127};
  std::vector<Power> powers(power_max - power_min + 1);
  const auto at = [&](int exponent) -> Power& {
    return powers[static_cast<std::size_t>(exponent - power_min)];
  };
  at(0) = one;
  for (int exponent = 1; exponent <= power_max; ++exponent) {
    at(exponent) = ten_times(at(exponent - 1));
  }
  for (int exponent = -1; exponent >= power_min; --exponent) {
    at(exponent) = tenth_of(at(exponent + 1));
  }
  return powers;
}

const Power& power_of_ten(std::int64_t exponent) {
  static const std::vector<Power> powers = make_powers();
  return powers[static_cast<std::size_t>(exponent - power_min)];
}

// Returns the result if `digits` and the power of ten are both exact as doubles, which is true for
// nearly all numbers. A single multiplication or division then rounds correctly (W. Clinger, 1990).
std::optional<double> exact_factors(std::uint64_t digits, std::int64_t exponent) {
  constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (digits > (1ull << 53) || exponent < -22 || exponent > 22) return std::nullopt;
  const auto whole = static_cast<double>(digits);
  return exponent < 0 ? whole / powers[-exponent] : whole * powers[exponent];
}

}  // namespace

std::optional<double> double_from_decimal(std::uint64_t digits, std::int64_t exponent) {
  if (digits == 0) return 0.0;
  if (exponent > power_max) return std::numeric_limits<double>::infinity();
  if (exponent < power_min) return std::nullopt;
  if (const std::optional<double> exact = exact_factors(digits, exponent)) return exact;

  // `top` becomes the highest 128 bits of the 64-bit by 128-bit product. The true value is above
  // `top` by at most `error` units of the last bit: the error of the power, one unit for the bits
  // truncated here, and one for the carry between them.
  const int spare = std::countl_zero(digits);
  const Power& power = power_of_ten(exponent);
  Wide top = product(digits << spare, power.bits.high);
  const std::uint64_t carry = product(digits << spare, power.bits.low).high;
  top.low += carry;
  if (top.low < carry) ++top.high;
  constexpr std::uint64_t error = power_error + 2;

  // The result has 53 bits. The next 64 bits, `rest`, decide the rounding. The last 10 or 11 bits
  // are truncated, which is less than one unit of `rest`.
  const int unused = std::countl_zero(top.high);  // 0 or 1
  const std::uint64_t mantissa = top.high >> (11 - unused);
  const std::uint64_t rest = top.high << (53 + unused) | top.low >> (11 - unused);
  constexpr std::uint64_t half = 1ull << 63;
  if (rest <= half && rest + error >= half) return std::nullopt;
  const int result_exponent = power.exponent - spare + 64 + (64 + 11 - unused);
  if (result_exponent + 52 < std::numeric_limits<double>::min_exponent - 1) return std::nullopt;
  return std::ldexp(static_cast<double>(mantissa + (rest > half ? 1 : 0)), result_exponent);
}

}  // namespace entitable
