// Tests reading changes that were published before (listening_clients.h passes the requests on).
#include "core/rpc/past_changes_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/model/service_error.h"
#include "core/rpc/listening_clients.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/core/rpc/response_reader.h"
#include "tests/support/catch.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable::rpc {
namespace {

using test::RequestBuilder;
using test::ResponseReader;
using test::TestHost;

constexpr std::uint32_t more = 0, end = 1, segments_needed = 2, truncated = 3;

struct Past {
  std::uint32_t state;
  std::uint64_t number;
  std::uint64_t sequence = 0;
  std::vector<std::uint64_t> batches{};
  std::vector<std::uint32_t> origins{};
};

// Reads the head of each batch; those of the tests have one change of a row, or of a table.
Past read_past(const std::string& bytes) {
  ResponseReader in(bytes);
  REQUIRE(in.kind() == ResponseKind::past_changes);
  Past past{in.word(), in.two_words()};
  const std::string message = in.binary();
  if (past.state > end) return past;
  CHECK(in.binary_offset() % 8 == 0);
  ResponseReader changes(message);
  REQUIRE(changes.kind() == ResponseKind::changes);
  past.sequence = changes.two_words();
  changes.two_words();  // the sequence of the last commit that is stored
  const std::uint32_t pages = changes.word();
  for (std::uint32_t i = 0; i < pages; ++i) changes.binary();
  const std::uint32_t keys = changes.word();
  for (std::uint32_t i = 0; i < 2 * keys; ++i) changes.text();
  REQUIRE(changes.word() == 0);  // deltas
  const std::uint32_t names = changes.word();
  for (std::uint32_t i = 0; i < names; ++i) changes.text();
  const std::uint32_t batches = changes.word();
  for (std::uint32_t i = 0; i < batches; ++i) {
    CHECK(changes.word() == 0);  // the feed
    CHECK(changes.word() == 0);  // flags
    past.origins.push_back(changes.word());
    const std::uint32_t rows = changes.word();
    const std::uint32_t tables = changes.word();
    past.batches.push_back(changes.two_words());
    changes.float64();
    for (std::uint32_t word = 0; word < 4 * rows + 2 * tables; ++word) changes.word();
  }
  return past;
}

void publish_rows(Store& store, int count) {
  for (int i = 0; i < count; ++i)
    test::publish(store, {test::upsert("people", "p", std::to_string(i), i)});
}

struct Segment {
  std::uint64_t sequence;
  std::string bytes;
};

class Fixture {
 public:
  std::string call(std::uint64_t since, std::uint64_t next_segment = 0,
                   const std::vector<Segment>& segments = {}, const ClientId& client = {},
                   std::string_view filter = {}) {
    RequestBuilder out(RequestKind::read_past);
    out.two_words(since).two_words(next_segment).word(flags).word(number).word(0);
    filter.empty() ? out.no_text() : out.text(filter);
    out.text("").text("").no_text().no_text();
    out.word(static_cast<std::uint32_t>(segments.size()));
    for (std::size_t at = 0; at < client.size(); at += 4) {
      std::uint32_t word;
      std::memcpy(&word, client.data() + at, 4);
      out.word(word);
    }
    std::size_t words = 4 + 3 + 5 + 1 + 4;
    for (const auto& [sequence, bytes] : segments) {
      if (words % 2 != 0) out.word(0);
      out.two_words(sequence).binary(bytes);
      words += words % 2 + 3;
    }
    CHECK(clients.handle(store, 1, out.build(), pages, response).empty());
    return response.str();
  }
  Past read(std::uint64_t since, std::uint64_t next_segment = 0,
            const std::vector<Segment>& segments = {}) {
    return read_past(call(since, next_segment, segments));
  }

  // Returns the state of the response to a request that reads nothing.
  std::uint32_t state_without_changes() {
    const std::string message = call(0);
    ResponseReader in(message);
    return in.word();
  }
  void open_feed(std::uint32_t feed_number) {
    const auto request = RequestBuilder(RequestKind::open_feed)
                             .word(0)
                             .word(feed_number)
                             .word(0)
                             .no_text()
                             .text("")
                             .text("")
                             .no_text()
                             .no_text()
                             .build();
    CHECK(clients.handle(store, 1, request, pages, response).empty());
  }

