#include "core/model/feed_position.h"

#include "tests/support/catch.h"

namespace entitable {

TEST_CASE("a position is converted to a sequence and back") {
  const FeedPosition last{sequence_epoch_max, sequence_commit_max};
  for (const FeedPosition& position : {FeedPosition{}, FeedPosition{1, 0}, FeedPosition{1, 7},
                                       FeedPosition{1, sequence_commit_max}, FeedPosition{2, 0},
                                       FeedPosition{sequence_epoch_max, 0}, last}) {
    CHECK(position_of(sequence_of(position)) == position);
  }
  CHECK(sequence_of({3, 5}) == 3 * (std::uint64_t{1} << 40) + 5);
  CHECK(sequence_of(last) == INT64_MAX);
}

TEST_CASE("sequences are in the order of positions") {
  CHECK(sequence_of({1, 9}) < sequence_of({1, 10}));
  CHECK(sequence_of({1, sequence_commit_max}) < sequence_of({2, 0}));
}

TEST_CASE("a position that does not fit has the greatest sequence") {
  CHECK(sequence_of({1, sequence_commit_max + 1}) == INT64_MAX);
  CHECK(sequence_of({sequence_epoch_max + 1, 0}) == INT64_MAX);
  CHECK(sequence_of({UINT64_MAX, UINT64_MAX}) == INT64_MAX);
}

}  // namespace entitable
