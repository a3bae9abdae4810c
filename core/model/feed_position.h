// A position in the change feed of a store: a commit, and the epoch of the owner that published it.
//
// The number of the commit alone is not enough. A commit is published before it is stored, if its
// write is deferred, so a crash may lose it. The next owner of the store uses its number again, for
// another commit, but in a new epoch.
#pragma once

#include <compare>
#include <cstdint>

namespace entitable {

// Positions rise with the commits, also across crashes. Clients see a position as one number, with
// the epoch above the lowest feed_position_commit_bits, which are the commit.
struct FeedPosition {
  std::uint64_t epoch = 0;
  std::uint64_t commit = 0;  // 0: before all commits, in any epoch
  friend auto operator<=>(const FeedPosition&, const FeedPosition&) = default;
};

inline constexpr unsigned feed_position_commit_bits = 48;

}  // namespace entitable
