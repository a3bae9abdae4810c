#include "core/store/commit_clock.h"

#include <algorithm>

#include "core/model/limits.h"

namespace entitable {
namespace {

// Later times of a host's clock are replaced by this time. They come from a broken clock and must
// not lead to a timestamp outside the DateTime range. Timestamps never decrease, so 10^15 ticks
// above this limit are left for later commits.
constexpr Ticks latest_host_time = limits::date_time_ticks_max - 1'000'000'000'000'000;

}  // namespace

Ticks CommitClock::next(Ticks now) {
  const Ticks sane = std::clamp(now, limits::date_time_ticks_min, latest_host_time);
  Ticks tick = std::max(sane, last_ + 1);
  if (tick % 10 == 0) ++tick;
  last_ = tick;
  return tick;
}

bool CommitClock::is_exhausted() const {
  constexpr Ticks ticks_per_request = 2 * Ticks{limits::group_operations_max};
  return last_ > limits::date_time_ticks_max - ticks_per_request;
}

void CommitClock::advance_to(Ticks issued) {
  last_ = std::max(last_, issued);
}

}  // namespace entitable
