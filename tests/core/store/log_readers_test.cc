// Tests which commits feeds that read the log need.
#include "core/store/log_readers.h"

#include "tests/support/catch.h"

namespace entitable {
namespace {

constexpr LogReaders::Id first{1, 1};
constexpr LogReaders::Id second{1, 2};
constexpr LogReaders::Id of_other_client{2, 1};
constexpr Ticks start = 1;

}  // namespace

TEST_CASE("the reader that is furthest behind decides which commits are needed") {
  LogReaders readers;
  CHECK_FALSE(readers.first_needed(start).has_value());
  readers.set(first, 7);
  readers.set(second, 4);
  readers.set(of_other_client, 9);
  CHECK(readers.first_needed(start) == 5);
  readers.set(second, 8);
  CHECK(readers.first_needed(start) == 8);
  readers.erase(first);
  CHECK(readers.first_needed(start) == 9);
  readers.erase_client(1);
  CHECK(readers.first_needed(start) == 10);
}

TEST_CASE("a reader is forgotten when it has read up to a commit, and not before") {
  LogReaders readers;
  readers.set(first, 7);
  readers.erase_if_at(first, 8);
  CHECK(readers.first_needed(start) == 8);
  readers.erase_if_at(second, 7);
  CHECK(readers.first_needed(start) == 8);
  readers.erase_if_at(first, 7);
  CHECK_FALSE(readers.first_needed(start).has_value());
}

TEST_CASE("a reader that stays where it is needs nothing after a time, until it goes on") {
  LogReaders readers;
  readers.set(first, 7);
  CHECK(readers.first_needed(start) == 8);
  readers.set(first, 7);  // no progress
  CHECK(readers.first_needed(start + LogReaders::age_max) == 8);
  CHECK_FALSE(readers.first_needed(start + LogReaders::age_max + 1).has_value());
  readers.set(first, 8);
  CHECK(readers.first_needed(start + LogReaders::age_max + 1) == 9);
}

}  // namespace entitable