  // The segments of the log from `first` on, at most `count`.
  std::vector<Segment> segments(std::uint64_t first, std::size_t count = 1'000'000) const {
    std::vector<Segment> found;
    for (const auto& [sequence, bytes] : host.segments) {
      if (sequence >= first && found.size() < count) found.push_back({sequence, bytes});
    }
    return found;
  }

  Past read_all_at_once(std::uint64_t since) {
    const Past past = read(since);
    return past.state == segments_needed ? read(since, 0, segments(past.number)) : past;
  }

  // Reads as a host and a client do, until nothing is left.
  std::vector<std::uint64_t> read_all(std::uint64_t since, std::size_t segments_at_once) {
    std::vector<std::uint64_t> sequences;
    std::uint64_t next_segment = 0;
    for (;;) {
      Past past = read(since, next_segment);
      while (past.state == segments_needed) {
        const auto found = segments(past.number, segments_at_once);
        REQUIRE_FALSE(found.empty());
        for (const Segment& segment : found) bytes_passed += segment.bytes.size();
        past = read(since, next_segment, found);
      }
      REQUIRE(past.state <= end);
      CHECK(past.batches.size() <= past_batches_max);
      sequences.insert(sequences.end(), past.batches.begin(), past.batches.end());
      CHECK(past.sequence >= since);
      since = past.sequence;
      next_segment = past.number;
      if (past.state == end) return sequences;
    }
  }

  // Returns whether a checkpoint keeps what follows the commit.
  bool keeps_after_checkpoint(std::uint64_t commit) {
    publish_rows(store, 1);
    host.store_pending(store);
    host.checkpoint(store);
    const std::uint32_t reader = std::exchange(number, 99);
    const bool is_kept = read(sequence_of({1, commit})).state != truncated;
    close(sequence_max);
    number = reader;
    return is_kept;
  }
  // Closes a feed, which reads the log after `since` from now on.
  void close(std::uint64_t since) {
    const auto request =
        RequestBuilder(RequestKind::close_feed).word(0).word(number).two_words(since).build();
    CHECK(clients.handle(store, 1, request, pages, response).empty());
  }

  std::uint32_t flags = 0;
  std::uint32_t number = 1;        // of the feed
  std::uint64_t bytes_passed = 0;  // of segments, in read_all()
  TestHost host;
  Store store = test::new_store();
  ListeningClients clients;
  PageWriter pages;
  ResponseBuffer response;
};

std::vector<std::uint64_t> sequences(const Store& store, std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t commit = first; commit <= last; ++commit)
    all.push_back(sequence_of({store.position().epoch, commit}));
  return all;
}

}  // namespace

TEST_CASE("Past changes are read from pending commits, and from segments that the host passes") {
  Fixture fixture;
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 2);
  Past past = fixture.read(0);
  CHECK(past.state == end);
  CHECK(past.batches == sequences(fixture.store, 1, 3));
  CHECK(past.sequence == past.batches.back());
  fixture.host.segment_bytes = 1;  // one commit each
  fixture.host.store_pending(fixture.store);
  publish_rows(fixture.store, 1);
  past = fixture.read(0);
  CHECK(past.state == segments_needed);
  CHECK(past.number == 1);
  past = fixture.read(0, 0, fixture.segments(1, 2));
  CHECK(past.state == more);
  CHECK(past.number == 3);
  CHECK(past.batches == sequences(fixture.store, 1, 2));
  past = fixture.read(past.sequence, past.number, fixture.segments(3));
  CHECK(past.state == end);
  CHECK(past.batches == sequences(fixture.store, 3, 4));
  CHECK(fixture.read(past.sequence).state == end);
  CHECK(fixture.read(past.sequence).batches.empty());
}

