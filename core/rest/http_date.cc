#include "core/rest/http_date.h"

#include <cstddef>

namespace entitable::rest {
namespace {

constexpr std::string_view form = "Tue, 02 Jan 2024 03:04:05 GMT";
constexpr std::string_view weekdays = "MonTueWedThuFriSatSun";
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr Ticks ticks_per_day = Ticks{86'400} * 1000 * ticks_per_millisecond;

// Ticks count from 0001-01-01, which was a Monday.
std::string_view weekday_of(Ticks ticks) {
  return weekdays.substr(static_cast<std::size_t>(ticks / ticks_per_day % 7) * 3, 3);
}

// Returns "01" for "Jan", or nothing if `name` is not a month.
std::optional<std::string> number_of_month(std::string_view name) {
  const std::size_t at = months.find(name);
  if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
  const std::size_t number = at / 3 + 1;
  return std::string{static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
}

std::string_view name_of_month(std::string_view number) {
  const int month = (number[0] - '0') * 10 + (number[1] - '0');
  return months.substr(static_cast<std::size_t>(month - 1) * 3, 3);
}

}  // namespace

std::string http_date_text(Ticks ticks) {
  DateTimeBuffer buffer;
  // yyyy-mm-ddThh:mm:ss, then fraction and time zone, which are not used
  const std::string_view iso = write_date_time(ticks, buffer);
  std::string text;
  text.reserve(form.size());
  text.append(weekday_of(ticks)).append(", ").append(iso, 8, 2).append(" ");
  text.append(name_of_month(iso.substr(5, 2))).append(" ").append(iso, 0, 4).append(" ");
  return text.append(iso, 11, 8).append(" GMT");
}

std::optional<Ticks> parse_http_date(std::string_view text) {
  if (text.size() != form.size()) return std::nullopt;
  const auto month = number_of_month(text.substr(8, 3));
  if (!month.has_value()) return std::nullopt;
  const std::string iso = std::string(text.substr(12, 4)) + "-" + *month + "-" +
                          std::string(text.substr(5, 2)) + "T" + std::string(text.substr(17, 8)) +
                          "Z";
  const Result<Ticks> ticks = parse_date_time(iso, {});
  // The weekday and the separators were not read. Formatting the result again checks them.
  if (!ticks.ok() || http_date_text(*ticks) != text) return std::nullopt;
  return *ticks;
}

}  // namespace entitable::rest
