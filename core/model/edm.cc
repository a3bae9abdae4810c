#include "core/model/edm.h"

#include "core/base/check.h"

namespace entitable {
namespace {

// Indexed by type number.
constexpr std::string_view type_names[] = {
    "",           "Edm.String", "Edm.Binary", "Edm.Boolean", "Edm.DateTime",
    "Edm.Double", "Edm.Guid",   "Edm.Int32",  "Edm.Int64"};
static_assert(std::size(type_names) == edm_type_last + 1);

}  // namespace

std::string_view edm_name(EdmType type) {
  const auto number = static_cast<std::uint8_t>(type);
  ENTITABLE_CHECK(edm_from_number(number).has_value());
  return type_names[number];
}

std::optional<EdmType> edm_from_name(std::string_view name) {
  for (std::uint8_t number = 1; number <= edm_type_last; ++number) {
    if (type_names[number] == name) return static_cast<EdmType>(number);
  }
  return std::nullopt;
}

std::optional<EdmType> edm_from_number(std::uint8_t number) {
  if (number < 1 || number > edm_type_last) return std::nullopt;
  return static_cast<EdmType>(number);
}

}  // namespace entitable