TEST_CASE("However few segments are passed at once, all past changes are read, once each") {
  Fixture fixture;
  fixture.host.segment_bytes = 300;
  test::publish(fixture.store, {test::create("people")});
  for (int part = 0; part < 6; ++part) {
    publish_rows(fixture.store, 300);
    if (part < 5) fixture.host.store_pending(fixture.store);
  }
  const auto all = sequences(fixture.store, 1, 1801);
  for (const std::size_t at_once : {1U, 3U, 10'000U}) {
    CHECK(fixture.read_all(0, at_once) == all);
    for (const std::size_t after : {0U, 1U, 499U, 500U, 501U, 1500U, 1501U, 1799U, 1800U}) {
      const std::vector<std::uint64_t> rest(all.begin() + static_cast<std::ptrdiff_t>(after) + 1,
                                            all.end());
      CHECK(fixture.read_all(all[after], at_once) == rest);
    }
  }
}

TEST_CASE("Each segment is passed once, however many responses its commits need") {
  Fixture fixture;
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 4000);
  fixture.host.store_pending(fixture.store);  // one segment
  fixture.host.segment_bytes = 4000;
  publish_rows(fixture.store, 2000);
  fixture.host.store_pending(fixture.store);
  std::uint64_t bytes = 0;
  for (const Segment& segment : fixture.segments(1)) bytes += segment.bytes.size();
  for (const std::size_t at_once : {1U, 7U, 10'000U}) {
    fixture.bytes_passed = 0;
    CHECK(fixture.read_all(0, at_once) == sequences(fixture.store, 1, 6001));
    CHECK(fixture.bytes_passed == bytes);
  }
}

TEST_CASE("Feeds at different segments, and one that begins again, read all past changes") {
  Fixture fixture;
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 1200);
  fixture.host.store_pending(fixture.store);
  publish_rows(fixture.store, 1200);
  fixture.host.store_pending(fixture.store);
  const auto read_from = [&](std::uint64_t since) {
    const Past past = fixture.read(since);
    return past.state == segments_needed ? fixture.read(since, 0, fixture.segments(past.number))
                                         : past;
  };
  const auto all = sequences(fixture.store, 1, 2401);
  for (const std::size_t after : {0U, 1300U, 600U, 1800U, 1100U, 10U, 2399U}) {
    for (const std::uint64_t since : {all[after], std::uint64_t{0}, all[after]}) {
      const Past past = read_from(since);
      REQUIRE(past.state <= end);
      const auto first = std::upper_bound(all.begin(), all.end(), since);
      REQUIRE_FALSE(past.batches.empty());
      CHECK(std::equal(past.batches.begin(), past.batches.end(), first));
    }
    fixture.read(sequence_max);  // forgets what is kept
    CHECK(fixture.read(all[0]).state == segments_needed);
  }
}

