#include "core/rest/batch_request.h"

#include <deque>
#include <string>
#include <utility>

#include "core/model/limits.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

const std::string outer = "multipart/mixed; boundary=b";
const std::string change_set = "--b\nContent-Type: multipart/mixed; boundary=c\n\n";
const std::string part = "--c\nContent-Type: application/http\n\n";
const std::string remove = "DELETE /t(PartitionKey='p',RowKey='r') HTTP/1.1\nIf-Match: *\n\n";
const std::string close = "--c--\n--b--\n";

Request post(std::string_view body, std::string_view content_type = outer) {
  return Request{"POST", "http://h/$batch", {{"content-type", content_type}}, body, "10.0.0.1"};
}

// Stores each body for the whole run, because the returned batch views it.
Result<Batch> read(std::string body, std::string_view content_type = outer) {
  static std::deque<std::string> kept;
  kept.push_back(std::move(body));
  return parse_batch(post(kept.back(), content_type));
}

void check_malformed(const std::string& body, std::string_view content_type = outer) {
  CAPTURE(body, content_type);
  const Result<Batch> batch = read(body, content_type);
  REQUIRE_FALSE(batch.ok());
  CHECK(batch.error() == Error(ErrorCode::invalid_input));
}

}  // namespace

TEST_CASE("A change set is parsed into its requests") {
  const std::string body = change_set + part + remove + part +
                           "\n\nPUT http://other/t(x) HTTP/1.1\nContent-ID: 2\n\n\n{\"a\":1}\n" +
                           close;
  const Result<Batch> batch = read(body);
  REQUIRE(batch.ok());
  CHECK(batch->change_set);
  REQUIRE(batch->operations.size() == 2);
  CHECK(batch->operations[0].method == "DELETE");
  CHECK(find_header(batch->operations[0], "if-match") == "*");
  CHECK(batch->operations[1].url == "http://other/t(x)");
  CHECK(batch->operations[1].body == "{\"a\":1}");
  CHECK(batch->operations[1].client_ip == "10.0.0.1");
}

TEST_CASE("A query stands alone, outside a change set") {
  const std::string body =
      "--b\nContent-Type: application/http; msgtype=request\n\nGET /t() HTTP/1.1\n\n--b--";
  const Result<Batch> batch = read(body);
  REQUIRE(batch.ok());
  CHECK_FALSE(batch->change_set);
  REQUIRE(batch->operations.size() == 1);
  CHECK(batch->operations[0].url == "/t()");
}

TEST_CASE("A part that is neither a change set nor a query is malformed") {
  const std::string good = change_set + part + remove + close;
  const std::string query = "--b\nContent-Type: application/http\n\nGET /t HTTP/1.1\n\n";
  CHECK(read(good).ok());
  check_malformed("");
  check_malformed("--b--");
  check_malformed(good, "multipart/mixed");
  check_malformed(good, "application/json");
  check_malformed(good, "multipart/mixed; boundary=c");
  CHECK_FALSE(parse_batch(Request{"POST",
                                  "http://h/$batch",
                                  {{"Content-Type", outer}, {"Content-Type", outer}},
                                  good,
                                  {}})
                  .ok());
  CHECK_FALSE(parse_batch(Request{"POST", "http://h/$batch", {}, good, {}}).ok());
  check_malformed(change_set + close);                                 // an empty change set
  check_malformed(change_set + part + remove + "--c--\n" + good);      // a second change set
  check_malformed(query + query + "--b--");                            // two queries
  check_malformed(query + good);                                       // a query and writes
  check_malformed(good.substr(0, good.size() - 6) + query + "--b--");  // writes and a query
  check_malformed(change_set + part + "GET /t HTTP/1.1\n\n" + close);  // a query in a change set
  check_malformed("--b\nContent-Type: application/http\n\n" + remove + "--b--");  // a bare write
}

TEST_CASE("Parts with other media types are malformed") {
  check_malformed(change_set + "--c\n\n" + remove + close);
  check_malformed(change_set + "--c\nContent-Type: application/json\n\n" + remove + close);
  check_malformed(change_set + "--c\nContent-Type: application/httpx\n\n" + remove + close);
  check_malformed(change_set +
                  "--c\nContent-Type: application/http\ncontent-type: application/http\n\n" +
                  remove + close);
  check_malformed(change_set + part + "not HTTP\n" + close);
  check_malformed(change_set + part + close);
}

