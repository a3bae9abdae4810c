#include "core/rpc/timestamp_formatter.h"

#include "core/model/etag.h"
#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/prng.h"

namespace entitable::rpc {

TEST_CASE("Timestamps and ETags have the same text as in the model") {
  constexpr Ticks second = 10'000'000;
  constexpr Ticks commit_time = 637'311'980'880'000'000;  // 2020-07-24T14:34:48Z
  TimestampFormatter text;
  for (const Ticks ticks :
       {limits::date_time_ticks_min, limits::date_time_ticks_max, ticks_at_unix_epoch, commit_time,
        commit_time + 1, commit_time + 10, commit_time + 4'767'000, commit_time + 4'767'001,
        commit_time + second - 1, commit_time + second, commit_time + 3600 * second, commit_time}) {
    CAPTURE(ticks);
    CHECK(text.timestamp(ticks) == date_time_text(ticks));
    CHECK(text.etag(ticks) == etag_text(ticks));
  }
}

TEST_CASE("Random timestamps, mostly within one second of each other") {
  test::Prng random(20260101);
  TimestampFormatter text;
  Ticks ticks = ticks_at_unix_epoch + 17'000'000'000'000'000;
  for (int i = 0; i < 2000; ++i) {
    ticks += static_cast<Ticks>(random.below(random.chance(10) ? 1'000'000'000 : 100'000));
    CAPTURE(ticks);
    REQUIRE(text.timestamp(ticks) == date_time_text(ticks));
    REQUIRE(text.etag(ticks) == etag_text(ticks));
  }
}

}  // namespace entitable::rpc
