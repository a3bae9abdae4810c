#include "core/store/commit_clock.h"

#include "core/model/limits.h"
#include "tests/support/catch.h"

namespace entitable {

TEST_CASE("timestamps follow the host's clock") {
  CommitClock clock;
  CHECK(clock.next(638'000'000'000'000'003) == 638'000'000'000'000'003);
  CHECK(clock.next(638'000'000'000'000'503) == 638'000'000'000'000'503);
}

TEST_CASE("timestamps increase when the clock stands still or runs back") {
  CommitClock clock;
  const Ticks first = clock.next(638'000'000'000'000'003);
  const Ticks second = clock.next(638'000'000'000'000'003);
  const Ticks third = clock.next(600'000'000'000'000'000);
  CHECK(second == first + 1);
  CHECK(third == second + 1);
  CHECK(clock.last_issued() == third);
}

TEST_CASE("a tick divisible by ten is never issued") {
  CommitClock clock;
  CHECK(clock.next(638'000'000'000'000'010) == 638'000'000'000'000'011);
  for (Ticks now = 638'000'000'000'000'012, i = 0; i < 100; ++i) CHECK(clock.next(now) % 10 != 0);
}

TEST_CASE("a clock outside the DateTime range is clamped to it") {
  CommitClock early;
  CHECK(early.next(-5) > limits::date_time_ticks_min);
  CommitClock late;
  for (const Ticks now :
       {INT64_MAX, limits::date_time_ticks_max, limits::date_time_ticks_max - 1}) {
    for (int i = 0; i < 100; ++i) CHECK(late.next(now) <= limits::date_time_ticks_max);
  }
}

TEST_CASE("after recovery timestamps continue after the last one issued") {
  CommitClock clock;
  clock.advance_to(638'000'000'000'000'007);
  clock.advance_to(5);
  CHECK(clock.next(0) == 638'000'000'000'000'008);
}

}  // namespace entitable
