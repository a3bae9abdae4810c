#include "core/store/claim_history.h"

#include "tests/support/catch.h"

namespace entitable {

TEST_CASE("a commit has survived if each later owner found it in the log") {
  ClaimHistory claims;
  CHECK(claims.has_survived({1, 7}));
  claims.add(2, 5);
  claims.add(4, 9);
  CHECK(claims.has_survived({1, 5}));
  CHECK_FALSE(claims.has_survived({1, 6}));
  CHECK(claims.has_survived({2, 9}));
  CHECK_FALSE(claims.has_survived({2, 10}));
  CHECK(claims.has_survived({3, 9}));
  CHECK_FALSE(claims.has_survived({3, 10}));
  CHECK(claims.has_survived({4, 10}));
}

TEST_CASE(
    "after a lost position, a reader continues at the first commit of the owner that lost it") {
  ClaimHistory claims;
  claims.add(2, 5);
  claims.add(4, 9);
  CHECK(claims.first_after_loss({1, 6}) == FeedPosition{2, 6});
  CHECK(claims.first_after_loss({1, 10}) == FeedPosition{2, 6});
  CHECK(claims.first_after_loss({2, 10}) == FeedPosition{4, 10});
  CHECK_FALSE(claims.first_after_loss({1, 5}).has_value());  // not lost
  CHECK_FALSE(claims.first_after_loss({4, 10}).has_value());
  for (std::uint64_t i = 0; i < ClaimHistory::claims_max; ++i) claims.add(5 + i, 100 + i);
  CHECK_FALSE(claims.first_after_loss({3, 10}).has_value());  // by which claim is forgotten
}

TEST_CASE("every owner has seen commit 0") {
  ClaimHistory claims;
  claims.add(2, 0);
  CHECK(claims.has_survived({0, 0}));
  CHECK_FALSE(claims.has_survived({0, 1}));
}

TEST_CASE("an owner that rolled back lost commits that earlier owners had") {
  ClaimHistory claims;
  claims.add(2, 9);
  claims.add(3, 5);
  CHECK(claims.has_survived({1, 5}));
  CHECK_FALSE(claims.has_survived({1, 6}));
  CHECK(claims.epoch_of(5) == 1);
  CHECK(claims.epoch_of(6) == 3);
}

TEST_CASE("the epoch of a commit is that of the last owner that began before it") {
  ClaimHistory claims;
  claims.add(2, 5);
  claims.add(4, 9);
  CHECK(claims.epoch_of(5) == 1);
  CHECK(claims.epoch_of(6) == 2);
  CHECK(claims.epoch_of(9) == 2);
  CHECK(claims.epoch_of(10) == 4);
}

TEST_CASE("positions before the oldest known claim are not known to survive") {
  ClaimHistory claims;
  for (std::uint64_t i = 0; i < ClaimHistory::claims_max; ++i) claims.add(2 + i, 100 + i);
  CHECK(claims.claims().known_from == 1);
  CHECK(claims.has_survived({1, 100}));
  claims.add(2 + ClaimHistory::claims_max, 500);
  CHECK(claims.claims().newest.size() == ClaimHistory::claims_max);
  CHECK(claims.claims().known_from == 2);
  CHECK_FALSE(claims.has_survived({1, 100}));
  CHECK(claims.has_survived({2, 101}));
  CHECK(claims.epoch_of(50) == 2);
}

TEST_CASE("an owner that stored nothing takes no place of those that wrote") {
  ClaimHistory claims;
  claims.add(2, 5);
  for (std::uint64_t epoch = 3; epoch < 1000; ++epoch) claims.add(epoch, 9);
  claims.add(1000, 12);
  CHECK(claims.claims() == ManifestClaims{1, {{2, 5}, {999, 9}, {1000, 12}}});
  CHECK(claims.has_survived({1, 5}));
  CHECK_FALSE(claims.has_survived({1, 6}));
  for (const std::uint64_t epoch : {2U, 3U, 500U, 998U}) {
    CHECK(claims.has_survived({epoch, 9}));
    CHECK_FALSE(claims.has_survived({epoch, 10}));  // was published by that owner, and is lost
  }
  CHECK(claims.has_survived({999, 12}));
  CHECK(claims.epoch_of(9) == 2);
  CHECK(claims.epoch_of(10) == 999);
}

TEST_CASE("a manifest may have more claims than are remembered") {
  Manifest manifest;
  manifest.claims = ManifestClaims{1, {}};
  for (std::uint64_t i = 0; i < 3 * ClaimHistory::claims_max; ++i)
    manifest.claims->newest.push_back({2 + i, 10 + i / 2});
  const ClaimHistory claims(manifest);
  CHECK(claims.claims().newest.size() == ClaimHistory::claims_max);
  CHECK_FALSE(claims.has_survived({1, 10}));
  CHECK(claims.has_survived({manifest.claims->newest.back().epoch, 500}));
}

TEST_CASE("the manifest of an older release says nothing of the claims before it") {
  Manifest manifest;
  manifest.epoch = 7;
  ClaimHistory claims(manifest);
  CHECK_FALSE(claims.has_survived({6, 1}));
  CHECK(claims.has_survived({7, 1}));
  manifest.claims = ManifestClaims{3, {{5, 10}}};
  claims = ClaimHistory(manifest);
  CHECK_FALSE(claims.has_survived({2, 1}));
  CHECK(claims.has_survived({3, 10}));
  CHECK_FALSE(claims.has_survived({4, 11}));
}

}  // namespace entitable
