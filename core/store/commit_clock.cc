#include "core/store/commit_clock.h"

#include <algorithm>

#include "core/model/limits.h"

namespace entitable {
namespace {

// A host clock outside the DateTime range is a broken clock, not a reason to store an unreadable
// timestamp. Nor is one near its end: timestamps never go back, and 10^15 of them are left above.
constexpr Ticks latest_believed = limits::date_time_ticks_max - 1'000'000'000'000'000;

}  // namespace

Ticks CommitClock::next(Ticks now) {
  const Ticks sane = std::clamp(now, limits::date_time_ticks_min, latest_believed);
  Ticks tick = std::max(sane, last_ + 1);
  if (tick % 10 == 0) ++tick;
  last_ = tick;
  return tick;
}

void CommitClock::advance_to(Ticks issued) {
  last_ = std::max(last_, issued);
}

}  // namespace entitable
