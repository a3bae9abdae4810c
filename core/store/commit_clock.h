// Issues strictly increasing timestamps for all commits of a store.
#pragma once

#include "core/model/date_time.h"

namespace entitable {

class CommitClock {
 public:
  explicit CommitClock(Ticks last_issued = 0) : last_(last_issued) {}

  // Returns max(now, last issued + 1), rounded up to a tick that is not divisible by ten. The text
  // then always has seven fraction digits, which some clients expect; the service trims trailing
  // zeros. An ETag is never repeated, even if the host's clock is set back.
  Ticks next(Ticks now);
  Ticks last_issued() const { return last_; }
  // Recovery: later timestamps will be greater than `issued`.
  void advance_to(Ticks issued);

 private:
  Ticks last_;
};

}  // namespace entitable
