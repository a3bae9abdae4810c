#include "core/rpc/listening_clients.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/core/rpc/response_reader.h"
#include "tests/support/catch.h"
#include "tests/support/store_helpers.h"

namespace entitable::rpc {
namespace {

using test::read_error;
using test::read_page;
using test::RequestBuilder;
using test::ResponsePage;
using test::ResponseReader;

// A row as a test sees it: its RowKey and the property `value`.
std::vector<std::string> texts_of(const ResponsePage& page) {
  std::vector<std::string> rows;
  for (const auto& row : page.rows) rows.push_back(row.cells.at(2) + " " + row.cells.at(4));
  return rows;
}

struct WatchPageContent {
  std::vector<std::string> rows;
  std::uint32_t rows_read;
  bool complete;
  std::uint64_t sequence;
};

struct Delta {
  bool reset = false;
  bool complete = false;
  std::vector<std::string> rows{};  // "enter <row>", "update <row>", "leave <key>"
  std::uint32_t entered = 0;        // of a watch that counts
  std::uint32_t left = 0;
};

struct Batch {
  std::uint64_t sequence = 0;
  bool unknown = false;
  std::uint32_t origin = 0;
  double at = 0;
  std::vector<std::string> changes{};  // "<table> <op> <row> <row before>", "<table> created"
};

struct Changes {
  std::uint64_t sequence = 0;
  std::uint64_t stored = 0;
  std::size_t pages = 0;
  std::vector<std::string> rows{};
  std::map<WatchId, Delta> deltas{};
  std::map<FeedId, std::vector<Batch>> batches{};
};

Delta read_delta(ResponseReader& in, const std::vector<std::string>& rows,
                 const std::vector<std::string>& keys) {
  const char* const kinds[] = {"enter ", "update ", "leave ", "leave key "};
  const std::uint32_t flags = in.word();
  Delta delta{(flags & 1) != 0, (flags & 2) != 0};
  if ((flags & 4) != 0) {
    delta.entered = in.word();
    delta.left = in.word();
    return delta;
  }
  const std::uint32_t count = in.word();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t word = in.word();
    delta.rows.push_back(kinds[word & 3] + ((word & 3) == 3 ? keys : rows).at(word >> 2));
  }
  return delta;
}

Batch read_batch(ResponseReader& in, const Changes& changes, const std::vector<std::string>& keys,
                 const std::vector<std::string>& tables) {
  const char* const ops[] = {" insert ", " update ", " delete "};
  Batch batch;
  batch.unknown = (in.word() & 1) != 0;
  batch.origin = in.word();
  const std::uint32_t rows = in.word();
  const std::uint32_t table_changes = in.word();
  batch.sequence = in.two_words();
  batch.at = in.float64();
  for (std::uint32_t i = 0; i < rows; ++i) {
    std::string text = tables.at(in.word());
    const std::uint32_t op = in.word();
    const std::uint32_t number = in.word();
    text += ops[op] + (op == 2 ? keys : changes.rows).at(number);
    const std::uint32_t before = in.word();
    if (before != none) text += ", before " + changes.rows.at(before);
    batch.changes.push_back(text);
  }
  for (std::uint32_t i = 0; i < table_changes; ++i) {
    const std::string table = tables.at(in.word());
    batch.changes.push_back(table + (in.word() == 1 ? " created" : " deleted"));
  }
  return batch;
}

Changes read_changes(const std::string& bytes) {
  ResponseReader in(bytes);
  REQUIRE(in.kind() == ResponseKind::changes);
  Changes changes;
  changes.sequence = in.two_words();
  changes.stored = in.two_words();
  changes.pages = in.word();
  for (std::size_t i = 0; i < changes.pages; ++i) {
    const std::string page = in.binary();
    CHECK(page.size() % 8 == 0);
    for (std::string& row : texts_of(read_page(page, true))) changes.rows.push_back(row);
  }
  std::vector<std::string> keys(in.word());
  for (std::string& key : keys) {
    key = in.text() + "/";
    key += in.text();
  }
  const std::uint32_t deltas = in.word();
  for (std::uint32_t i = 0; i < deltas; ++i) {
    const WatchId watch = in.word();
    changes.deltas.emplace(watch, read_delta(in, changes.rows, keys));
  }
  std::vector<std::string> tables(in.word());
  for (std::string& table : tables) table = in.text();
  const std::uint32_t batches = in.word();
  for (std::uint32_t i = 0; i < batches; ++i) {
    const FeedId feed = in.word();
    changes.batches[feed].push_back(read_batch(in, changes, keys, tables));
  }
  CHECK(in.at_padded_end());
  CHECK(in.binary_offset() % 8 == 0);
  return changes;
}

class Fixture {
 public:
  Fixture() {
    REQUIRE(store.begin_recovery(std::nullopt).ok());
    store.finish_recovery();
    write({test::create("people"), test::create("lamps")});
  }

