// The Edm types of properties.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace entitable {

// These numbers are stored on disk and sent in binary messages, so they never change.
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

// Returns "Edm.String" and so on.
std::string_view edm_name(EdmType type);
// Returns the type with exactly this "Edm.…" name, or nothing.
std::optional<EdmType> edm_from_name(std::string_view name);
// Returns the type with this stored number, or nothing for an unknown number.
std::optional<EdmType> edm_from_number(std::uint8_t number);

}  // namespace entitable
