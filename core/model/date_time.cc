#include "core/model/date_time.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "core/base/digits.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

constexpr std::int64_t ticks_per_second = 10'000'000;
constexpr std::int64_t seconds_per_day = 86'400;
constexpr std::int64_t ticks_per_day = ticks_per_second * seconds_per_day;

// The proleptic Gregorian calendar, as .NET counts it.
struct Date {
  int year;   // 1..9999
  int month;  // 1..12
  int day;    // 1..31
};

bool is_leap(int year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int days_in_month(int year, int month) {
  constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

// The two conversions between dates and days since 0001-01-01 let years start in March. The leap
// day is then the last day of its year, and a formula gives the number of days before each month.
constexpr int days_before_march_of_year_1 =
    306;  // from 1 March of the year 0 to 1 January of the year 1
constexpr int days_per_400_years = 146'097;

std::int64_t days_from_date(const Date& date) {
  const int year = date.month <= 2 ? date.year - 1 : date.year;
  const int month = date.month <= 2 ? date.month + 9 : date.month - 3;  // March is 0
  return 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + (date.day - 1) -
         days_before_march_of_year_1;
}

Date date_from_days(std::int64_t days_since_year_1) {
  const int days = static_cast<int>(days_since_year_1) + days_before_march_of_year_1;
  const int era = days / days_per_400_years;
  const int day_of_era = days % days_per_400_years;
  const int year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int month = (5 * day_of_year + 2) / 153;
  const int year = era * 400 + year_of_era + (month >= 10 ? 1 : 0);
  return {year, month < 10 ? month + 3 : month - 9, day_of_year - (153 * month + 2) / 5 + 1};
}

// Reads a text from the front. Each step either consumes its input and returns true, or consumes
// nothing and returns false.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool at_end() const { return text_.empty(); }
  bool consume(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // Reads exactly `digits` digits whose value is in low..high.
  bool number(int digits, int low, int high, int& value) {
    if (text_.size() < static_cast<std::size_t>(digits)) return false;
    int read = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = text_[static_cast<std::size_t>(i)];
      if (c < '0' || c > '9') return false;
      read = read * 10 + (c - '0');
    }
    if (read < low || read > high) return false;
    text_.remove_prefix(static_cast<std::size_t>(digits));
    value = read;
    return true;
  }
  // Reads one digit or more. Digits beyond the seventh are ignored.
  bool fraction(std::int64_t& ticks) {
    ticks = 0;
    std::int64_t unit = ticks_per_second;
    int digit = 0;
    if (!number(1, 0, 9, digit)) return false;
    do {
      unit /= 10;
      ticks += digit * unit;
    } while (number(1, 0, 9, digit));
    return true;
  }

 private:
  std::string_view text_;
};

bool scan_date(Scanner& in, Date& date) {
  return in.number(4, 1, 9999, date.year) && in.consume('-') && in.number(2, 1, 12, date.month) &&
         in.consume('-') && in.number(2, 1, days_in_month(date.year, date.month), date.day);
}

// Reads hh:mm[:ss[.f…]] as ticks since midnight.
bool scan_time(Scanner& in, std::int64_t& ticks) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  std::int64_t fraction = 0;
  if (!in.number(2, 0, 23, hour) || !in.consume(':') || !in.number(2, 0, 59, minute)) return false;
  if (in.consume(':')) {
    if (!in.number(2, 0, 59, second)) return false;
    if (in.consume('.') && !in.fraction(fraction)) return false;
  }
  ticks = ((hour * 60 + minute) * 60 + second) * ticks_per_second + fraction;
  return true;
}

