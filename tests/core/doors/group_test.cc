#include "core/doors/group.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/direct/calls.h"
#include "core/model/service_error.h"
#include "tests/core/direct/reply_reader.h"
#include "tests/core/direct/request_builder.h"
#include "tests/core/protocol/request_block.h"
#include "tests/support/catch.h"
#include "tests/support/disk.h"

namespace entitable::doors {
namespace {

using direct::ReplyBuffer;
using direct::ReplyKind;
using direct::RequestKind;
using protocol::HeaderView;
using protocol::Request;
using test::OperationRecord;
using test::ReplyReader;
using test::request_block;
using test::RequestBuilder;
using test::write_request;

constexpr Ticks then = 637'311'980'884'767'123;
const std::string base = "http://127.0.0.1:10002/acct/";

// ---- Blocks -------------------------------------------------------------------------------------

std::string create(std::string_view name) {
  return RequestBuilder(RequestKind::create_table).text(name).build();
}
std::string insert(std::string row) {
  return write_request({"people", {OperationRecord{0, "p", std::move(row), {}, ""}}, 0}).build();
}

std::string http(std::string_view method, const std::string& path, std::string_view body = "",
                 std::vector<HeaderView> headers = {}) {
  headers.push_back({"Accept", "application/json;odata=nometadata"});
  return request_block(Request{method, base + path, std::move(headers), body, {}});
}
std::string http_create(const std::string& name) {
  return http("POST", "Tables", "{\"TableName\":\"" + name + "\"}");
}
std::string http_insert(const std::string& row) {
  return http("POST", "people", R"({"PartitionKey":"p","RowKey":")" + row + "\"}");
}

std::string http_batch_get(const std::string& path) {
  const std::string parts = "--b\nContent-Type: application/http\n\nGET " + base + path +
                            " HTTP/1.1\nAccept: application/json\n\n--b--";
  return http("POST", "$batch", parts, {{"Content-Type", "multipart/mixed; boundary=b"}});
}

std::string call(std::uint64_t number, std::string_view block, char client = 'a') {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(32);
  out.u8(1);
  out.u16(0);
  out.u32(0);
  out.u64(number);
  out.raw(std::string(16, client));
  out.raw(block);
  return bytes;
}

struct HttpReply {
  std::uint16_t status;
  std::string text;  // reason, headers and body, one after another
};
HttpReply http_reply(const ReplyBuffer& reply) {
  ByteReader in(reply.view());
  REQUIRE(in.u8() == 65);
  in.u8();
  const std::uint16_t status = in.u16();
  return HttpReply{status, std::string(in.raw(in.remaining()))};
}
bool contains(const HttpReply& reply, std::string_view text) {
  return reply.text.find(text) != std::string::npos;
}

// A store in memory: every group is published and "stored" at once.
class Bench {
 public:
  Bench() {
    account.name = "acct";
    REQUIRE(store.recover(std::nullopt).ok());
    store.recovered();
  }
  StagedReplies stage(const std::vector<std::string>& blocks) {
    StagedReplies staged;
    doors::stage(account, store, {blocks.begin(), blocks.end()}, then, staged);
    return staged;
  }
  StagedReplies commit(const std::vector<std::string>& blocks) {
    StagedReplies staged = stage(blocks);
    if (staged.changes) {
      store.publish();
      if (const auto sealed = store.seal()) store.stored(sealed->sequence);
    }
    return staged;
  }
  HttpReply get(const std::string& path) {
    handle(account, store, http("GET", path), then, reply);
    return http_reply(reply);
  }

  protocol::Account account;
  Store store;
  ReplyBuffer reply;
};

void check_malformed(const ReplyBuffer& reply) {
  const auto error = test::read_error(reply.str());
  CHECK(error.code == "InvalidInput");
  CHECK(error.message == "The request block is malformed.");
}

}  // namespace

TEST_CASE("Writes of both doors are one group, in order, each answered by its door") {
  Bench bench;
  const StagedReplies staged = bench.stage({http_create("people"), insert("1"), http_insert("1"),
                                            http_insert("2"), insert("2"), create("PEOPLE")});
  CHECK(staged.changes);
  CHECK(staged.failed == std::vector<char>{false, false, true, false, true, true});
  CHECK(http_reply(staged.replies[0]).status == 201);
  CHECK(ReplyReader(staged.replies[1].str()).kind() == ReplyKind::written);
  CHECK(http_reply(staged.replies[2]).status == 409);
  CHECK(http_reply(staged.replies[3]).status == 201);
  CHECK(test::read_error(staged.replies[4].str()).code == "EntityAlreadyExists");
  CHECK(test::read_error(staged.replies[5].str()).code == "TableAlreadyExists");
}

