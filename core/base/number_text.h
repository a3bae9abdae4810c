// Numbers to and from text, exact both ways. The one place that knows how, since the
// narrowest library we build with has no from_chars or to_chars for double.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace entitable {

// Optional '-', then decimal digits, nothing else; nothing if malformed or out of range.
std::optional<std::int32_t> parse_int32(std::string_view text);
std::optional<std::int64_t> parse_int64(std::string_view text);

// [-] digits [. digits] [(e|E) [+|-] digits]; also "digits." and ".digits". Rounded correctly.
// Nothing if malformed or if the magnitude overflows (1e400); underflow gives zero or a subnormal.
// NaN and Infinity are not numbers here: their spelling is the caller's grammar.
std::optional<double> parse_double(std::string_view text);

std::string to_text(std::int32_t value);
std::string to_text(std::int64_t value);
// The shortest text that reads back as the same bits, and always shows '.' or an exponent:
// "3.0", "-0.0", "1.5", "1.2345E+24"; "NaN", "Infinity", "-Infinity".
std::string to_text(double value);

// The same texts behind what `out` has.
void append_text(std::string& out, std::int32_t value);
void append_text(std::string& out, std::int64_t value);
void append_text(std::string& out, double value);

}  // namespace entitable
