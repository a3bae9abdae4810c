// Tests requests about durable readers of the change feed (listening_clients.h passes them on).
#include "core/rpc/feed_reader_requests.h"

#include <cstring>
#include <string>

#include "core/model/service_error.h"
#include "core/rpc/listening_clients.h"
#include "core/rpc/operations.h"
#include "core/store/feed_readers.h"
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

constexpr std::uint32_t open = 0, acknowledge = 1, remove = 2;
constexpr std::uint32_t missing = 0, done = 1, refused = 2;

struct Answer {
  std::uint32_t state;
  bool is_stored;
  std::uint64_t acknowledged;
};

class Fixture {
 public:
  Fixture() { test::publish(store, {test::create("people"), test::upsert("people", "p", "a", 1)}); }

  std::string call(const RequestBuilder& request) {
    CHECK(clients.handle(store, 1, request.build(), pages, response).empty());
    return response.str();
  }
  static RequestBuilder request(std::uint32_t operation, std::string_view name,
                                std::uint64_t sequence, double now_ms = 1000) {
    std::uint64_t time;
    std::memcpy(&time, &now_ms, sizeof time);
    RequestBuilder out(RequestKind::feed_reader);
    out.word(operation).text(name).two_words(sequence).two_words(time);
    return out;
  }
  Answer ask(std::uint32_t operation, std::string_view name, std::uint64_t sequence = 0) {
    ResponseReader in(call(request(operation, name, sequence)));
    REQUIRE(in.kind() == ResponseKind::feed_reader);
    Answer answer{in.word(), in.word() == 1, in.two_words()};
    return answer;
  }

  TestHost host;
  Store store = test::new_store();
  ListeningClients clients;
  PageWriter pages;
  ResponseBuffer response;
};

}  // namespace

TEST_CASE("A reader is opened, acknowledges and is removed, and a checkpoint stores each change") {
  Fixture fixture;
  const std::uint64_t last = sequence_of(fixture.store.position());
  Answer answer = fixture.ask(open, "backup", sequence_max);
  CHECK(answer.state == done);
  CHECK_FALSE(answer.is_stored);
  CHECK(answer.acknowledged == last);
  fixture.host.store_pending(fixture.store);
  fixture.host.checkpoint(fixture.store);
  answer = fixture.ask(open, "backup", 0);
  CHECK(answer.is_stored);
  CHECK(answer.acknowledged == last);
  CHECK(fixture.ask(open, "all", 1).acknowledged == 1);
  answer = fixture.ask(acknowledge, "all", last);
  CHECK(answer.state == done);
  CHECK_FALSE(answer.is_stored);
  CHECK(answer.acknowledged == last);
  CHECK(fixture.ask(acknowledge, "all", 0).acknowledged == last);
  CHECK(FeedReaders(fixture.store).find("all")->acknowledged_at == ticks_from_unix_ms(1000));
  CHECK(fixture.ask(remove, "all").state == done);
  CHECK(fixture.ask(remove, "all").state == missing);
  CHECK(fixture.ask(acknowledge, "all", last).state == missing);
  fixture.host.checkpoint(fixture.store);
  CHECK(fixture.ask(remove, "all").is_stored);
}

TEST_CASE("A reader after sequence 0 begins with the first commit that the log has") {
  Fixture fixture;
  CHECK(fixture.ask(open, "all", 0).acknowledged == 0);
  CHECK(fixture.ask(remove, "all").state == done);
  fixture.host.store_pending(fixture.store);
  REQUIRE(fixture.host.checkpoint(fixture.store));
  const std::uint64_t last = sequence_of(fixture.store.position());
  test::publish(fixture.store, {test::upsert("people", "p", "a", 2)});
  CHECK(fixture.ask(open, "what is left", 0).acknowledged == last);
}

TEST_CASE("Readers with wrong names or positions are refused") {
  Fixture fixture;
  const std::uint64_t later = sequence_of(fixture.store.position()) + 1;
  CHECK(fixture.ask(open, "", 0).state == refused);
  CHECK(fixture.ask(open, std::string(256, 'x'), 0).state == refused);
  CHECK(fixture.ask(open, "late", later).state == refused);
  CHECK(fixture.ask(open, "backup", 0).state == done);
  CHECK(fixture.ask(acknowledge, "backup", later).state == refused);
}

TEST_CASE("Malformed requests about readers get an error") {
  Fixture fixture;
  const auto& invalid = service_error_of(ErrorCode::invalid_input).code;
  CHECK(test::read_error(fixture.call(Fixture::request(3, "backup", 0))).code == invalid);
  CHECK(test::read_error(fixture.call(RequestBuilder(RequestKind::feed_reader).word(0))).code ==
        invalid);
}

}  // namespace entitable::rpc
