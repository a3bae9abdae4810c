// Converts numbers to and from text, exactly in both directions. All conversions are here because
// some standard libraries we build with have no from_chars or to_chars for double.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace entitable {

// Parses an optional '-' and decimal digits. Returns nothing if the text is malformed or out of
// range.
std::optional<std::int32_t> parse_int32(std::string_view text);
std::optional<std::int64_t> parse_int64(std::string_view text);

// Parses [-] digits [. digits] [(e|E) [+|-] digits], also "digits." and ".digits", correctly
// rounded. Returns nothing if the text is malformed or the magnitude overflows (1e400). Underflow
// gives zero or a subnormal. NaN and Infinity are malformed here: callers handle their spelling.
std::optional<double> parse_double(std::string_view text);

std::string to_text(std::int32_t value);
std::string to_text(std::int64_t value);
// Returns the shortest text that reads back as the same bits, always with '.' or an exponent:
// "3.0", "-0.0", "1.5", "1.2345E+24"; "NaN", "Infinity", "-Infinity".
std::string to_text(double value);

// Appends the text that to_text() returns.
void append_text(std::string& out, std::int32_t value);
void append_text(std::string& out, std::int64_t value);
void append_text(std::string& out, double value);

}  // namespace entitable