TEST_CASE("A response has a limited number of bytes, or one commit") {
  Fixture fixture;
  test::publish(fixture.store, {test::create("people")});
  for (int i = 0; i < 8; ++i) {
    Operation large = test::operation(OperationKind::insert_or_replace, "p", std::to_string(i), 1);
    for (int part = 0; part < 9; ++part)
      large.properties.push_back(
          {"text" + std::to_string(part), Value::of_string(std::string(32'000, 'x'))});
    test::publish(fixture.store, {test::write("people", std::move(large))});
  }
  CHECK(fixture.read(0).batches == sequences(fixture.store, 1, 5));
  CHECK(fixture.read_all(0, 1) == sequences(fixture.store, 1, 9));
  fixture.host.store_pending(fixture.store);
  CHECK(fixture.read(0, 0, fixture.segments(1)).batches == sequences(fixture.store, 1, 5));
  CHECK(fixture.read_all(0, 1) == sequences(fixture.store, 1, 9));
}

TEST_CASE("The keys of deleted rows count among the bytes of a response") {
  Fixture fixture;
  test::publish(fixture.store, {test::create("people")});
  const std::string long_partition(500, 'p');
  const auto publish_group = [&](OperationKind kind) {
    std::vector<Operation> rows;
    for (int i = 100; i < 200; ++i)
      rows.push_back(
          test::operation(kind, long_partition, std::string(500, 'r') + std::to_string(i), 1));
    test::publish(fixture.store, {test::group("people", std::move(rows))});
  };
  for (int i = 0; i < 12; ++i) {
    publish_group(OperationKind::insert);
    publish_group(OperationKind::remove);
  }
  // Each group has 100 kB of keys, and the inserts have their values, too.
  CHECK(fixture.read(0).batches.size() < 12);
  CHECK(fixture.read_all(0, 1) == sequences(fixture.store, 1, 25));
}

TEST_CASE("Past changes of one client are local to it, and of another tab to others") {
  Fixture fixture;
  ClientId own{};
  own.fill(7);
  ClientId other{};
  other.fill(8);
  auto table = test::create("people");
  table.call = ClientCall{own, 1, {}};
  auto row = test::upsert("people", "p", "r", 1);
  row.call = ClientCall{other, 1, {}};
  test::publish(fixture.store, {table, row, test::upsert("people", "p", "s", 1)});
  using Origins = std::vector<std::uint32_t>;
  CHECK(read_past(fixture.call(0, 0, {}, own)).origins == Origins{0, 1, 1});
  CHECK(read_past(fixture.call(0, 0, {}, other)).origins == Origins{1, 0, 1});
  CHECK(read_past(fixture.call(0)).origins == Origins{1, 1, 0});
  fixture.host.store_pending(fixture.store);
  const auto stored = fixture.segments(1);
  CHECK(read_past(fixture.call(0, 0, stored, other)).origins == Origins{1, 0, 1});
}

TEST_CASE("Past changes that a checkpoint has dropped are truncated") {
  Fixture fixture;
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 2);
  fixture.host.store_pending(fixture.store);
  fixture.host.checkpoint(fixture.store);
  publish_rows(fixture.store, 1);
  const Past past = fixture.read(sequence_of({1, 2}));
  CHECK(past.state == truncated);
  CHECK(past.number == sequence_of({1, 4}));
  CHECK(fixture.read(sequence_of({1, 3})).batches == sequences(fixture.store, 4, 4));
  CHECK(fixture.read(sequence_of({1, 5})).state == truncated);  // not published
  CHECK(fixture.read(sequence_of({2, 1})).state == truncated);
  CHECK(fixture.read(sequence_max).state == truncated);
}

TEST_CASE("Checkpoints keep the log for a feed that reads it, until it has all changes") {
  Fixture fixture;
  fixture.host.history = {100'000'000, 1'000'000, 10};
  fixture.host.segment_bytes = 1;
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 600);
  fixture.host.store_pending(fixture.store);
  fixture.read(0);  // needs segments
  REQUIRE(fixture.keeps_after_checkpoint(0));
  Past past = fixture.read(0, 0, fixture.segments(1));
  CHECK(past.state == more);
  CHECK(past.batches == sequences(fixture.store, 1, 500));
  fixture.flags = 2;  // "forget"
  CHECK(fixture.state_without_changes() == end);
  fixture.flags = 0;
  CHECK(fixture.keeps_after_checkpoint(500));
  past = fixture.read_all_at_once(past.sequence);
  CHECK(past.state == end);  // it must be opened now
  CHECK(fixture.keeps_after_checkpoint(position_of(past.sequence).commit));
  fixture.open_feed(7);  // of another number
  past = fixture.read_all_at_once(past.sequence);
  CHECK(past.state == end);
  CHECK(fixture.keeps_after_checkpoint(position_of(past.sequence).commit));
  fixture.open_feed(1);
  past = fixture.read_all_at_once(past.sequence);
  CHECK(past.state == end);
  const std::uint64_t last = fixture.store.last_commit();
  CHECK_FALSE(fixture.keeps_after_checkpoint(last));
}

TEST_CASE("Checkpoints keep the log for a feed that did not keep up, for a limited time") {
  Fixture fixture;
  fixture.host.history = {100'000'000, 3 * LogReaders::age_max, 10};
  fixture.host.segment_bytes = 1;
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 10);
  fixture.host.store_pending(fixture.store);
  fixture.close(sequence_of({1, 5}));
  CHECK(fixture.keeps_after_checkpoint(5));
  fixture.host.history.now += LogReaders::age_max;
  CHECK(fixture.keeps_after_checkpoint(5));
  fixture.close(sequence_of({1, 6}));  // it has gone on
  fixture.host.history.now += LogReaders::age_max;
  CHECK(fixture.keeps_after_checkpoint(6));
  fixture.host.history.now += LogReaders::age_max + 1;
  CHECK_FALSE(fixture.keeps_after_checkpoint(6));
}

TEST_CASE("Checkpoints keep no log for feeds that have ended, or whose client has") {
  Fixture fixture;
  fixture.host.history = {100'000'000, 1'000'000, 10};
  fixture.host.segment_bytes = 1;
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 10);
  fixture.host.store_pending(fixture.store);
  fixture.close(sequence_of({1, 5}));
  SECTION("the feed") {
    fixture.close(sequence_max);
  }
  SECTION("the client") {
    const auto request = RequestBuilder(RequestKind::close_listeners).build();
    CHECK(
        fixture.clients.handle(fixture.store, 1, request, fixture.pages, fixture.response).empty());
  }
  SECTION("the limit of bytes") {
    fixture.host.history.bytes = 0;
  }
  CHECK_FALSE(fixture.keeps_after_checkpoint(5));
}

