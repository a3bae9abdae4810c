#include "core/rpc/timestamp_formatter.h"

#include <cstdint>
#include <cstring>

#include "core/base/check.h"
#include "core/base/digits.h"
#include "core/model/etag.h"

namespace entitable::rpc {
namespace {

constexpr Ticks ticks_per_second = 10'000'000;
constexpr Ticks ticks_per_day = 86'400 * ticks_per_second;
constexpr std::string_view timestamp_tail = "Z";
constexpr std::string_view etag_tail = "Z'\"";

}  // namespace

TimestampFormatter::Fraction::Fraction(std::uint32_t ticks) : text(), size(0) {
  if (ticks == 0) return;
  text[0] = '.';
  put_seven_digits(text.data() + 1, ticks);
  size = text.size();
  while (text[size - 1] == '0') --size;
}

void TimestampFormatter::move_to(Ticks ticks) {
  Ticks fraction = ticks - second_;
  if (fraction < 0 || fraction >= ticks_per_second) {
    fraction = ticks % ticks_per_second;
    move_to_second(ticks - fraction);
  }
  ticks_ = ticks;
  const Fraction text(static_cast<std::uint32_t>(fraction));
  timestamp_.set_fraction(text);
  etag_.set_fraction(text);
}

void TimestampFormatter::move_to_second(Ticks second) {
  if (second < day_ || second >= day_ + ticks_per_day) {
    day_ = second - second % ticks_per_day;
    DateTimeBuffer date_time;
    EtagBuffer etag;
    const std::string_view tag = write_etag(day_, etag);
    timestamp_.set_day(write_date_time(day_, date_time), timestamp_tail, sizeof(":") - 1);
    etag_.set_day(tag, etag_tail, sizeof("%3A") - 1);
  }
  second_ = second;
  const auto seconds_of_day = static_cast<unsigned>((second - day_) / ticks_per_second);
  timestamp_.set_clock(seconds_of_day);
  etag_.set_clock(seconds_of_day);
}

void TimestampFormatter::CachedText::set_day(std::string_view text, std::string_view tail,
                                             std::size_t separator) {
  ENTITABLE_CHECK(tail.size() <= tail_.size());
  prefix_ = text.size() - tail.size();
  ENTITABLE_CHECK(prefix_ + sizeof(Fraction::text) + tail_.size() <= text_.size());
  separator_ = separator;
  tail_size_ = tail.size();
  std::memcpy(tail_.data(), tail.data(), tail.size());
  std::memcpy(text_.data(), text.data(), prefix_);
}

void TimestampFormatter::CachedText::set_clock(unsigned seconds_of_day) {
  const std::size_t step = 2 + separator_;
  char* const seconds = text_.data() + prefix_ - 2;
  put_two_digits(seconds, seconds_of_day % 60);
  put_two_digits(seconds - step, seconds_of_day / 60 % 60);
  put_two_digits(seconds - 2 * step, seconds_of_day / 3600);
}

// Copies whole arrays, also the bytes that are not used, because a copy of constant size is faster.
void TimestampFormatter::CachedText::set_fraction(const Fraction& fraction) {
  char* to = text_.data() + prefix_;
  std::memcpy(to, fraction.text.data(), fraction.text.size());
  to += fraction.size;
  std::memcpy(to, tail_.data(), tail_.size());
  size_ = prefix_ + fraction.size + tail_size_;
}

}  // namespace entitable::rpc
