#include "core/store/claim_history.h"

#include <algorithm>

#include "core/base/check.h"

namespace entitable {

ClaimHistory::ClaimHistory(const Manifest& manifest) : claims_{manifest.epoch, {}} {
  if (!manifest.claims.has_value()) return;
  claims_.known_from = manifest.claims->known_from;
  for (const Claim& claim : manifest.claims->newest) add(claim.epoch, claim.last_commit);
}

// A claim after which there are no more commits than at a later one decides nothing: what it has
// lost, the later one has lost, too. Commits between them, if any, are not in the log any more.
void ClaimHistory::add(std::uint64_t epoch, std::uint64_t last_commit) {
  ENTITABLE_CHECK(epoch > claims_.known_from);
  ENTITABLE_CHECK(claims_.newest.empty() || epoch > claims_.newest.back().epoch);
  claims_.newest.reserve(claims_.newest.size() + 1);  // so that nothing changes if this throws
  while (!claims_.newest.empty() && claims_.newest.back().last_commit >= last_commit)
    claims_.newest.pop_back();
  claims_.newest.push_back({epoch, last_commit});
  if (claims_.newest.size() <= claims_max) return;
  claims_.known_from = claims_.newest.front().epoch;
  claims_.newest.erase(claims_.newest.begin());
}

bool ClaimHistory::has_survived(const FeedPosition& position) const {
  if (position.commit == 0) return true;
  if (position.epoch < claims_.known_from) return false;
  return std::all_of(claims_.newest.begin(), claims_.newest.end(), [&](const Claim& claim) {
    return claim.epoch <= position.epoch || claim.last_commit >= position.commit;
  });
}

std::uint64_t ClaimHistory::epoch_of(std::uint64_t commit) const {
  const auto last = std::find_if(claims_.newest.rbegin(), claims_.newest.rend(),
                                 [&](const Claim& claim) { return claim.last_commit < commit; });
  return last == claims_.newest.rend() ? claims_.known_from : last->epoch;
}

}  // namespace entitable