  void write(const std::vector<WriteRequest>& requests) {
    const StageResult staged = store.stage(requests, test::noon);
    for (const WriteResult& answer : staged.results) REQUIRE(test::succeeded(answer));
    store.publish();
    if (const auto sealed = store.seal()) store.mark_stored(sealed->sequence);
  }
  void insert(std::string row, std::int32_t value) {
    write({test::upsert("people", "p", std::move(row), value)});
  }

  std::string call(std::uint32_t client, const RequestBuilder& request) {
    CHECK(clients.handle(store, client, request.build(), pages, response).empty());
    return response.str();
  }
  std::uint32_t listener(std::uint32_t client, const RequestBuilder& request) {
    ResponseReader in(call(client, request));
    REQUIRE(in.kind() == ResponseKind::listener);
    return in.word();
  }
  static RequestBuilder watch_request(std::string_view filter = {}, std::uint32_t limit = none,
                                      std::uint32_t flags = 0, std::string_view table = "people") {
    RequestBuilder out(RequestKind::open_watch);
    out.word(flags).text(table);
    filter.empty() ? out.no_text() : out.text(filter);
    return out.word(limit).no_text().no_text();
  }
  static RequestBuilder feed_request(std::uint32_t flags,
                                     const std::vector<std::string>& tables = {}) {
    RequestBuilder out(RequestKind::open_feed);
    out.word(flags).word(1).word(static_cast<std::uint32_t>(tables.size()));
    for (const std::string& table : tables) out.text(table);
    return out.no_text().text("").text("").no_text().no_text();
  }
  static RequestBuilder read_request(std::uint32_t watch, std::uint32_t rows_max = 1000) {
    return RequestBuilder(RequestKind::read_watch).word(watch).word(rows_max);
  }
  WatchPageContent read(std::uint32_t client, std::uint32_t watch, std::uint32_t rows_max = 1000) {
    ResponseReader in(call(client, read_request(watch, rows_max)));
    REQUIRE(in.kind() == ResponseKind::watch_page);
    WatchPageContent content{texts_of(read_page(in)), 0, false, 0};
    content.rows_read = in.word();
    content.complete = in.word() == 1;
    content.sequence = in.two_words();
    return content;
  }
  Changes take(std::uint32_t client, bool is_last = true) {
    return read_changes(call(client, RequestBuilder(RequestKind::take_changes)
                                         .word(is_last ? 1 : 0)
                                         .word(0)
                                         .word(0)
                                         .word(0)
                                         .word(0)));
  }

