// Formats the timestamps and ETags of many rows. Rows that are next to each other were often
// written in the same second, so the formatter caches the text of the last second and rewrites only
// the digits that differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/model/date_time.h"

namespace entitable::rpc {

class TimestampFormatter {
 public:
  // timestamp() and etag() return the same text as model/date_time.h and model/etag.h. The view is
  // valid until the next call with different ticks. REQUIRES: the ticks are in the DateTime range.
  std::string_view timestamp(Ticks ticks) {
    if (ticks != ticks_) move_to(ticks);
    return timestamp_.view();
  }
  std::string_view etag(Ticks ticks) {
    if (ticks != ticks_) move_to(ticks);
    return etag_.view();
  }

 private:
  // The fraction of a second, such as ".4767123", without trailing zeros. Empty for a whole second.
  struct Fraction {
    std::array<char, 8> text;
    std::size_t size;
    explicit Fraction(std::uint32_t ticks);
  };
  class CachedText {
   public:
    std::string_view view() const { return {text_.data(), size_}; }
    // `text` is the text of a whole second. Hours, minutes and seconds are `separator` bytes apart.
    void set_day(std::string_view text, std::string_view tail, std::size_t separator);
    void set_clock(unsigned seconds_of_day);
    void set_fraction(const Fraction& fraction);

   private:
    std::array<char, 64> text_{};
    std::size_t prefix_ = 0;  // bytes before the fraction
    std::size_t size_ = 0;
    std::size_t separator_ = 0;
    std::array<char, 4> tail_{};
    std::size_t tail_size_ = 0;
  };

  void move_to(Ticks ticks);
  void move_to_second(Ticks second);

  // The times of the cached texts. The initial values are times that no row can have.
  Ticks ticks_ = -1;
  Ticks second_ = -1'000'000'000'000;
  Ticks day_ = -1'000'000'000'000;
  CachedText timestamp_;
  CachedText etag_;
};

}  // namespace entitable::rpc
