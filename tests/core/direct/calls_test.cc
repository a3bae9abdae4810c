#include "core/direct/calls.h"

#include <limits>
#include <string>
#include <vector>

#include "core/direct/record.h"
#include "core/model/etag.h"
#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "tests/core/direct/reply_reader.h"
#include "tests/core/direct/request_builder.h"
#include "tests/support/catch.h"
#include "tests/support/disk.h"

namespace entitable::direct {
namespace {

using test::bits_property;
using test::OperationRecord;
using test::read_error;
using test::read_page;
using test::ReplyPage;
using test::ReplyReader;
using test::RequestBuilder;
using test::string_property;
using test::write_request;
using test::WriteRecord;

constexpr Ticks then = 637'311'980'884'767'123;

// A store in memory: every stage is published and "stored" at once.
class Bench {
 public:
  Bench() {
    REQUIRE(store.recover(std::nullopt).ok());
    store.recovered();
    commit(create("people"));
  }

  static std::string create(std::string_view name) {
    return RequestBuilder(RequestKind::create_table).text(name).build();
  }
  static std::string drop(std::string_view name) {
    return RequestBuilder(RequestKind::drop_table).text(name).build();
  }
  static std::string insert(std::string row, std::int32_t v = 1) {
    return write_request({"people",
                          {OperationRecord{
                              0,
                              "p",
                              std::move(row),
                              {bits_property("v", EdmType::int32, static_cast<std::uint32_t>(v))},
                              ""}},
                          0})
        .build();
  }
  static RequestBuilder get(std::string_view row) {
    return RequestBuilder(RequestKind::get).text("people").text("p").text(row);
  }
  static RequestBuilder query(std::optional<std::string_view> filter, std::uint32_t top = none,
                              std::string_view table = "people") {
    RequestBuilder out(RequestKind::query);
    out.text(table);
    filter.has_value() ? out.text(*filter) : out.no_text();
    return out.word(top);
  }
  static std::string whole(RequestBuilder builder) {
    return builder.no_text().no_text().word(0).build();
  }

  std::string commit(const std::string& block) {
    std::vector<WriteRequest> requests(1);
    if (const auto refusal = parse_write(block, requests[0])) {
      write_error(reply, *refusal);
      return reply.str();
    }
    const Staged staged = store.stage(requests, then);
    write_answer(reply, staged.answers[0], timestamps);
    if (staged.changes) {
      store.publish();
      if (const auto sealed = store.seal()) store.stored(sealed->sequence);
    }
    return reply.str();
  }
  std::string read(const std::string& block) {
    direct::read(store, block, pages, reply);
    return reply.str();
  }

