#include "core/store/versions.h"

#include <utility>

#include "core/base/check.h"
#include "core/store/store_state.h"

namespace entitable {

Store Versions::fork_store() {
  state_.start_branch();
  Store fork;
  StoreState& other = fork.state();
  other.published = state_.published;
  other.window = state_.window;
  other.stored_commit = other.sealed_through = other.published.last_commit;
  other.claims = state_.claims;
  other.epoch = state_.epoch;
  other.begin_epoch();
  other.feed_epoch = other.epoch;
  if (state_.scratch.outbox != nullptr)
    other.scratch.outbox = state_.scratch.outbox->make_another();
  other.start_branch();
  return fork;
}

std::uint64_t Versions::keep() {
  state_.start_branch();
  state_.kept.emplace(state_.last_kept + 1,
                      StoreState::KeptVersion{state_.published, state_.window});
  return ++state_.last_kept;
}

void Versions::rollback(std::uint64_t version) {
  const auto at = state_.kept.find(version);
  ENTITABLE_CHECK(at != state_.kept.end() && state_.sealed.empty());
  StoreState::KeptVersion back = at->second;
  // Later commits have numbers that were used before, so they need an epoch of their own.
  const std::uint64_t epoch = state_.epoch + 1;
  ClaimHistory claims = state_.claims;
  claims.add(epoch, back.version.last_commit);
  state_.start_branch();
  back.version.catalog.start_branch();
  // Nothing is allocated from here on.
  state_.published = std::move(back.version);
  state_.window = std::move(back.window);
  state_.pending = {};
  state_.stored_commit = state_.sealed_through = state_.published.last_commit;
  state_.history.clear();
  state_.claims = std::move(claims);
  state_.epoch = state_.feed_epoch = epoch;
  state_.mark_changes_unknown(CommitOrigin::local);
}

void Versions::release(std::uint64_t version) {
  ENTITABLE_CHECK(state_.kept.erase(version) == 1);
}

}  // namespace entitable
