#include "core/store/call_window.h"

#include "tests/support/catch.h"

namespace entitable {
namespace {

ClientCall call(std::uint8_t client, std::uint64_t number) {
  return {ClientId{{client}}, number, {static_cast<Ticks>(number) + 1}};
}

}  // namespace

TEST_CASE("a call is found by client and number") {
  CallWindow window;
  window.add(call(1, 7));
  window.add(call(2, 8));
  REQUIRE(window.find(ClientId{{1}}, 7) != nullptr);
  CHECK(window.find(ClientId{{1}}, 7)->timestamps == std::vector<Ticks>{8});
  CHECK(window.find(ClientId{{2}}, 7) == nullptr);
  CHECK(window.find(ClientId{{1}}, 8) == nullptr);
}

TEST_CASE("the window keeps the newest calls, oldest first") {
  CallWindow window;
  for (std::uint64_t number = 0; number <= CallWindow::calls_max; ++number) {
    window.add(call(1, number));
  }
  CHECK(window.find(ClientId{{1}}, 0) == nullptr);
  CHECK(window.find(ClientId{{1}}, 1) != nullptr);
  CHECK(window.find(ClientId{{1}}, CallWindow::calls_max) != nullptr);
  const std::vector<ClientCall> calls = window.calls();
  REQUIRE(calls.size() == CallWindow::calls_max);
  for (std::size_t i = 0; i < calls.size(); ++i) REQUIRE(calls[i].number == i + 1);
}

TEST_CASE("calls come back in order before the window is full") {
  CallWindow window;
  window.reserve(2);
  window.add(call(1, 1));
  window.add(call(1, 2));
  REQUIRE(window.calls().size() == 2);
  CHECK(window.calls().front().number == 1);
}

}  // namespace entitable
