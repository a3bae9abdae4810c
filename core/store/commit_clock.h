// Issues strictly increasing timestamps for all commits of a store.
#pragma once

#include "core/model/date_time.h"

namespace entitable {

class CommitClock {
 public:
  explicit CommitClock(Ticks last_issued = 0) : last_(last_issued) {}

  // Returns max(now, last issued + 1), rounded up to a tick that is not divisible by ten. Trailing
  // zeros are dropped from a timestamp's text, but some clients expect seven fraction digits; such
  // a tick always has seven. An ETag is never repeated, even if the host's clock is set back.
  Ticks next(Ticks now);
  Ticks last_issued() const { return last_; }
  // Returns whether the next request could need timestamps outside the DateTime range.
  bool is_exhausted() const;
  // For recovery. Makes all later timestamps greater than `issued`.
  void advance_to(Ticks issued);

 private:
  Ticks last_;
};

}  // namespace entitable
