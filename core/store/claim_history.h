// The most recent claims of a log, each by a new owner of the store. They tell whether a commit
// that a reader of the change feed has seen is still in the log: a commit whose write was deferred
// may have been lost when its owner crashed, and the next owner then used its number again.
//
// Claims that tell nothing more than a later one are forgotten. So an owner that writes nothing, as
// most pages do, takes no place of those that wrote.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/log/manifest_codec.h"
#include "core/model/feed_position.h"

namespace entitable {

class ClaimHistory {
 public:
  static constexpr std::size_t claims_max = 64;

  // The history of a new log, whose first epoch is 1.
  ClaimHistory() : claims_{1, {}} {}
  // The history up to a manifest. The manifest of an older release does not have it: nothing is
  // known then of the claims before the manifest.
  explicit ClaimHistory(const Manifest& manifest);

  // Adds a claim, which began an epoch. `last_commit`: the last commit that the log had then.
  // Forgets the oldest claim if there are more than claims_max. If this throws std::bad_alloc,
  // nothing has changed. REQUIRES: the epoch is above those before.
  void add(std::uint64_t epoch, std::uint64_t last_commit);
  // Returns whether it is certain that no claim has lost the commit. REQUIRES: the position is not
  // above the last one of the log.
  bool has_survived(const FeedPosition& position) const;
  // Returns the position of the first commit that a reader at `lost` has not seen: it has the
  // number of one that was lost. Nothing: the claim that lost the position is forgotten, or there
  // is none.
  std::optional<FeedPosition> first_after_loss(const FeedPosition& lost) const {
    if (lost.epoch < claims_.known_from) return std::nullopt;
    const auto has_lost = [&lost](const Claim& claim) {
      return claim.epoch > lost.epoch && claim.last_commit < lost.commit;
    };
    const auto loss = std::find_if(claims_.newest.begin(), claims_.newest.end(), has_lost);
    if (loss == claims_.newest.end()) return std::nullopt;
    return FeedPosition{loss->epoch, loss->last_commit + 1};
  }
  // Returns the epoch in which a commit of the log was published. If its claim is forgotten,
  // returns the first epoch of which positions are known to survive.
  std::uint64_t epoch_of(std::uint64_t commit) const;
  // As a manifest stores it.
  const ManifestClaims& claims() const { return claims_; }

 private:
  ManifestClaims claims_;
};

}  // namespace entitable
