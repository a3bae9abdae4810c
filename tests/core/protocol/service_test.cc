#include "core/protocol/service.h"

#include <string>

#include "tests/core/protocol/conversation.h"
#include "tests/support/catch.h"
#include "tests/support/golden.h"

namespace entitable::protocol {
namespace {

void check_conversation(const std::string& name, Account account = {}) {
  test::check_golden("protocol/" + name + ".http", test::Conversation(std::move(account)));
}

TEST_CASE("conversation: tables") {
  check_conversation("tables");
}

TEST_CASE("conversation: entities") {
  check_conversation("entities");
}

TEST_CASE("conversation: levels of metadata") {
  check_conversation("metadata");
}

TEST_CASE("conversation: types") {
  check_conversation("types");
}

TEST_CASE("conversation: queries and pages") {
  check_conversation("queries");
}

TEST_CASE("conversation: headers") {
  check_conversation("headers");
}

TEST_CASE("conversation: addresses and routes") {
  check_conversation("routes");
}

TEST_CASE("conversation: batches") {
  check_conversation("batches");
}

TEST_CASE("conversation: documents in XML") {
  check_conversation("documents");
}

}  // namespace
}  // namespace entitable::protocol
