#include "core/query/projection.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/model/limits.h"

namespace entitable {
namespace {

constexpr std::size_t select_names_max = limits::custom_properties_max + 3;
// At least the size of select_names_max names of the greatest length.
constexpr std::size_t select_bytes_max = 256 * 1024;
static_assert(select_names_max * limits::property_name_units_max * 3 <= select_bytes_max);

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

PropertySource select_property(std::string_view name, const Shape& shape) {
  if (name == "PartitionKey") return {PropertySourceKind::partition_key};
  if (name == "RowKey") return {PropertySourceKind::row_key};
  if (name == "Timestamp") return {PropertySourceKind::timestamp};
  if (shape.is_generic()) return {PropertySourceKind::by_name};
  const std::optional<std::uint32_t> column = shape.find(name);
  if (!column.has_value()) return {PropertySourceKind::missing};
  return {PropertySourceKind::column, *column};
}

}  // namespace

Result<std::vector<std::string>> normalize_select(const std::vector<std::string_view>& names) {
  if (names.empty()) return std::vector<std::string>{};
  std::vector<std::string> selected;
  std::unordered_set<std::string_view> seen;
  std::size_t bytes = 0;
  for (const std::string_view untrimmed : names) {
    const std::string_view name = trimmed(untrimmed);
    if (name == "*") return std::vector<std::string>{};
    if (name.empty() || !seen.insert(name).second) continue;
    bytes += name.size();
    if (bytes <= select_bytes_max) selected.emplace_back(name);
  }
  if (selected.size() > select_names_max || bytes > select_bytes_max) {
    return Error(ErrorCode::invalid_input);
  }
  return selected;
}

Result<std::vector<std::string>> parse_select(std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return normalize_select(names);
}

std::vector<PropertySource> find_property_sources(const std::vector<std::string>& select,
                                                  const Shape& shape) {
  std::vector<PropertySource> properties;
  properties.reserve(select.size());
  for (const std::string& name : select) properties.push_back(select_property(name, shape));
  return properties;
}

}  // namespace entitable
