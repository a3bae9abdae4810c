#include "core/rpc/operations.h"

#include <limits>
#include <string>
#include <vector>

#include "core/model/etag.h"
#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "core/rpc/write_parser.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/core/rpc/response_reader.h"
#include "tests/support/catch.h"
#include "tests/support/test_host.h"

namespace entitable::rpc {
namespace {

using test::bits_property;
using test::OperationRecord;
using test::read_error;
using test::read_page;
using test::RequestBuilder;
using test::ResponsePage;
using test::ResponseReader;
using test::string_property;
using test::write_request;
using test::WriteRecord;

constexpr Ticks commit_time = 637'311'980'884'767'123;

// A store in memory that publishes every write and marks it as stored at once.
class Fixture {
 public:
  Fixture() {
    REQUIRE(store.begin_recovery(std::nullopt).ok());
    store.finish_recovery();
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

  std::string commit(const std::string& message) {
    std::vector<WriteRequest> requests(1);
    if (const auto failure = parse_write(message, requests[0])) {
      encode_error(response, *failure);
      return response.str();
    }
    const StageResult staged = store.stage(requests, commit_time);
    encode_write_result(response, staged.results[0], timestamps);
    if (staged.changes) {
      store.publish();
      if (const auto sealed = store.seal()) store.mark_stored(sealed->sequence);
    }
    return response.str();
  }
  std::string read(const std::string& message) {
    rpc::handle_read(store, message, pages, response);
    return response.str();
  }

  Store store;
  PageWriter pages;
  ResponseBuffer response;
  TimestampFormatter timestamps;
};

void check_error(const std::string& response, ErrorCode code) {
  const auto error = read_error(response);
  const ServiceError& expected = service_error_of(code);
  CHECK(error.status == expected.status);
  CHECK(error.code == expected.code);
}

}  // namespace

TEST_CASE("An inserted entity is read back by its key") {
  Fixture fixture;
  ResponseReader written(fixture.commit(Fixture::insert("1", 7)));
  CHECK(written.kind() == ResponseKind::write_result);
  CHECK(written.word() == 1);
  const std::string etag = written.text();
  CHECK(etag.substr(0, 12) == "W/\"datetime'");
  const ResponsePage page = read_page(fixture.read(Fixture::get("1").word(0).build()));
  REQUIRE(page.rows.size() == 1);
  CHECK(page.rows[0].cells[0] == "etag=" + etag);
  CHECK(page.rows[0].cells[4] == "v:7=7");
  const ResponsePage selected =
      read_page(fixture.read(Fixture::get("1").word(1).text("v").build()));
  CHECK(selected.rows[0].cells == std::vector<std::string>{"etag=" + etag, "v:7=7"});
}

TEST_CASE("A read counts its rows on request") {
  Fixture fixture;
  for (const char* row : {"1", "2", "3"}) fixture.commit(Fixture::insert(row, 7));
  RowCounts rows{9, 9};
  const auto read = [&](const std::string& message) {
    rpc::handle_read(fixture.store, message, fixture.pages, fixture.response, &rows);
    return rows;
  };
  CHECK(read(Fixture::whole(Fixture::query("PartitionKey eq 'p' and RowKey ge '2'"))) ==
        RowCounts{2, 2});
  CHECK(read(Fixture::whole(Fixture::query("v eq 1"))) == RowCounts{3, 0});
  CHECK(read(Fixture::get("1").word(0).build()) == RowCounts{1, 1});
  CHECK(read(Fixture::get("9").word(0).build()) == RowCounts{0, 0});
}

TEST_CASE("A multi-get returns rows up to the first missing one") {
  Fixture fixture;
  for (const char* row : {"1", "2", "3"}) fixture.commit(Fixture::insert(row, 7));
  const auto rows = [&](std::string_view table, const std::vector<std::string>& keys) {
    RequestBuilder request(RequestKind::multi_get);
    request.text(table).word(static_cast<std::uint32_t>(keys.size()));
    for (const std::string& key : keys) request.text("p").text(key);
    std::vector<std::string> found;
    for (const auto& row : read_page(fixture.read(request.build())).rows) {
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
  RequestBuilder more(RequestKind::multi_get);
  more.text("people").word(limits::page_rows_max + 1);
  for (std::size_t i = 0; i <= limits::page_rows_max; ++i) more.text("p").text("1");
  check_error(fixture.read(more.build()), ErrorCode::invalid_input);
}

TEST_CASE("A descending query returns rows from the last, and continues below its last row") {
  Fixture fixture;
  for (const char* row : {"1", "2", "3"}) fixture.commit(Fixture::insert(row, 7));
  RequestBuilder query(RequestKind::query_descending);
  query.text("people").no_text().word(2);
  const ResponsePage page = read_page(fixture.read(Fixture::whole(query)));
  REQUIRE(page.rows.size() == 2);
  CHECK(page.rows[0].cells[2] == "RowKey=3");
  CHECK(page.rows[1].cells[2] == "RowKey=2");
  const ResponsePage rest = read_page(fixture.read(RequestBuilder(RequestKind::query_descending)
                                                       .text("people")
                                                       .no_text()
                                                       .word(2)
                                                       .text("p")
                                                       .text("2")
                                                       .word(0)
                                                       .build()));
  REQUIRE(rest.rows.size() == 1);
  CHECK(rest.rows[0].cells[2] == "RowKey=1");
}

TEST_CASE("A count has the number of matching rows") {
  Fixture fixture;
  for (const char* row : {"1", "2", "3"}) fixture.commit(Fixture::insert(row, row[0]));
  const auto count = [&fixture](std::optional<std::string_view> filter) {
    RequestBuilder request(RequestKind::count);
    request.text("people");
    filter.has_value() ? request.text(*filter) : request.no_text();
    ResponseReader response(fixture.read(Fixture::whole(request.word(none))));
    CHECK(response.kind() == ResponseKind::count);
    const std::uint64_t rows = response.two_words();
    CHECK(response.word() == none);
    CHECK(response.word() == none);
    return rows;
  };
  CHECK(count(std::nullopt) == 3);
  CHECK(count("RowKey ge '2'") == 2);
  CHECK(count("v gt 50") == 1);
  RequestBuilder nowhere(RequestKind::count);
  nowhere.text("nowhere").no_text().word(none);
  check_error(fixture.read(Fixture::whole(nowhere)), ErrorCode::table_not_found);
}

TEST_CASE("Partition keys are listed in pages") {
  Fixture fixture;
  for (const char* partition : {"a", "b", "c"}) {
    fixture.commit(
        write_request({"people", {OperationRecord{0, partition, "r", {}, ""}}, 0}).build());
  }
  const auto list = [&fixture](std::uint32_t top, std::string_view from) {
    return ResponseReader(fixture.read(
        RequestBuilder(RequestKind::partition_keys).text("people").word(top).text(from).build()));
  };
  ResponseReader first = list(2, "");
  CHECK(first.kind() == ResponseKind::tables);
  CHECK(first.word() == 2);
  CHECK(first.text() == "c");
  CHECK(first.text() == "a");
  CHECK(first.text() == "b");
  ResponseReader rest = list(none, "c");
  CHECK(rest.word() == 1);
  CHECK(rest.word() == none);
  CHECK(rest.text() == "c");
  RequestBuilder nowhere(RequestKind::partition_keys);
  nowhere.text("nowhere").word(none).no_text();
  check_error(fixture.read(nowhere.build()), ErrorCode::table_not_found);
  RequestBuilder many(RequestKind::partition_keys);
  many.text("people").word(limits::page_rows_max + 1).no_text();
  check_error(fixture.read(many.build()), ErrorCode::invalid_input);
}

TEST_CASE("A missing entity or table gives the service's error") {
  Fixture fixture;
  const std::string response = fixture.read(Fixture::get("1").word(0).build());
  check_error(response, ErrorCode::resource_not_found);
  CHECK(read_error(response).message == error_message(Error(ErrorCode::resource_not_found)));
  CHECK(read_error(response).index == none);
  CHECK_FALSE(read_error(response).local);
  check_error(fixture.read(Fixture::whole(Fixture::query({}, none, "nowhere"))),
              ErrorCode::table_not_found);
}

TEST_CASE("A query pages by top and next") {
  Fixture fixture;
  for (const char* row : {"1", "2", "3"}) fixture.commit(Fixture::insert(row));
  const ResponsePage first = read_page(fixture.read(Fixture::whole(Fixture::query({}, 2))));
  CHECK(first.rows.size() == 2);
  CHECK(first.next_partition == "p");
  CHECK(first.next_row == "3");
  const ResponsePage second =
      read_page(fixture.read(Fixture::query({}, 2).text("p").text("3").word(0).build()));
  CHECK(second.rows.size() == 1);
  CHECK_FALSE(second.next_partition.has_value());
  const ResponsePage from_partition =
      read_page(fixture.read(Fixture::query({}, 2).text("p").no_text().word(0).build()));
  CHECK(from_partition.rows.size() == 2);
  CHECK(read_page(fixture.read(Fixture::whole(Fixture::query("RowKey eq '2'")))).rows.size() == 1);
}

TEST_CASE("A top up to 1000 is accepted, a larger one is rejected") {
  Fixture fixture;
  for (const std::uint32_t top : {0u, 1u, 1000u, none}) {
    CHECK(read_page(fixture.read(Fixture::whole(Fixture::query({}, top)))).rows.empty());
  }
  for (const std::uint32_t top : {1001u, 0x7FFF'FFFFu, none - 1}) {
    check_error(fixture.read(Fixture::whole(Fixture::query({}, top))), ErrorCode::invalid_input);
    check_error(fixture.read(
                    RequestBuilder(RequestKind::list_tables).no_text().word(top).no_text().build()),
                ErrorCode::invalid_input);
  }
}

TEST_CASE("An invalid filter takes precedence over a missing table") {
  Fixture fixture;
  const auto error =
      read_error(fixture.read(Fixture::whole(Fixture::query("a eq", none, "nowhere"))));
  CHECK(error.status == 400);
  CHECK(error.code == "InvalidInput");
  CHECK(error.message.find("Syntax error at position") == 0);
}

TEST_CASE("A selection of more names than an entity can have is rejected") {
  Fixture fixture;
  RequestBuilder request = Fixture::query({}).no_text().no_text().word(256);
  for (int i = 0; i < 256; ++i) request.text("n" + std::to_string(i));
  check_error(fixture.read(request.build()), ErrorCode::invalid_input);
}

TEST_CASE("Explain returns the plan and counts") {
  Fixture fixture;
  for (const char* row : {"1", "2"}) fixture.commit(Fixture::insert(row));
  RequestBuilder request(RequestKind::explain);
  request.text("people").text("PartitionKey eq 'p' and v gt 5").no_text();
  ResponseReader response(fixture.read(request.no_text().no_text().word(0).build()));
  REQUIRE(response.kind() == ResponseKind::explanation);
  CHECK(response.text() == "partition");
  CHECK(response.text() == "partition");
  CHECK(response.two_words() == 2);  // rows read
  CHECK(response.two_words() == 0);  // returned
  CHECK(response.two_words() > 0);   // bytes
  CHECK(response.two_words() == 1);  // round trips
  CHECK(response.two_words() == 1);  // transactions
  CHECK(response.word() == 1);
  const std::uint32_t warnings = response.word();
  CHECK(response.text() == "p");
  CHECK(response.text().empty());
  CHECK(response.optional_text().has_value());
  CHECK(response.optional_text().has_value());
  for (std::uint32_t i = 0; i < warnings * 3; ++i) response.text();
  CHECK(response.at_end());
}

TEST_CASE("Tables are listed in order, page by page") {
  Fixture fixture;
  for (const char* name : {"Zoo", "alpha"}) fixture.commit(Fixture::create(name));
  const auto list = [&](std::uint32_t top, std::optional<std::string> next) {
    RequestBuilder request(RequestKind::list_tables);
    request.no_text().word(top);
    next.has_value() ? request.text(*next) : request.no_text();
    return fixture.read(request.build());
  };
  ResponseReader first(list(2, {}));
  CHECK(first.kind() == ResponseKind::tables);
  CHECK(first.word() == 2);
  const auto next = first.optional_text();
  REQUIRE(next.has_value());
  CHECK(first.text() == "alpha");
  CHECK(first.text() == "people");
  ResponseReader second(list(none, next));
  CHECK(second.word() == 1);
  CHECK_FALSE(second.optional_text().has_value());
  CHECK(second.text() == "Zoo");
  check_error(
      fixture.read(RequestBuilder(RequestKind::list_tables).text("a eq").word(1).no_text().build()),
      ErrorCode::invalid_input);
}

TEST_CASE("The result of a table operation has no ETag") {
  Fixture fixture;
  ResponseReader created(fixture.commit(Fixture::create("other")));
  CHECK(created.kind() == ResponseKind::write_result);
  CHECK(created.word() == 1);
  CHECK_FALSE(created.optional_text().has_value());
  check_error(fixture.commit(Fixture::create("OTHER")), ErrorCode::table_already_exists);
  check_error(fixture.commit(Fixture::create("a-b")), ErrorCode::invalid_resource_name);
  CHECK(ResponseReader(fixture.commit(Fixture::drop("other"))).kind() ==
        ResponseKind::write_result);
  check_error(fixture.commit(Fixture::drop("other")), ErrorCode::resource_not_found);
}

TEST_CASE("The error of a transaction has its index, as a word and in the message") {
  Fixture fixture;
  fixture.commit(Fixture::insert("1"));
  WriteRecord write;
  write.flags = 1;
  write.operations = {OperationRecord{0, "p", "0", {}, ""}, OperationRecord{0, "p", "1", {}, ""}};
  const auto error = read_error(fixture.commit(write_request(write).build()));
  CHECK(error.status == 409);
  CHECK(error.index == 1);
  CHECK(error.message == "1:The specified entity already exists.");
}

TEST_CASE("A read returns the parts that it needs until they are loaded") {
  test::TestHost host;
  Fixture fixture;
  fixture.commit(Fixture::insert("1"));
  REQUIRE(host.checkpoint(fixture.store));
  Store store = std::move(*host.open(test::TestHost::Load::on_demand));
  const PartId part = host.parts.begin()->first;
  RequestBuilder explain(RequestKind::explain);
  explain.text("people").no_text().no_text();
  RequestBuilder each(RequestKind::multi_get);
  each.text("people").word(1).text("p").text("1");
  CHECK(rpc::handle_read(store, each.build(), fixture.pages, fixture.response).empty());
  CHECK(read_page(fixture.response.str()).rows.empty());
  for (const std::string& message :
       {Fixture::get("1").word(0).build(), Fixture::whole(Fixture::query(std::nullopt)),
        explain.no_text().no_text().word(0).build()}) {
    CHECK(rpc::handle_read(store, message, fixture.pages, fixture.response) ==
          std::vector<PartId>{part});
  }
  host.load_parts(store, {part});
  CHECK(rpc::handle_read(store, Fixture::whole(Fixture::query(std::nullopt)), fixture.pages,
                         fixture.response)
            .empty());
  CHECK(read_page(fixture.response.str()).rows.size() == 1);
}

TEST_CASE("Failures of this machine are flagged") {
  ResponseBuffer out;
  for (const ErrorCode code :
       {ErrorCode::out_of_memory, ErrorCode::corrupted, ErrorCode::format_too_new}) {
    encode_error(out, Error(code));
    CHECK(read_error(out.str()).local);
  }
  encode_error(out, Error(ErrorCode::internal_error));
  CHECK_FALSE(read_error(out.str()).local);
}

TEST_CASE("A message that is not a read is malformed for handle_read") {
  Fixture fixture;
  for (const std::string& message :
       {std::string(), std::string("x"), Fixture::insert("1"), Fixture::create("t"),
        Fixture::drop("t"), RequestBuilder(static_cast<RequestKind>(0)).build(),
        RequestBuilder(RequestKind::get).text("people").build(),
        Fixture::get("1").word(2).text("a").build(), Fixture::get("1").word(none).build(),
        RequestBuilder(RequestKind::query).text("people").build(),
        RequestBuilder(RequestKind::explain).text("people").build(),
        RequestBuilder(RequestKind::list_tables).no_text().build(),
        RequestBuilder(RequestKind::query_descending).text("people").build(),
        RequestBuilder(RequestKind::count).text("people").build(),
        RequestBuilder(RequestKind::partition_keys).text("people").build(),
        RequestBuilder(RequestKind::multi_get).text("people").build(),
        RequestBuilder(RequestKind::multi_get).text("people").word(2).text("p").text("r").build(),
        RequestBuilder(RequestKind::multi_get).text("people").word(none).build()}) {
    const auto error = read_error(fixture.read(message));
    CHECK(error.code == "InvalidInput");
    CHECK(error.message == "The request message is malformed.");
  }
}

TEST_CASE("A host's clock is converted to ticks") {
  CHECK(ticks_from_unix_ms(0) == ticks_at_unix_epoch);
  CHECK(ticks_from_unix_ms(1.5) == ticks_at_unix_epoch + 15'000);
  CHECK(ticks_from_unix_ms(1'595'601'288'476.0) == commit_time - 7123);
  for (const double nonsense : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity()}) {
    CHECK(ticks_from_unix_ms(nonsense) == ticks_at_unix_epoch);
  }
}

}  // namespace entitable::rpc