TEST_CASE("A change set in a change set is malformed, whatever its boundary") {
  for (const std::string boundary : {"b", "c", "d", "cc", "c--"}) {
    check_malformed(change_set + "--c\nContent-Type: multipart/mixed; boundary=" + boundary +
                    "\n\n--" + boundary + "\nContent-Type: application/http\n\n" + remove + "--" +
                    boundary + "--\n" + close);
  }
}

TEST_CASE("The batch's boundary is not a boundary of its change set") {
  check_malformed(
      "--b\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: "
      "application/http\n\n" +
      remove + "--b--\n--b--");
}

TEST_CASE("A boundary in a body is ignored unless it is a line of its own") {
  const std::string body = "{\"a\":\"--c--\",\"b\":\"\\n--c--\"}";
  const Result<Batch> batch = read(change_set + part + "PUT /t HTTP/1.1\n\n" + body + "\n" + close);
  REQUIRE(batch.ok());
  CHECK(batch->operations[0].body == body);
}

TEST_CASE("A change set that is truncated anywhere is malformed") {
  const std::string whole = change_set + part + remove + part + remove + close;
  REQUIRE(read(whole.substr(0, whole.size() - 1)).ok());  // only the last line end is missing
  // Only the dashes that end the batch may be missing: some clients omit them.
  const std::size_t without_dashes = whole.size() - std::string("--\n").size();
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
    if (size != without_dashes) check_malformed(whole.substr(0, size));
  }
  const std::string ended = whole.substr(0, without_dashes);
  for (const char* blank : {"", "\n", "\r\n", "\n\n", " \n"}) {
    CAPTURE(blank);
    const Result<Batch> batch = read(ended + blank);
    REQUIRE(batch.ok());
    CHECK(batch->operations.size() == 2);
  }
  check_malformed(ended + "\nmore");
  check_malformed("--b\n");
}

TEST_CASE("The closing delimiter of a change set is complete") {
  check_malformed(change_set + part + remove + "--c\n--b--\n");
  check_malformed(change_set + part + remove + "--c\n--b\n");
}

TEST_CASE("A path gets the origin and the account of the batch") {
  std::deque<std::string> urls;
  const auto absolute = [&](std::string_view url, std::string_view base) {
    return std::string(absolute_url(url, base, urls));
  };
  const std::string origin = "http://127.0.0.1:10002";
  for (const char* url : {"/acct/people", "/acct", "//acct//people", "/other/people"}) {
    CHECK(absolute(url, origin + "/acct") == origin + url);
  }
  for (const char* url : {"/people", "//people", "/people(PartitionKey='p',RowKey='r')",
                          "/people?x=/y", "/people/"}) {
    CHECK(absolute(url, origin + "/acct") == origin + "/acct" + url);
  }
  CHECK(absolute("/people", "https://acct.table.core.windows.net") ==
        "https://acct.table.core.windows.net/people");
  CHECK(absolute("http://h/people", origin + "/acct") == "http://h/people");
  CHECK(absolute("people", origin + "/acct") == "people");
}

TEST_CASE("Lengths that a part claims are ignored") {
  for (const char* length : {"0", "5", "99999999999", "-1", "x"}) {
    const Result<Batch> batch =
        read(change_set + part + "PUT /t HTTP/1.1\nContent-Length: " + length +
             "\nTransfer-Encoding: chunked\n\n{\"a\":1}\n" + part + remove + close);
    REQUIRE(batch.ok());
    CHECK(batch->operations.size() == 2);
    CHECK(batch->operations[0].body == "{\"a\":1}");
  }
}

TEST_CASE("At most one request too many is read from a change set") {
  const auto with = [](std::size_t operations) {
    std::string body = change_set;
    for (std::size_t i = 0; i < operations; ++i) body += part + remove;
    return body + close;
  };
  CHECK(read(with(limits::group_operations_max))->operations.size() == 100);
  CHECK(read(with(limits::group_operations_max + 1))->operations.size() == 101);
  CHECK(read(with(limits::group_operations_max + 900))->operations.size() == 101);
}

TEST_CASE("A batch of more than 4 MiB is not parsed") {
  std::string body = change_set + part + remove + close;
  body.resize(limits::request_bytes_max, ' ');
  CHECK(read(body).ok());
  body.push_back(' ');
  const Result<Batch> refused = read(body);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error() == Error(ErrorCode::request_body_too_large));
}

}  // namespace entitable::rest
