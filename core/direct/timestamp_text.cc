#include "core/direct/timestamp_text.h"

#include <algorithm>
#include <cstring>
#include <string>

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
  const Ticks fraction = move_to(ticks);
  return timestamp_.finish(fraction, timestamp_tail);
}

std::string_view TimestampText::etag(Ticks ticks) {
  const Ticks fraction = move_to(ticks);
  return etag_.finish(fraction, etag_tail);
}

Ticks TimestampText::move_to(Ticks ticks) {
  const Ticks fraction = ticks % ticks_per_second;
  const Ticks second = ticks - fraction;
  if (second == second_) return fraction;
  second_ = second;
  const auto keep = [](Form& form, const std::string& text, std::string_view tail) {
    form.prefix = text.size() - tail.size();
    ENTITABLE_CHECK(form.prefix + 1 + fraction_digits + tail.size() <= form.text.size());
    std::memcpy(form.text.data(), text.data(), form.prefix);
  };
  keep(timestamp_, date_time_text(second), timestamp_tail);
  keep(etag_, etag_text(second), etag_tail);
  return fraction;
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
