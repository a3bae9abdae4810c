#include "core/store/call_window.h"

#include "tests/support/catch.h"

namespace entitable {
namespace {

ClientId client_id(std::size_t client) {
  return ClientId{
      {static_cast<std::uint8_t>(client & 0xff), static_cast<std::uint8_t>(client >> 8)}};
}

ClientCall call(std::size_t client, std::uint64_t number) {
  return {client_id(client), number, {static_cast<Ticks>(number) + 1}};
}

void add(CallWindow& window, ClientCall made, std::uint64_t commit = 0) {
  window.reserve({made});
  window.add(std::move(made), commit);
}

bool has(const CallWindow& window, std::size_t client, std::uint64_t number) {
  return window.find(client_id(client), number) != nullptr;
}

}  // namespace

TEST_CASE("a call is found by client and number") {
  CallWindow window;
  add(window, call(1, 7));
  add(window, call(2, 8));
  REQUIRE(has(window, 1, 7));
  CHECK(window.find(client_id(1), 7)->timestamps == std::vector<Ticks>{8});
  CHECK_FALSE(has(window, 2, 7));
  CHECK_FALSE(has(window, 1, 8));
  CHECK_FALSE(has(window, 3, 7));
}

TEST_CASE("a call is found whatever the order of the numbers") {
  CallWindow window;
  for (const std::uint64_t number : {7, 3, 9, 5}) add(window, call(1, number));
  for (const std::uint64_t number : {3, 5, 7, 9}) CHECK(has(window, 1, number));
  for (const std::uint64_t number : {1, 4, 8, 10}) CHECK_FALSE(has(window, 1, number));
  CHECK(window.numbers(client_id(1)) == std::vector<std::uint64_t>{7, 3, 9, 5});
}

TEST_CASE("the newest calls of each client are kept, whatever other clients do") {
  CallWindow window;
  add(window, call(2, 5));
  for (std::uint64_t number = 0; number <= CallWindow::calls_per_client; ++number) {
    add(window, call(1, number));
  }
  CHECK_FALSE(has(window, 1, 0));
  CHECK(has(window, 1, 1));
  CHECK(has(window, 1, CallWindow::calls_per_client));
  CHECK(has(window, 2, 5));
  const std::vector<std::uint64_t> numbers = window.numbers(client_id(1));
  CHECK(numbers.size() == CallWindow::calls_per_client);
  CHECK(numbers.front() == 1);
  CHECK(numbers.back() == CallWindow::calls_per_client);
  CHECK(window.numbers(client_id(3)).empty());
}

TEST_CASE("the client that has not called for longest is dropped") {
  CallWindow window;
  for (std::size_t client = 0; client < CallWindow::clients_max; ++client) {
    add(window, call(client, 1));
  }
  add(window, call(0, 2));  // client 1 is now the least recent
  CHECK(has(window, 1, 1));
  add(window, call(CallWindow::clients_max, 1));
  CHECK_FALSE(has(window, 1, 1));
  CHECK(has(window, 0, 1));
  CHECK(has(window, 0, 2));
  CHECK(has(window, 2, 1));
  CHECK(has(window, CallWindow::clients_max, 1));
}

TEST_CASE("one group may come from more clients than are kept") {
  CallWindow window;
  std::vector<ClientCall> calls;
  for (std::size_t client = 0; client <= CallWindow::clients_max; ++client) {
    calls.push_back(call(client, 1));
  }
  window.reserve(calls);
  for (ClientCall& made : calls) window.add(std::move(made), 5);
  CHECK_FALSE(has(window, 0, 1));
  CHECK(has(window, 1, 1));
  CHECK(has(window, CallWindow::clients_max, 1));
  CHECK(window.dropped_through() == 5);
}

TEST_CASE("the window tells which commits may have applied calls of dropped clients") {
  CallWindow window;
  for (std::size_t client = 0; client < CallWindow::clients_max; ++client) {
    add(window, call(client, 1), 10 + client);
  }
  CHECK(window.dropped_through() == 0);
  SECTION("once there is one client too many") {
    add(window, call(CallWindow::clients_max, 1), 1000);
    CHECK(window.dropped_through() == 10);
    add(window, call(1, 2), 1001);
    CHECK(window.dropped_through() == 10);
    add(window, call(0, 1), 1002);
    CHECK(window.dropped_through() == 12);
  }
  SECTION("and with which of them a copy is made") {
    add(window, call(CallWindow::clients_max, 1), 1000);
    add(window, call(1, 2), 1001);
    const CallCommits commits = window.commits();
    CHECK(commits.dropped_through == 10);
    REQUIRE(commits.newest.size() == CallWindow::clients_max);
    CHECK(commits.newest.front() == 12);
    CHECK(commits.newest.back() == 1001);
  }
  SECTION("also those that another window dropped") {
    window.mark_dropped(500);
    CHECK(window.dropped_through() == 500);
    window.mark_dropped(400);
    CHECK(window.dropped_through() == 500);
  }
  SECTION("and calls that had no effect are no use of a client") {
    window.reserve(client_id(0));
    window.reserve({call(0, 2), call(CallWindow::clients_max, 1)});
    window.add(call(CallWindow::clients_max, 1), 1000);
    CHECK(window.dropped_through() == 10);
    CHECK_FALSE(has(window, 0, 1));
  }
}

TEST_CASE("no client is dropped for calls that had no effect") {
  CallWindow window;
  for (std::size_t client = 0; client < CallWindow::clients_max; ++client) {
    add(window, call(client, 1), 10 + client);
  }
  for (std::size_t client = 0; client < 300; ++client) {
    window.reserve(client_id(1000 + client));
    window.reserve({call(2000 + client, 1), call(3000 + client, 1)});
  }
  CHECK(window.dropped_through() == 0);
  CHECK(window.calls().size() == CallWindow::clients_max);
  CHECK(has(window, 0, 1));
  add(window, call(999, 1), 1000);
  CHECK(window.dropped_through() == 10);
  CHECK_FALSE(has(window, 0, 1));
  CHECK(has(window, 1, 1));
  CHECK(window.calls().size() == CallWindow::clients_max);
}

TEST_CASE("a window made from another window's calls is equal to that window") {
  CallWindow window;
  for (std::size_t client = 0; client < CallWindow::clients_max; ++client) {
    for (std::uint64_t number = 0; number < 1 + client % 80; ++number) {
      add(window, call(client, number));
    }
  }
  add(window, call(0, 9));  // the last caller is the client that was added first
  const std::vector<ClientCall> calls = window.calls();
  CHECK(calls.back() == call(0, 9));
  CallWindow copy;
  for (const ClientCall& made : calls) add(copy, made);
  CHECK(copy.calls() == calls);
  for (const std::size_t client : {CallWindow::clients_max, CallWindow::clients_max + 1}) {
    add(window, call(client, 1));
    add(copy, call(client, 1));
  }
  CHECK(copy.calls() == window.calls());
}

}  // namespace entitable
