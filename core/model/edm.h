// The Edm types a property can have.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace entitable {

// Reaches disk and the binary blocks: these numbers never change.
enum class EdmType : std::uint8_t {
  string = 1,
  binary = 2,
  boolean = 3,
  date_time = 4,
  float64 = 5,  // Edm.Double
  guid = 6,
  int32 = 7,
  int64 = 8,
};

inline constexpr std::uint8_t edm_type_last = 8;

// "Edm.String" and so on.
std::string_view edm_name(EdmType type);
// The type of an exact "Edm.…" name; nothing for any other text.
std::optional<EdmType> edm_from_name(std::string_view name);
// The type of a stored number; nothing for a number that was never given out.
std::optional<EdmType> edm_from_number(std::uint8_t number);

}  // namespace entitable
