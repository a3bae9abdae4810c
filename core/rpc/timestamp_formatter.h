// Timestamps and ETags of many rows as text. Rows of a page were mostly written within the same few
// seconds, so all but the fraction is kept from row to row, and nearly all from second to second.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/model/date_time.h"

namespace entitable::rpc {

class TimestampFormatter {
 public:
  // Both as model/date_time.h and model/etag.h print them. REQUIRES: ticks in range. Valid until
  // the next call with other ticks.
  std::string_view timestamp(Ticks ticks) {
    if (ticks != ticks_) move_to(ticks);
    return timestamp_.view();
  }
  std::string_view etag(Ticks ticks) {
    if (ticks != ticks_) move_to(ticks);
    return etag_.view();
  }

 private:
  // ".4767123", without zeros at its end; of a whole second empty.
  struct Fraction {
    std::array<char, 8> text;
    std::size_t size;
    explicit Fraction(std::uint32_t ticks);
  };
  class CachedText {
   public:
    std::string_view view() const { return {text_.data(), size_}; }
    // `text` is a whole second; `separator` bytes stand between two numbers of its clock.
    void set_day(std::string_view text, std::string_view tail, std::size_t separator);
    void set_clock(unsigned seconds_of_day);
    void set_fraction(const Fraction& fraction);

   private:
    std::array<char, 64> text_{};
    std::size_t prefix_ = 0;  // up to the seconds
    std::size_t size_ = 0;
    std::size_t separator_ = 0;
    std::array<char, 4> tail_{};
    std::size_t tail_size_ = 0;
  };

  void move_to(Ticks ticks);
  void move_to_second(Ticks second);

  // What the texts show; at first nothing that a row could have.
  Ticks ticks_ = -1;
  Ticks second_ = -1'000'000'000'000;
  Ticks day_ = -1'000'000'000'000;
  CachedText timestamp_;
  CachedText etag_;
};

}  // namespace entitable::rpc
