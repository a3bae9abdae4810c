#include "core/rest/multipart.h"

#include <string>
#include <vector>

#include "tests/core/rest/line_ends.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

using test::crlf;

std::vector<std::string> bodies(std::string_view body, std::string_view boundary,
                                std::size_t parts_max = 100) {
  const Result<std::vector<BodyPart>> parts = parse_multipart(body, boundary, parts_max);
  REQUIRE(parts.ok());
  std::vector<std::string> out;
  for (const BodyPart& part : *parts) out.emplace_back(part.body);
  return out;
}

bool malformed(std::string_view body, std::string_view boundary = "b") {
  const Result<std::vector<BodyPart>> parts = parse_multipart(body, boundary, 100);
  return !parts.ok() && parts.error() == Error(ErrorCode::invalid_input);
}

bool malformed_request(std::string_view body) {
  const Result<Request> request = parse_http_part(body);
  return !request.ok() && request.error() == Error(ErrorCode::invalid_input);
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("A boundary is taken from the media type, quoted or not") {
  for (const char* type :
       {"multipart/mixed; boundary=b_1", "multipart/mixed;boundary=\"b_1\"",
        "Multipart/Mixed ; Boundary = b_1", "multipart/mixed; charset=utf-8; boundary=b_1",
        "multipart/mixed; boundary=b_1; charset=\"utf-8\"", "multipart/mixed; x; boundary=b_1",
        "multipart/mixed; x=\"a;boundary=c\"; boundary=b_1"}) {
    CAPTURE(type);
    CHECK(multipart_boundary(type) == "b_1");
  }
  CHECK(multipart_boundary("multipart/mixed; boundary=\"a b:c\"") == "a b:c");
}

TEST_CASE("invalid boundaries are rejected") {
  for (const char* type :
       {"", "multipart/mixed", "multipart/mixed; boundary",
        "multipart/mixed; boundary=", "multipart/mixed; boundary=\"\"",
        "multipart/mixed; boundary=\"b", "application/json", "multipart/form-data; boundary=b",
        "multipart/mixed; boundary=b\xC3\xA9", "multipart/mixed; boundary=a@b",
        "multipart/mixed; xboundary=b", "multipart/mixed; boundary=b; boundary=b",
        "multipart/mixed; boundary=b; charset=x; Boundary=\"c\""}) {
    CAPTURE(type);
    CHECK_FALSE(multipart_boundary(type).has_value());
  }
}

TEST_CASE("A boundary has at most 70 characters") {
  const std::string longest(70, 'b');
  CHECK(multipart_boundary("multipart/mixed; boundary=" + longest) == longest);
  CHECK_FALSE(multipart_boundary("multipart/mixed; boundary=b" + longest).has_value());
}

TEST_CASE("Parts are the text between delimiters, with CRLF and with LF") {
  const std::string body =
      "--b\nContent-Type: a/b\nx-1:  two words \n\nfirst\nsecond line\n--b\n\n\n\nthird\n--b--\n";
  for (const std::string& text : {body, crlf(body)}) {
    const Result<std::vector<BodyPart>> parts = parse_multipart(text, "b", 100);
    REQUIRE(parts.ok());
    REQUIRE(parts->size() == 2);
    const BodyPart& first = (*parts)[0];
    CHECK(header_of(first.headers, "content-type") == "a/b");
    CHECK(header_of(first.headers, "X-1") == "two words");
    CHECK_FALSE(header_of(first.headers, "x").has_value());
    CHECK((first.body == "first\nsecond line" || first.body == "first\r\nsecond line"));
    CHECK((*parts)[1].headers.empty());
    CHECK((*parts)[1].body.find("third") != std::string_view::npos);
  }
}

TEST_CASE(
    "Text around the parts, blanks after a boundary and a missing last line end are ignored") {
  CHECK(bodies("preamble\n--b\n\n1\n--b--\nepilogue --b\n", "b") == Texts{"1"});
  CHECK(bodies("--b \t\n\n1\n--b-- \n", "b") == Texts{"1"});
  CHECK(bodies("--b\n\n1\n--b--", "b") == Texts{"1"});
  CHECK(bodies("\r\n--b\r\n\r\n1\r\n--b--", "b") == Texts{"1"});
}

TEST_CASE("A boundary that begins with another boundary is a different one") {
  CHECK(bodies("--b\n\n--bb\n--b1--\n--b--x\n--b--", "b") == Texts{"--bb\n--b1--\n--b--x"});
  CHECK(bodies("--b\n\nx--b\n --b\n-b\n--b--", "b") == Texts{"x--b\n --b\n-b"});
}

TEST_CASE("A delimiter may be padded, even by carriage returns") {
  for (const char* padding : {" ", "\t", "\r", "\r\r", "\r "}) {
    CAPTURE(padding);
    const std::string end = std::string(padding) + "\r\n";
    CHECK(bodies("--b" + end + "\r\none\r\n--b" + end + "\r\ntwo\r\n--b--" + end, "b") ==
          std::vector<std::string>{"one", "two"});
  }
}

TEST_CASE("A body that is truncated anywhere is malformed") {
  const std::string body = "--b\nh: v\n\n1\n--b\n\n2\n--b--";
  CHECK(bodies(body, "b") == Texts{"1", "2"});
  for (std::size_t size = 0; size < body.size(); ++size) {
    CAPTURE(size);
    CHECK(malformed(body.substr(0, size)));
  }
  CHECK(malformed(body, "c"));
}

TEST_CASE("The closing delimiter may lack its dashes if the caller allows it") {
  const auto count = [](std::string_view body) -> std::size_t {
    const auto parts = parse_multipart(body, "b", 100, ClosingDelimiter::may_lack_dashes);
    return parts.ok() ? parts->size() : 0;
  };
  CHECK(count("--b\n\n1\n--b") == 1);
  CHECK(count("--b\n\n1\n--b \r\n\r\n") == 1);
  CHECK(count("--b\n\n1\n--b\n\n2\n--b\n") == 2);
  CHECK(count("--b\n\n1\n--b--\nepilogue") == 1);
  CHECK(count("--b\n\n1\n--b\nepilogue") == 0);
  CHECK(count("--b\n\n1\n--b-") == 0);
  CHECK(count("--b\n") == 0);
}

TEST_CASE("A body that closes at once has no parts") {
  CHECK(bodies("--b--\n", "b").empty());
  CHECK(bodies("--b--\n--b\n\n1\n--b--\n", "b").empty());  // text after the end is ignored
}

TEST_CASE("Ambiguous headers are malformed") {
  for (const char* header :
       {"name : value", " name: value", "name: a\n\tfolded", "name", ": value", "na me: value",
        "name: a\rb", "name: a\x01", "name\x7F: a", "n\xC3\xA9: a", "a(b): c"}) {
    CAPTURE(header);
    CHECK(malformed(std::string("--b\n") + header + "\n\n1\n--b--"));
    CHECK(malformed_request(std::string("GET /t HTTP/1.1\n") + header + "\n\n"));
  }
  CHECK(malformed(std::string("--b\na: x\0y\n\n1\n--b--", 19)));
}

TEST_CASE("Parsing stops after one part too many") {
  std::string body;
  for (int i = 0; i < 5; ++i) body += "--b\n\n1\n";
  CHECK(bodies(body + "--b--", "b", 5).size() == 5);
  CHECK(bodies(body + "--b--", "b", 4).size() == 5);
  CHECK(bodies(body + "--b--", "b", 1).size() == 2);
  CHECK(bodies(body, "b", 3).size() == 4);  // stops before the missing closing delimiter
}

TEST_CASE("The request of a part has its first line, headers and body") {
  const std::string text =
      "\n\nPOST http://h/t HTTP/1.1\nAccept: a\nContent-Length: 999\n\n\n{\"a\":\n 1}\n";
  for (const std::string& body : {text, crlf(text)}) {
    const Result<Request> request = parse_http_part(body);
    REQUIRE(request.ok());
    CHECK(request->method == "POST");
    CHECK(request->url == "http://h/t");
    CHECK(header_of(request->headers, "accept") == "a");
    CHECK(request->headers.size() == 2);
    CHECK(request->body.substr(0, 5) == "{\"a\":");
  }
}

TEST_CASE("The request of a part may end after its first line or its headers") {
  for (const char* text :
       {"DELETE /t HTTP/1.1", "DELETE /t HTTP/1.1\r\n", "DELETE /t HTTP/1.1\nIf-Match: *",
        "DELETE /t HTTP/1.1\nIf-Match: *\n\n"}) {
    CAPTURE(text);
    const Result<Request> request = parse_http_part(text);
    REQUIRE(request.ok());
    CHECK(request->method == "DELETE");
    CHECK(request->url == "/t");
    CHECK(request->body.empty());
  }
}

TEST_CASE("An invalid request line is malformed") {
  for (const char* text :
       {"", "\n\n", "GET", "GET /t", "GET /t FTP/1.1", "GET  HTTP/1.1", "/t HTTP/1.1",
        "GET /a b HTTP/1.1", "G(T /t HTTP/1.1", " GET /t HTTP/1.1", "GET /t\x01 HTTP/1.1",
        "GET\t/t HTTP/1.1", "GET /t\rX HTTP/1.1"}) {
    CAPTURE(text);
    CHECK(malformed_request(text));
  }
}

TEST_CASE("Responses are written as the service writes them") {
  std::string out;
  begin_nested_part(out, "outer", "inner");
  append_http_part(out, "inner", Response{204, "No Content", {{"ETag", "W/\"1\""}}, ""});
  append_http_part(out, "inner", Response{409, "Conflict", {{"Content-Type", "a/b"}}, "{}"});
  append_closing_delimiter(out, "inner");
  append_closing_delimiter(out, "outer");
  CHECK(out == crlf("--outer\nContent-Type: multipart/mixed; boundary=inner\n\n"
                    "--inner\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n"
                    "HTTP/1.1 204 No Content\nETag: W/\"1\"\n\n\n"
                    "--inner\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n"
                    "HTTP/1.1 409 Conflict\nContent-Type: a/b\n\n{}\n"
                    "--inner--\n--outer--\n"));
}

TEST_CASE("A written response is parsed back") {
  std::string out;
  append_http_part(out, "b", Response{200, "OK", {{"a", "b"}}, "body"});
  append_closing_delimiter(out, "b");
  CHECK(bodies(out, "b") == Texts{"HTTP/1.1 200 OK\r\na: b\r\n\r\nbody"});
}

}  // namespace entitable::rest
