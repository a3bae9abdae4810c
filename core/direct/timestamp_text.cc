#include "core/direct/timestamp_text.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "core/model/etag.h"

namespace entitable::direct {
namespace {

constexpr Ticks ticks_per_second = 10'000'000;
constexpr int fraction_digits = 7;
constexpr std::string_view timestamp_tail = "Z";
constexpr std::string_view etag_tail = "Z'\"";

}  // namespace

std::string_view TimestampText::timestamp(Ticks ticks) {
  const Ticks fraction = ticks % ticks_per_second;
  if (const Ticks second = ticks - fraction; second != timestamp_.second) {
    DateTimeBuffer buffer;
    timestamp_.keep(write_date_time(second, buffer), timestamp_tail);
    timestamp_.second = second;
  }
  return timestamp_.finish(fraction, timestamp_tail);
}

std::string_view TimestampText::etag(Ticks ticks) {
  const Ticks fraction = ticks % ticks_per_second;
  if (const Ticks second = ticks - fraction; second != etag_.second) {
    EtagBuffer buffer;
    etag_.keep(write_etag(second, buffer), etag_tail);
    etag_.second = second;
  }
  return etag_.finish(fraction, etag_tail);
}

void TimestampText::Form::keep(std::string_view whole_second, std::string_view tail) {
  prefix = whole_second.size() - tail.size();
  ENTITABLE_CHECK(prefix + 1 + fraction_digits + tail.size() <= text.size());
  std::memcpy(text.data(), whole_second.data(), prefix);
}

std::string_view TimestampText::Form::finish(Ticks fraction, std::string_view tail) {
  char* to = text.data() + prefix;
  if (fraction != 0) {
    *to++ = '.';
    int digits = fraction_digits;
    for (; fraction % 10 == 0; --digits) fraction /= 10;
    for (int i = digits; i-- > 0; fraction /= 10) to[i] = static_cast<char>('0' + fraction % 10);
    to += digits;
  }
  to = std::copy(tail.begin(), tail.end(), to);
  return {text.data(), static_cast<std::size_t>(to - text.data())};
}

}  // namespace entitable::direct