TEST_CASE("Blocks staged together are seen by each other, and by readers once they are published") {
  Bench bench;
  bench.commit({create("people")});
  bench.stage({insert("1")});
  CHECK_FALSE(contains(bench.get("people()"), "\"RowKey\":\"1\""));
  bench.store.publish();
  CHECK(contains(bench.get("people()"), "\"RowKey\":\"1\""));
}

TEST_CASE("Writes that are not to be staged first are published with their replies") {
  Bench bench;
  const auto write = [&](const std::vector<std::string>& blocks) {
    StagedReplies written;
    doors::write(bench.account, bench.store, {blocks.begin(), blocks.end()}, then, written);
    return written;
  };
  CHECK(write({create("people")}).changes);
  const StagedReplies one = write({insert("1")});
  CHECK(one.changes);
  CHECK(one.failed == std::vector<char>{false});
  CHECK(ReplyReader(one.replies[0].str()).kind() == ReplyKind::written);
  CHECK(contains(bench.get("people()"), "\"RowKey\":\"1\""));

  const StagedReplies refused = write({insert("1")});
  CHECK_FALSE(refused.changes);
  CHECK(refused.failed == std::vector<char>{true});
  CHECK(test::read_error(refused.replies[0].str()).code == "EntityAlreadyExists");
  CHECK(http_reply(write({http_insert("2")}).replies[0]).status == 201);
  CHECK(write({insert("3"), insert("3"), http_insert("4")}).failed ==
        std::vector<char>{false, true, false});
  CHECK(write({call(1, insert("5"))}).changes);
  CHECK(write({call(1, insert("5"))}).failed == std::vector<char>{false});
  check_malformed(write({"?"}).replies[0]);
  for (const char* row : {"2", "3", "4", "5"}) {
    CHECK(contains(bench.get("people()"), "\"RowKey\":\"" + std::string(row) + "\""));
  }
}

TEST_CASE("What a group leaves behind for the next one shows in nothing") {
  Bench kept;
  Bench fresh;
  StagedReplies reused;
  const std::vector<std::vector<std::string>> groups = {
      {create("people")},
      {insert("1")},
      {insert("1")},
      {insert("a row whose key takes memory of its own")},
      {insert("2")},
      {http_insert("3")},
      {insert("4"), insert("4"), http_insert("5"), "?"},
      {"?"},
      {call(1, insert("6"))},
      {insert("7")},
      {insert("8"), "?"},
      {},
      {http("PROPFIND", "people")},
      {insert("9")},
  };
  for (const std::vector<std::string>& group : groups) {
    const std::vector<std::string_view> blocks(group.begin(), group.end());
    StagedReplies expected;
    doors::write(kept.account, kept.store, blocks, then, reused);
    doors::write(fresh.account, fresh.store, blocks, then, expected);
    CHECK(reused.failed == expected.failed);
    CHECK(reused.changes == expected.changes);
    REQUIRE(reused.replies.size() == blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      CHECK(reused.replies[i].view() == expected.replies[i].view());
    }
  }
}

TEST_CASE("A request that reads tells what it took, if it is asked") {
  Bench bench;
  bench.commit({create("people"), insert("1"), insert("2")});
  RowCounts rows{9, 9};
  const auto read = [&](const std::string& path) {
    handle(bench.account, bench.store, http("GET", path), then, bench.reply, &rows);
    return rows;
  };
  CHECK(read("people()?$filter=n%20eq%201") == RowCounts{2, 0});
  CHECK(read("people(PartitionKey='p',RowKey='1')") == RowCounts{1, 1});
  CHECK(read("people()") == RowCounts{2, 2});
  CHECK(read("Tables") == RowCounts{0, 0});
  CHECK(read("nowhere()") == RowCounts{0, 0});
}

TEST_CASE("What a door refuses itself doesn't reach the store and changes nothing") {
  Bench bench;
  bench.commit({create("people")});
  const StagedReplies staged =
      bench.stage({"no block", http("POST", "people", "no JSON"), http("PROPFIND", "people"),
                   request_block({}) + "x", std::string("\x40\1", 2)});
  CHECK_FALSE(staged.changes);
  CHECK(staged.failed == std::vector<char>{true, true, true, true, true});
  check_malformed(staged.replies[0]);
  CHECK(http_reply(staged.replies[1]).status == 400);
  CHECK(http_reply(staged.replies[2]).status == 400);
  check_malformed(staged.replies[3]);
  check_malformed(staged.replies[4]);
  CHECK_FALSE(bench.stage({}).changes);
}

