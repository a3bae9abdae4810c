// A position in the change feed of a store: a commit, and the epoch of the owner that published it.
//
// The number of the commit alone is not enough. A commit is published before it is stored, if its
// write is deferred, so a crash may lose it. The next owner of the store uses its number again, for
// another commit, but in a new epoch.
#pragma once

#include <compare>
#include <cstdint>

namespace entitable {

// Positions rise with the commits, also across crashes.
struct FeedPosition {
  std::uint64_t epoch = 0;
  std::uint64_t commit = 0;  // 0: before all commits, in any epoch
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes <=> for a comparison with 0
  friend auto operator<=>(const FeedPosition&, const FeedPosition&) = default;
};

// Clients see a position as one number, its sequence: the epoch above the lowest
// sequence_commit_bits, which are the commit. It is not negative as a signed number. The bits last
// for a thousand commits a second for 34 years, and for an owner (a page load) a minute for 15
// years.
inline constexpr unsigned sequence_bits = 63;
inline constexpr unsigned sequence_commit_bits = 40;
inline constexpr std::uint64_t sequence_commit_max = (std::uint64_t{1} << sequence_commit_bits) - 1;
inline constexpr std::uint64_t sequence_epoch_max =
    (std::uint64_t{1} << (sequence_bits - sequence_commit_bits)) - 1;
inline constexpr std::uint64_t sequence_max = (std::uint64_t{1} << sequence_bits) - 1;

// Returns the sequence of a position. A position that does not fit has the greatest sequence, which
// no reader can continue: position_of() is then a commit that the log does not have.
constexpr std::uint64_t sequence_of(const FeedPosition& position) {
  if (position.epoch > sequence_epoch_max || position.commit > sequence_commit_max)
    return sequence_max;
  return position.epoch << sequence_commit_bits | position.commit;
}
constexpr FeedPosition position_of(std::uint64_t sequence) {
  return {sequence >> sequence_commit_bits, sequence & sequence_commit_max};
}

}  // namespace entitable