// Reads a time zone: Z, ±hh:mm (at most 14 hours, as in XML Schema) or nothing (UTC). Sets `ticks`
// to the local time minus UTC.
bool scan_zone(Scanner& in, std::int64_t& ticks) {
  ticks = 0;
  if (in.at_end() || in.consume('Z')) return true;
  const bool west = in.consume('-');
  if (!west && !in.consume('+')) return false;
  int hour = 0;
  int minute = 0;
  if (!in.number(2, 0, 14, hour) || !in.consume(':') ||
      !in.number(2, 0, hour == 14 ? 0 : 59, minute)) {
    return false;
  }
  ticks = (hour * 60 + minute) * 60 * ticks_per_second;
  if (west) ticks = -ticks;
  return true;
}

std::optional<Ticks> scan(std::string_view text) {
  Scanner in(text);
  Date date{};
  std::int64_t time = 0;
  std::int64_t zone = 0;
  if (!scan_date(in, date)) return std::nullopt;
  if (in.consume('T') && !scan_time(in, time)) return std::nullopt;
  if (!scan_zone(in, zone) || !in.at_end()) return std::nullopt;
  return days_from_date(date) * ticks_per_day + time - zone;
}

// The put_ functions write to `to` and return the end of what they wrote. They calculate with 32
// bits, because wasm divides 64-bit numbers slowly.
char* put_two(char* to, std::int32_t value) {
  put_two_digits(to, static_cast<std::uint32_t>(value));
  return to + 2;
}

char* put_two(char* to, std::int32_t value, char behind) {
  to = put_two(to, value);
  *to++ = behind;
  return to;
}

char* put_year(char* to, std::int32_t year, char behind) {
  return put_two(put_two(to, year / 100), year % 100, behind);
}

char* put_time_of_day(char* to, std::int64_t ticks_of_day) {
  const auto seconds = static_cast<std::int32_t>(ticks_of_day / ticks_per_second);
  to = put_two(to, seconds / 3600, ':');
  to = put_two(to, seconds / 60 % 60, ':');
  return put_two(to, seconds % 60);
}

// Returns "MM/dd/yyyy HH:mm:ss", the format of .NET's invariant culture. A time outside the years
// 1..9999 is shown as the first or last time of these years.
std::string invariant_text(Ticks ticks) {
  ticks = std::clamp<Ticks>(ticks, 0, limits::date_time_ticks_max);
  const Date date = date_from_days(ticks / ticks_per_day);
  char text[32];
  char* end = put_two(text, date.month, '/');
  end = put_two(end, date.day, '/');
  end = put_year(end, date.year, ' ');
  end = put_time_of_day(end, ticks % ticks_per_day);
  return std::string(text, end);
}

}  // namespace

Result<Ticks> parse_date_time(std::string_view text, std::string_view property) {
  const std::optional<Ticks> ticks = scan(text);
  if (!ticks)
    return Error(ErrorCode::invalid_input, "An error occurred while processing this request.");
  return check_date_time_range(*ticks, property);
}

Result<Ticks> check_date_time_range(Ticks ticks, std::string_view property) {
  if (is_date_time_in_range(ticks)) return ticks;
  std::string message = "The '";
  message.append(property).append("' parameter of value '").append(invariant_text(ticks));
  return Error(ErrorCode::out_of_range_input, message.append("' is out of range."));
}

std::string_view write_date_time(Ticks ticks, DateTimeBuffer& buffer) {
  const Date date = date_from_days(ticks / ticks_per_day);
  char* end = put_year(buffer.data(), date.year, '-');
  end = put_two(end, date.month, '-');
  end = put_two(end, date.day, 'T');
  end = put_time_of_day(end, ticks % ticks_per_day);
  if (const auto fraction = static_cast<std::uint32_t>(ticks % ticks_per_second); fraction != 0) {
    *end++ = '.';
    put_seven_digits(end, fraction);
    end += 7;
    while (end[-1] == '0') --end;
  }
  *end++ = 'Z';
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

std::string date_time_text(Ticks ticks) {
  DateTimeBuffer buffer;
  return std::string(write_date_time(ticks, buffer));
}

}  // namespace entitable