TEST_CASE("Requests for past changes that make no sense get an error") {
  Fixture fixture;
  test::publish(fixture.store, {test::create("people")});
  const auto code = [](const std::string& response) { return test::read_error(response).code; };
  const auto& invalid = service_error_of(ErrorCode::invalid_input).code;
  CHECK(code(fixture.call(0, 0, {}, {}, "value eq")) == invalid);
  CHECK(fixture.clients
            .handle(fixture.store, 1, RequestBuilder(RequestKind::read_past).word(1).build(),
                    fixture.pages, fixture.response)
            .empty());
  CHECK(code(fixture.response.str()) == invalid);
}

TEST_CASE("A damaged segment is skipped, and the first commit after it is known") {
  Fixture fixture;
  fixture.host.segment_bytes = 1;
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 4);
  fixture.host.store_pending(fixture.store);
  std::vector<Segment> segments = fixture.segments(1);
  REQUIRE(segments.size() == 5);
  segments[2].bytes = "no segment";
  const Past before = fixture.read(0, 0, segments);
  CHECK(before.state == more);
  CHECK(before.batches == sequences(fixture.store, 1, 2));
  const Past damaged = fixture.read(before.sequence, 0, segments);
  CHECK(damaged.state == truncated);
  CHECK(damaged.number == sequence_of({1, 4}));
  const Past after = fixture.read(damaged.number - 1, 0, segments);
  CHECK(after.state == end);
  CHECK(after.batches == sequences(fixture.store, 4, 5));
}

TEST_CASE("If the last segment is damaged, the reader can go on after the last commit") {
  Fixture fixture;
  fixture.host.segment_bytes = 1;
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 2);
  fixture.host.store_pending(fixture.store);
  std::vector<Segment> segments = fixture.segments(1);
  segments.back().bytes = "no segment";
  const Past before = fixture.read(0, 0, segments);
  CHECK(before.batches == sequences(fixture.store, 1, 2));
  // The host finds no other segment then.
  CHECK(fixture.read(before.sequence, before.number, {segments.back()}).state == segments_needed);
  publish_rows(fixture.store, 1);
  CHECK(fixture.read(sequence_of({1, 3})).batches == sequences(fixture.store, 4, 4));
}

TEST_CASE("Checkpoints keep no log for a feed that has all commits before it was opened") {
  Fixture fixture;
  fixture.host.history = {100'000'000, 1'000'000, 10};
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 300);
  fixture.open_feed(1);
  publish_rows(fixture.store, 300);
  const Past past = fixture.read(0);
  CHECK(past.state == more);
  CHECK(past.batches.size() == 500);  // and the feed gets what was published after its opening
  CHECK_FALSE(fixture.keeps_after_checkpoint(position_of(past.sequence).commit));
}

TEST_CASE("If the store is damaged, its feeds end with an error after the commits that it has") {
  Fixture fixture;
  test::publish(fixture.store, {test::create("people")});
  publish_rows(fixture.store, 2);
  fixture.host.store_pending(fixture.store);
  REQUIRE(fixture.host.checkpoint(fixture.store));
  publish_rows(fixture.store, 1);
  fixture.host.store_pending(fixture.store);
  for (auto& [id, bytes] : fixture.host.parts) bytes[bytes.size() / 2] ^= 1;
  fixture.store = std::move(*fixture.host.open());
  REQUIRE(fixture.store.is_damaged());
  const Past past = fixture.read_all_at_once(sequence_of({1, 3}));
  CHECK(past.state == more);
  CHECK(past.batches.size() == 1);
  CHECK(test::read_error(fixture.call(past.sequence)).status == 500);
}

}  // namespace entitable::rpc