  Store store;
  PageWriter pages;
  ReplyBuffer reply;
  TimestampText timestamps;
};

void check_refused(const std::string& reply, Code code) {
  const auto error = read_error(reply);
  const ServiceError& expected = service_error(code);
  CHECK(error.status == expected.status);
  CHECK(error.code == expected.code);
}

}  // namespace

TEST_CASE("An inserted entity is read back by its key") {
  Bench bench;
  ReplyReader written(bench.commit(Bench::insert("1", 7)));
  CHECK(written.kind() == ReplyKind::written);
  CHECK(written.word() == 1);
  const std::string etag = written.text();
  CHECK(etag.substr(0, 12) == "W/\"datetime'");
  const ReplyPage page = read_page(bench.read(Bench::get("1").word(0).build()));
  REQUIRE(page.rows.size() == 1);
  CHECK(page.rows[0].cells[0] == "etag=" + etag);
  CHECK(page.rows[0].cells[4] == "v:7=7");
  const ReplyPage selected = read_page(bench.read(Bench::get("1").word(1).text("v").build()));
  CHECK(selected.rows[0].cells == std::vector<std::string>{"etag=" + etag, "v:7=7"});
}

TEST_CASE("A read tells what it took, if it is asked") {
  Bench bench;
  for (const char* row : {"1", "2", "3"}) bench.commit(Bench::insert(row, 7));
  RowCounts rows{9, 9};
  const auto read = [&](const std::string& block) {
    direct::read(bench.store, block, bench.pages, bench.reply, &rows);
    return rows;
  };
  CHECK(read(Bench::whole(Bench::query("PartitionKey eq 'p' and RowKey ge '2'"))) ==
        RowCounts{2, 2});
  CHECK(read(Bench::whole(Bench::query("v eq 1"))) == RowCounts{3, 0});
  CHECK(read(Bench::get("1").word(0).build()) == RowCounts{1, 1});
  CHECK(read(Bench::get("9").word(0).build()) == RowCounts{0, 0});
}

TEST_CASE("Of many keys the rows come up to the first that has none") {
  Bench bench;
  for (const char* row : {"1", "2", "3"}) bench.commit(Bench::insert(row, 7));
  const auto rows = [&](std::string_view table, const std::vector<std::string>& keys) {
    RequestBuilder request(RequestKind::get_each);
    request.text(table).word(static_cast<std::uint32_t>(keys.size()));
    for (const std::string& key : keys) request.text("p").text(key);
    std::vector<std::string> found;
    for (const auto& row : read_page(bench.read(request.build())).rows) {
      found.push_back(row.cells[2]);
    }
    return found;
  };
  using Rows = std::vector<std::string>;
  CHECK(rows("people", {"2", "1", "2", "3"}) ==
        Rows{"RowKey=2", "RowKey=1", "RowKey=2", "RowKey=3"});
  CHECK(rows("people", {"3", "none", "1"}) == Rows{"RowKey=3"});
  CHECK(rows("people", {"none", "1"}) == Rows{});
  CHECK(rows("people", {"1", std::string(2000, 'x'), "2"}) == Rows{"RowKey=1"});
  CHECK(rows("people", {}) == Rows{});
  CHECK(rows("nowhere", {"1"}) == Rows{});
  CHECK(rows("people", std::vector<std::string>(limits::page_rows_max, "1")).size() ==
        limits::page_rows_max);
  RequestBuilder more(RequestKind::get_each);
  more.text("people").word(limits::page_rows_max + 1);
  for (std::size_t i = 0; i <= limits::page_rows_max; ++i) more.text("p").text("1");
  check_refused(bench.read(more.build()), Code::invalid_input);
}

TEST_CASE("What is not there has the service's error") {
  Bench bench;
  const std::string reply = bench.read(Bench::get("1").word(0).build());
  check_refused(reply, Code::resource_not_found);
  CHECK(read_error(reply).message == message_of(Error(Code::resource_not_found)));
  CHECK(read_error(reply).index == none);
  CHECK_FALSE(read_error(reply).local);
  check_refused(bench.read(Bench::whole(Bench::query({}, none, "nowhere"))), Code::table_not_found);
}

TEST_CASE("A query pages by top and next") {
  Bench bench;
  for (const char* row : {"1", "2", "3"}) bench.commit(Bench::insert(row));
  const ReplyPage first = read_page(bench.read(Bench::whole(Bench::query({}, 2))));
  CHECK(first.rows.size() == 2);
  CHECK(first.next_partition == "p");
  CHECK(first.next_row == "3");
  const ReplyPage second =
      read_page(bench.read(Bench::query({}, 2).text("p").text("3").word(0).build()));
  CHECK(second.rows.size() == 1);
  CHECK_FALSE(second.next_partition.has_value());
  const ReplyPage from_partition =
      read_page(bench.read(Bench::query({}, 2).text("p").no_text().word(0).build()));
  CHECK(from_partition.rows.size() == 2);
  CHECK(read_page(bench.read(Bench::whole(Bench::query("RowKey eq '2'")))).rows.size() == 1);
}

TEST_CASE("A top up to 1000 is taken, more is refused") {
  Bench bench;
  for (const std::uint32_t top : {0u, 1u, 1000u, none}) {
    CHECK(read_page(bench.read(Bench::whole(Bench::query({}, top)))).rows.empty());
  }
  for (const std::uint32_t top : {1001u, 0x7FFF'FFFFu, none - 1}) {
    check_refused(bench.read(Bench::whole(Bench::query({}, top))), Code::invalid_input);
    check_refused(
        bench.read(RequestBuilder(RequestKind::list_tables).no_text().word(top).no_text().build()),
        Code::invalid_input);
  }
}

TEST_CASE("A broken filter is refused before the table is looked for") {
  Bench bench;
  const auto error = read_error(bench.read(Bench::whole(Bench::query("a eq", none, "nowhere"))));
  CHECK(error.status == 400);
  CHECK(error.code == "InvalidInput");
  CHECK(error.message.find("Syntax error at position") == 0);
}

TEST_CASE("A selection of more names than an entity can have is refused") {
  Bench bench;
  RequestBuilder request = Bench::query({}).no_text().no_text().word(256);
  for (int i = 0; i < 256; ++i) request.text("n" + std::to_string(i));
  check_refused(bench.read(request.build()), Code::invalid_input);
}

TEST_CASE("Explain gives plan and counts") {
  Bench bench;
  for (const char* row : {"1", "2"}) bench.commit(Bench::insert(row));
  RequestBuilder request(RequestKind::explain);
  request.text("people").text("PartitionKey eq 'p' and v gt 5").no_text();
  ReplyReader reply(bench.read(request.no_text().no_text().word(0).build()));
  REQUIRE(reply.kind() == ReplyKind::explanation);
  CHECK(reply.text() == "partition");
  CHECK(reply.text() == "partition");
  CHECK(reply.two_words() == 2);  // rows read
  CHECK(reply.two_words() == 0);  // returned
  CHECK(reply.two_words() > 0);   // bytes
  CHECK(reply.two_words() == 1);  // round trips
  CHECK(reply.two_words() == 1);  // transactions
  CHECK(reply.word() == 1);
  const std::uint32_t warnings = reply.word();
  CHECK(reply.text() == "p");
  CHECK(reply.text().empty());
  CHECK(reply.optional_text().has_value());
  CHECK(reply.optional_text().has_value());
  for (std::uint32_t i = 0; i < warnings * 3; ++i) reply.text();
  CHECK(reply.at_end());
}

TEST_CASE("Tables are listed in order, page by page") {
  Bench bench;
  for (const char* name : {"Zoo", "alpha"}) bench.commit(Bench::create(name));
  const auto list = [&](std::uint32_t top, std::optional<std::string> next) {
    RequestBuilder request(RequestKind::list_tables);
    request.no_text().word(top);
    next.has_value() ? request.text(*next) : request.no_text();
    return bench.read(request.build());
  };
  ReplyReader first(list(2, {}));
  CHECK(first.kind() == ReplyKind::tables);
  CHECK(first.word() == 2);
  const auto next = first.optional_text();
  REQUIRE(next.has_value());
  CHECK(first.text() == "alpha");
  CHECK(first.text() == "people");
  ReplyReader second(list(none, next));
  CHECK(second.word() == 1);
  CHECK_FALSE(second.optional_text().has_value());
  CHECK(second.text() == "Zoo");
  check_refused(
      bench.read(RequestBuilder(RequestKind::list_tables).text("a eq").word(1).no_text().build()),
      Code::invalid_input);
}

TEST_CASE("Table operations are answered without an ETag") {
  Bench bench;
  ReplyReader created(bench.commit(Bench::create("other")));
  CHECK(created.kind() == ReplyKind::written);
  CHECK(created.word() == 1);
  CHECK_FALSE(created.optional_text().has_value());
  check_refused(bench.commit(Bench::create("OTHER")), Code::table_already_exists);
  check_refused(bench.commit(Bench::create("a-b")), Code::invalid_resource_name);
  CHECK(ReplyReader(bench.commit(Bench::drop("other"))).kind() == ReplyKind::written);
  check_refused(bench.commit(Bench::drop("other")), Code::resource_not_found);
}

TEST_CASE("The error of a transaction has its index, as a word and in the message") {
  Bench bench;
  bench.commit(Bench::insert("1"));
  WriteRecord write;
  write.flags = 1;
  write.operations = {OperationRecord{0, "p", "0", {}, ""}, OperationRecord{0, "p", "1", {}, ""}};
  const auto error = read_error(bench.commit(write_request(write).build()));
  CHECK(error.status == 409);
  CHECK(error.index == 1);
  CHECK(error.message == "1:The specified entity already exists.");
}

TEST_CASE("parts that a read needs are named, and asked for until they are there") {
  test::Disk disk;
  Bench bench;
  bench.commit(Bench::insert("1"));
  REQUIRE(disk.checkpoint(bench.store));
  Store store = std::move(*disk.open(test::Disk::Load::what_is_needed));
  const PartId part = disk.parts.begin()->first;
  RequestBuilder explain(RequestKind::explain);
  explain.text("people").no_text().no_text();
  RequestBuilder each(RequestKind::get_each);
  each.text("people").word(1).text("p").text("1");
  CHECK(direct::read(store, each.build(), bench.pages, bench.reply).empty());
  CHECK(read_page(bench.reply.str()).rows.empty());
  for (const std::string& block :
       {Bench::get("1").word(0).build(), Bench::whole(Bench::query(std::nullopt)),
        explain.no_text().no_text().word(0).build()}) {
    CHECK(direct::read(store, block, bench.pages, bench.reply) == std::vector<PartId>{part});
  }
  disk.load_parts(store, {part});
  CHECK(direct::read(store, Bench::whole(Bench::query(std::nullopt)), bench.pages, bench.reply)
            .empty());
  CHECK(read_page(bench.reply.str()).rows.size() == 1);
}

TEST_CASE("Failures of this machine are marked as such") {
  ReplyBuffer out;
  for (const Code code : {Code::out_of_memory, Code::corrupted, Code::format_too_new}) {
    write_error(out, Error(code));
    CHECK(read_error(out.str()).local);
  }
  write_error(out, Error(Code::internal_error));
  CHECK_FALSE(read_error(out.str()).local);
}

TEST_CASE("Blocks that are no read are malformed") {
  Bench bench;
  for (const std::string& block :
       {std::string(), std::string("x"), Bench::insert("1"), Bench::create("t"), Bench::drop("t"),
        RequestBuilder(static_cast<RequestKind>(0)).build(),
        RequestBuilder(RequestKind::get).text("people").build(),
        Bench::get("1").word(2).text("a").build(), Bench::get("1").word(none).build(),
        RequestBuilder(RequestKind::query).text("people").build(),
        RequestBuilder(RequestKind::explain).text("people").build(),
        RequestBuilder(RequestKind::list_tables).no_text().build(),
        RequestBuilder(RequestKind::get_each).text("people").build(),
        RequestBuilder(RequestKind::get_each).text("people").word(2).text("p").text("r").build(),
        RequestBuilder(RequestKind::get_each).text("people").word(none).build()}) {
    const auto error = read_error(bench.read(block));
    CHECK(error.code == "InvalidInput");
    CHECK(error.message == "The request block is malformed.");
  }
}

TEST_CASE("A host's clock becomes ticks") {
  CHECK(ticks_from_unix_ms(0) == ticks_at_unix_epoch);
  CHECK(ticks_from_unix_ms(1.5) == ticks_at_unix_epoch + 15'000);
  CHECK(ticks_from_unix_ms(1'595'601'288'476.0) == then - 7123);
  for (const double nonsense : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity()}) {
    CHECK(ticks_from_unix_ms(nonsense) == ticks_at_unix_epoch);
  }
}

}  // namespace entitable::direct
