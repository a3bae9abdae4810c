#include "core/log/pending_records.h"

#include <cstring>
#include <string>

#include "tests/support/catch.h"

using namespace entitable;

namespace {

constexpr std::size_t spare = 100;  // bytes that are reserved but not used

void add(PendingRecords& records, std::uint64_t number, std::size_t bytes) {
  const std::string record(bytes, static_cast<char>('a' + number % 26));
  char* const at = records.reserve_record(bytes + spare);
  if (bytes > 0) std::memcpy(at, record.data(), bytes);
  records.add(number, bytes);
}

bool holds(const PendingRecords& records, std::size_t i, std::size_t bytes) {
  return records[i] ==
         std::string(bytes, static_cast<char>('a' + records.commit_number_at(i) % 26));
}

// Returns the size of a record: mostly small, sometimes larger than a chunk of PendingRecords.
std::size_t size_of(std::uint64_t number) {
  return number % 50 == 0 ? 100'000 : static_cast<std::size_t>(number * 37 % 700);
}

}  // namespace

TEST_CASE("records are kept in order") {
  PendingRecords records;
  CHECK(records.empty());
  for (std::uint64_t number = 7; number < 1007; ++number) add(records, number, size_of(number));
  REQUIRE(records.size() == 1000);
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records.commit_number_at(i) == 7 + i);
    CHECK(holds(records, i, size_of(7 + i)));
  }
  CHECK(records.count_through(6) == 0);
  CHECK(records.count_through(7) == 1);
  CHECK(records.count_through(1006) == 1000);
  CHECK(records.count_through(5000) == 1000);
}

TEST_CASE("a record can have the codes of very many puts") {
  PendingRecords records;
  const std::string codes(70'000, '\x12');
  records.reserve_record(1 + codes.size());
  records.add(1, 1, {CommitOrigin::restore, PutEffects::different, codes, true});
  const CommitEffects effects = records.effects_at(0);
  CHECK(effects.origin == CommitOrigin::restore);
  CHECK(effects.puts == PutEffects::different);
  CHECK((effects.codes == codes));
  CHECK(effects.uses_hidden_tables);
}

TEST_CASE("records are removed at both ends, and others are added") {
  PendingRecords records;
  std::uint64_t first = 1;
  std::uint64_t next = 1;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 40; ++i, ++next) add(records, next, size_of(next));
    if (round % 3 == 0) {
      next -= 13;
      records.drop_after(next - 1);
    }
    if (round % 4 == 1) first = next - 30;
    if (round % 10 == 9) first = next;
    records.drop_through(first - 1);
    REQUIRE(records.size() == next - first);
    for (std::size_t i = 0; i < records.size(); ++i) {
      CHECK(records.commit_number_at(i) == first + i);
      CHECK(holds(records, i, size_of(first + i)));
    }
  }
}

TEST_CASE("missing records cannot be removed") {
  PendingRecords records;
  records.drop_through(9);
  records.drop_after(0);
  add(records, 5, 10);
  records.drop_through(4);
  records.drop_after(5);
  CHECK(records.size() == 1);
  records.drop_after(4);
  CHECK(records.empty());
  add(records, 5, 20);
  CHECK(holds(records, 0, 20));
}

TEST_CASE("a reservation that is not used changes nothing") {
  PendingRecords records;
  add(records, 1, 10);
  static_cast<void>(records.reserve_record(1'000'000));
  static_cast<void>(records.reserve_record(1));
  CHECK(records.size() == 1);
  CHECK(holds(records, 0, 10));
  add(records, 2, 3000);
  CHECK(holds(records, 1, 3000));
}

TEST_CASE("a record's memory is reused after it is written") {
  PendingRecords records;
  add(records, 1, 10);
  const char* const at = records[0].data();
  for (std::uint64_t number = 2; number < 10; ++number) {
    records.drop_through(number - 1);
    add(records, number, 10);
    CHECK(records[0].data() == at);
  }
}
