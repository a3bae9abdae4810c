// Strictly rising timestamps for everything the store issues.
#pragma once

#include "core/model/date_time.h"

namespace entitable {

class CommitClock {
 public:
  explicit CommitClock(Ticks last_issued = 0) : last_(last_issued) {}

  // max(now, last issued + 1), and never a tick divisible by ten, so that the text always shows
  // seven fraction digits (some clients expect them and the service trims zeros). A clock set back
  // never repeats an ETag.
  Ticks next(Ticks now);
  Ticks last_issued() const { return last_; }
  // Recovery: what was issued before.
  void advance_to(Ticks issued);

 private:
  Ticks last_;
};

}  // namespace entitable