  Store store;
  PageWriter pages;
  ResponseBuffer response;
  ListeningClients clients;
};

void check_error(const std::string& response, ErrorCode code) {
  const auto error = read_error(response);
  CHECK(error.status == service_error_of(code).status);
  CHECK(error.code == service_error_of(code).code);
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("The response to \"open watch\" says whether every write will be tested") {
  Fixture fixture;
  const auto covers_all_keys = [&](const RequestBuilder& request) {
    ResponseReader in(fixture.call(1, request));
    CHECK(in.word() != 0);
    return in.word();
  };
  CHECK(covers_all_keys(Fixture::watch_request()) == 1);
  CHECK(covers_all_keys(Fixture::watch_request("value ge 0", 5)) == 1);
  CHECK(covers_all_keys(Fixture::watch_request("PartitionKey eq 'p'")) == 0);
  CHECK(covers_all_keys(Fixture::feed_request(0)) == 0);
}

TEST_CASE("Pages of changes are aligned, whatever text and binaries the rows have") {
  Fixture fixture;
  const WatchId people = fixture.listener(1, Fixture::watch_request());
  const WatchId lamps = fixture.listener(1, Fixture::watch_request("value ge 0", none, 0, "lamps"));
  fixture.read(1, people);
  fixture.read(1, lamps);
  const std::string unpaired_surrogate = "\xED\xA0\x80";
  for (std::size_t size = 0; size < 20; ++size) {
    for (const std::string& end : {std::string(), std::string("\xC3\xA9"), unpaired_surrogate}) {
      const std::string row = std::string(size, 'r') + end;
      Operation binary = test::operation(OperationKind::insert_or_replace, "p", row, 1);
      binary.properties.push_back({"z", Value::of_binary(std::string(size % 7, 'b'))});
      fixture.write({test::upsert("people", "p", row, 2), test::write("lamps", binary)});
      const Changes changes = fixture.take(1);  // checks the alignment
      CHECK(changes.pages == 2);
      CHECK(changes.deltas.at(people).rows == Texts{"enter RowKey=" + row + " value:7=2"});
      CHECK(changes.deltas.at(lamps).rows == Texts{"enter RowKey=" + row + " value:7=1"});
    }
  }
}

TEST_CASE("The client of a watch reads its rows and gets their changes") {
  Fixture fixture;
  fixture.insert("1", 5);
  fixture.insert("2", 6);
  const WatchId watch = fixture.listener(1, Fixture::watch_request("value ge 5"));
  const auto first = fixture.read(1, watch, 1);
  CHECK(first.rows == Texts{"RowKey=1 value:7=5"});
  CHECK(first.rows_read == 1);
  CHECK_FALSE(first.complete);
  const auto last = fixture.read(1, watch);
  CHECK(last.rows == Texts{"RowKey=2 value:7=6"});
  CHECK(last.complete);
  CHECK(last.sequence == sequence_of(fixture.store.position()));

  fixture.insert("0", 9);
  fixture.insert("1", 7);
  fixture.insert("2", 1);
  fixture.insert("3", 1);
  const Changes changes = fixture.take(1);
  CHECK(changes.sequence == sequence_of(fixture.store.position()));
  CHECK(changes.pages == 1);
  const Delta& delta = changes.deltas.at(watch);
  CHECK(delta.complete);
  CHECK(delta.rows ==
        Texts{"enter RowKey=0 value:7=9", "update RowKey=1 value:7=7", "leave key p/2"});
  CHECK(fixture.take(1).deltas.empty());
}

TEST_CASE("A row is sent once for all watches of a client") {
  Fixture fixture;
  fixture.insert("1", 5);
  const WatchId all = fixture.listener(1, Fixture::watch_request());
  const WatchId some = fixture.listener(1, Fixture::watch_request("value eq 5"));
  for (const WatchId watch : {all, some}) CHECK(fixture.read(1, watch).complete);
  fixture.insert("1", 6);
  const Changes changes = fixture.take(1);
  CHECK(changes.rows == Texts{"RowKey=1 value:7=6"});
  CHECK(changes.deltas.at(all).rows == Texts{"update RowKey=1 value:7=6"});
  CHECK(changes.deltas.at(some).rows == Texts{"leave RowKey=1 value:7=6"});
}

TEST_CASE("Rows of several tables are sent in one message") {
  Fixture fixture;
  const WatchId people = fixture.listener(1, Fixture::watch_request());
  const WatchId lamps = fixture.listener(1, Fixture::watch_request({}, none, 0, "LAMPS"));
  for (const WatchId watch : {people, lamps}) CHECK(fixture.read(1, watch).complete);
  fixture.write({test::upsert("people", "p", "1", 1), test::upsert("lamps", "q", "2", 2)});
  const Changes changes = fixture.take(1);
  CHECK(changes.pages == 2);
  CHECK(changes.deltas.at(people).rows == Texts{"enter RowKey=1 value:7=1"});
  CHECK(changes.deltas.at(lamps).rows == Texts{"enter RowKey=2 value:7=2"});
}

TEST_CASE("Each client gets the changes of its own watches and feeds only") {
  Fixture fixture;
  const WatchId first = fixture.listener(1, Fixture::watch_request());
  const WatchId second = fixture.listener(2, Fixture::watch_request());
  const FeedId feed = fixture.listener(2, Fixture::feed_request(0));
  CHECK(fixture.read(1, first).complete);
  CHECK(fixture.read(2, second).complete);
  fixture.insert("1", 5);
  const Changes of_first = fixture.take(1, false);
  CHECK(of_first.deltas.size() == 1);
  CHECK(of_first.deltas.count(first) == 1);
  CHECK(of_first.batches.empty());
  const Changes of_second = fixture.take(2);
  CHECK(of_second.deltas.size() == 1);
  CHECK(of_second.deltas.count(second) == 1);
  CHECK(of_second.batches.at(feed).size() == 1);

  check_error(fixture.call(2, Fixture::read_request(first)), ErrorCode::invalid_input);
  const auto close_watch = [&](std::uint32_t client) {
    return fixture.listener(client, RequestBuilder(RequestKind::close_watch).word(first));
  };
  const auto close_feed = [&](std::uint32_t client) {
    return fixture.listener(
        client, RequestBuilder(RequestKind::close_feed).word(feed).word(1).two_words(sequence_max));
  };
  CHECK(close_watch(2) == 0);
  CHECK(close_feed(1) == 0);
  CHECK(close_watch(1) == first);
  CHECK(close_watch(1) == 0);
  CHECK(close_feed(2) == feed);
  fixture.insert("2", 5);
  CHECK(fixture.take(1, false).deltas.empty());
  CHECK(fixture.take(2).batches.empty());
}

TEST_CASE("Changes have the sequence of the last published commit that is stored") {
  Fixture fixture;
  fixture.listener(1, Fixture::feed_request(0));
  fixture.insert("1", 1);
  const std::uint64_t stored = fixture.take(1).stored;
  CHECK(stored == sequence_of(fixture.store.position()));
  fixture.store.stage({test::upsert("people", "p", "2", 2)}, test::noon);
  fixture.store.publish();
  CHECK(fixture.take(1).stored == stored);
  fixture.store.stage({test::upsert("people", "p", "3", 3)}, test::noon);
  fixture.store.mark_stored(fixture.store.seal()->sequence);
  CHECK(fixture.take(1).stored == stored + 1);
  fixture.store.publish();
  CHECK(fixture.take(1).stored == stored + 2);
}

TEST_CASE("Closing the listeners of a client leaves those of others open") {
  Fixture fixture;
  const WatchId first = fixture.listener(1, Fixture::watch_request());
  const WatchId second = fixture.listener(2, Fixture::watch_request());
  fixture.listener(1, Fixture::feed_request(0));
  CHECK(fixture.read(2, second).complete);
  CHECK(fixture.listener(1, RequestBuilder(RequestKind::close_listeners)) == 0);
  check_error(fixture.call(1, Fixture::read_request(first)), ErrorCode::invalid_input);
  fixture.insert("1", 5);
  CHECK(fixture.take(1, false).batches.empty());
  CHECK(fixture.take(2).deltas.size() == 1);
}

TEST_CASE("A watch that counts gets numbers instead of rows") {
  Fixture fixture;
  fixture.insert("1", 5);
  fixture.insert("2", 6);
  const WatchId watch = fixture.listener(1, Fixture::watch_request("value ge 5", none, 1));
  const auto page = fixture.read(1, watch);
  CHECK(page.rows.empty());
  CHECK(page.rows_read == 2);
  CHECK(page.complete);
  fixture.insert("1", 1);
  fixture.insert("3", 7);
  fixture.insert("4", 7);
  fixture.insert("2", 7);
  const Changes changes = fixture.take(1);
  CHECK(changes.pages == 0);
  CHECK(changes.deltas.at(watch).entered == 2);
  CHECK(changes.deltas.at(watch).left == 1);
  CHECK(changes.deltas.at(watch).complete);
}

TEST_CASE("A full limit that loses a row says that the client must read on") {
  Fixture fixture;
  for (const char* row : {"1", "2", "3"}) fixture.insert(row, 5);
  const WatchId watch = fixture.listener(1, Fixture::watch_request({}, 2));
  CHECK(fixture.read(1, watch).rows_read == 2);
  fixture.write({test::remove("people", "p", "1")});
  const Changes changes = fixture.take(1);
  CHECK(changes.deltas.at(watch).rows == Texts{"leave key p/1", "enter RowKey=3 value:7=5"});
  CHECK(changes.deltas.at(watch).complete);
}

TEST_CASE("A watch survives its table") {
  Fixture fixture;
  const WatchId watch = fixture.listener(1, Fixture::watch_request({}, none, 0, "later"));
  check_error(fixture.call(1, Fixture::read_request(watch)), ErrorCode::table_not_found);
  fixture.write({test::create("Later")});
  const Changes changes = fixture.take(1);
  CHECK(changes.deltas.at(watch).reset);
  CHECK_FALSE(changes.deltas.at(watch).complete);
  CHECK(fixture.read(1, watch).complete);
}

TEST_CASE("A feed gets one batch for each commit") {
  Fixture fixture;
  const FeedId after = fixture.listener(1, Fixture::feed_request(0, {"People", "new"}));
  const FeedId before = fixture.listener(1, Fixture::feed_request(1, {"people"}));
  fixture.insert("1", 5);
  fixture.write({test::upsert("people", "p", "1", 6), test::upsert("lamps", "p", "1", 1)});
  fixture.write({test::remove("people", "p", "1"), test::create("New"), test::drop("lamps")});
  const Changes changes = fixture.take(1);
  const std::vector<Batch>& batches = changes.batches.at(after);
  REQUIRE(batches.size() == 4);
  CHECK(batches[0].changes == Texts{"people insert RowKey=1 value:7=5"});
  CHECK(batches[1].changes == Texts{"people update RowKey=1 value:7=6"});
  CHECK(batches[2].changes == Texts{"people delete p/1"});
  CHECK(batches[3].changes == Texts{"New created"});
  CHECK(batches[0].sequence < batches[1].sequence);
  CHECK(batches[0].at == 1'664'403'200'000.0);
  const std::vector<Batch>& with_before = changes.batches.at(before);
  REQUIRE(with_before.size() == 3);
  CHECK(with_before[0].changes == Texts{"people insert RowKey=1 value:7=5"});
  CHECK(with_before[1].changes ==
        Texts{"people update RowKey=1 value:7=6, before RowKey=1 value:7=5"});
  CHECK(with_before[2].changes == Texts{"people delete p/1, before RowKey=1 value:7=6"});
}

TEST_CASE("A feed does not get commits that were published before it was opened") {
  Fixture fixture;
  fixture.listener(1, Fixture::watch_request());
  fixture.insert("1", 5);
  const FeedId feed = fixture.listener(1, Fixture::feed_request(0));
  fixture.insert("2", 6);
  const std::vector<Batch> batches = fixture.take(1).batches.at(feed);
  REQUIRE(batches.size() == 1);
  CHECK(batches[0].changes == Texts{"people insert RowKey=2 value:7=6"});
}

TEST_CASE("Requests that make no sense get an error") {
  Fixture fixture;
  const WatchId watch = fixture.listener(1, Fixture::watch_request());
  const auto fails = [&](const RequestBuilder& request) {
    check_error(fixture.call(1, request), ErrorCode::invalid_input);
  };
  fails(Fixture::watch_request("value eq"));
  fails(Fixture::watch_request({}, 0));
  fails(Fixture::watch_request({}, none, 2));
  fails(Fixture::feed_request(2));
  fails(Fixture::read_request(watch, 0));
  fails(Fixture::read_request(watch, 1001));
  fails(Fixture::read_request(watch + 1));
  fails(RequestBuilder(RequestKind::open_watch).word(0).text("people"));
  fails(RequestBuilder(RequestKind::open_feed).word(0).word(1).word(1'000'000));
  fails(RequestBuilder(RequestKind::close_watch));
  fails(RequestBuilder(RequestKind::close_feed).word(1));
  fails(RequestBuilder(RequestKind::take_changes));
  fails(RequestBuilder(RequestKind::get).text("people").text("p").text("1").word(0));
  CHECK(fixture.take(1).deltas.empty());
}

}  // namespace entitable::rpc