TEST_CASE("A batch that reads is answered among the writes, and changes nothing") {
  Bench bench;
  bench.commit({create("people"), insert("1")});
  const StagedReplies staged = bench.stage({http_batch_get("people()")});
  CHECK_FALSE(staged.changes);
  CHECK(staged.failed == std::vector<char>{true});
  const HttpReply reply = http_reply(staged.replies[0]);
  CHECK(reply.status == 202);
  CHECK(contains(reply, "\"RowKey\":\"1\""));
}

TEST_CASE("A read is answered from what is published") {
  Bench bench;
  bench.commit({create("people"), insert("1")});
  const HttpReply found = bench.get("people(PartitionKey='p',RowKey='1')");
  CHECK(found.status == 200);
  CHECK(contains(found, "\"RowKey\":\"1\""));
  CHECK(bench.get("people(PartitionKey='p',RowKey='2')").status == 404);
}

TEST_CASE("A write is no read, and neither is nonsense") {
  Bench bench;
  for (const std::string& block : {http_create("people"), std::string(), create("people")}) {
    handle(bench.account, bench.store, block, then, bench.reply);
    check_malformed(bench.reply);
  }
  CHECK(bench.store.stats().tables.empty());
}

TEST_CASE("A call sent again is answered as before, through either door, and changes nothing") {
  Bench bench;
  bench.commit({create("people")});
  const std::vector<std::string> blocks = {call(1, insert("a")), call(2, http_insert("b")),
                                           call(3, create("places"))};
  const StagedReplies first = bench.commit(blocks);
  CHECK(first.failed == std::vector<char>{false, false, false});
  const StagedReplies again = bench.commit(blocks);
  CHECK_FALSE(again.changes);
  CHECK(again.failed == std::vector<char>{false, false, false});
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CHECK(again.replies[i].str() == first.replies[i].str());
  }

  const StagedReplies others = bench.commit({call(1, insert("a"), 'b'), call(4, insert("a"))});
  CHECK(others.failed == std::vector<char>{true, true});
}

TEST_CASE("A call that failed is tried anew when it is sent again") {
  Bench bench;
  CHECK(bench.commit({call(1, insert("a"))}).failed[0]);
  bench.commit({create("people")});
  CHECK_FALSE(bench.commit({call(1, insert("a"))}).failed[0]);
}

TEST_CASE("A malformed call is refused and its neighbours are not") {
  Bench bench;
  bench.commit({create("people")});
  const std::string good = call(1, insert("a"));
  std::string version = good;
  version[1] = 2;
  std::string reserved = good;
  reserved[3] = 1;
  const StagedReplies staged =
      bench.commit({version, reserved, call(2, good), good.substr(0, 31), insert("b")});
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(staged.failed[i]);
    check_malformed(staged.replies[i]);
  }
  CHECK_FALSE(staged.failed[4]);
  check_malformed(bench.commit({good.substr(0, 32)}).replies[0]);  // no block in it
}

TEST_CASE("nothing is staged and nothing answered while parts are absent") {
  test::Disk disk;
  Bench bench;
  bench.commit({create("people"), insert("1")});
  REQUIRE(disk.checkpoint(bench.store));
  bench.store = std::move(*disk.open(test::Disk::Load::what_is_needed));
  const std::vector<PartId> parts = {disk.parts.begin()->first};
  CHECK(handle(bench.account, bench.store, http("GET", "people"), then, bench.reply) == parts);

  const std::vector<std::string> group = {http_create("other"), insert("2"), http_insert("1")};
  StagedReplies staged = bench.stage(group);
  CHECK(staged.need_parts == parts);
  CHECK_FALSE(staged.changes);
  CHECK(bench.stage({http_batch_get("people"), http_create("other")}).need_parts == parts);
  disk.load_parts(bench.store, parts);
  staged = bench.commit(group);
  CHECK(staged.need_parts.empty());
  CHECK(http_reply(staged.replies[0]).status == 201);
  CHECK_FALSE(staged.failed[1]);
  CHECK(http_reply(staged.replies[2]).status == 409);
}

}  // namespace entitable::doors
