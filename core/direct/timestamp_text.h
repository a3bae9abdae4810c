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
    Ticks second = -1;  // that it was last made for
    std::array<char, 64> text{};
    std::size_t prefix = 0;  // up to the seconds
    void keep(std::string_view whole_second, std::string_view tail);
    std::string_view finish(Ticks fraction, std::string_view tail);
  };

  Form timestamp_;
  Form etag_;
};

}  // namespace entitable::direct
