// Timestamps and ETags of many rows as text. Rows of a page were mostly written within the same few
// seconds, so all but the fraction is kept from row to row.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/model/date_time.h"

namespace entitable::direct {

class TimestampText {
 public:
  // Both as model/date_time.h and model/etag.h print them. REQUIRES: ticks in range. Valid until
  // the next call.
  std::string_view timestamp(Ticks ticks);
  std::string_view etag(Ticks ticks);

 private:
  struct Form {
    std::array<char, 64> text{};
    std::size_t prefix = 0;  // up to the seconds
    std::string_view finish(Ticks fraction, std::string_view tail);
  };
  Ticks move_to(Ticks ticks);  // gives the fraction of the second

  Ticks second_ = -1;
  Form timestamp_;
  Form etag_;
};

}  // namespace entitable::direct
