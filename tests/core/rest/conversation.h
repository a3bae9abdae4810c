// RestServer: the REST entry point over its own store, with a clock and ids that are the same in
// every run. Conversation: runs golden files of requests against a RestServer.
//
// A conversation (tests/testdata/rest/*.http) is a golden file (tests/support/golden.h). Each case
// is a request and the expected response. All cases of a file use the same store, in order.
//
//   # A comment.
//   PUT /people(PartitionKey='p',RowKey='r') HTTP/1.1
//   If-Match: W/"datetime'{e1}'"
//
//   {"Age":3}
//   => HTTP/1.1 204 No Content
//   => ETag: W/"datetime'{e2}'"
//
// A URL without a host gets the prefix http://127.0.0.1:10002/devstoreaccount1. The store's
// timestamps are numbered in order of first occurrence. Timestamp 1 is written {t1}, or {e1} in the
// encoding of ETags; requests may use these names too. {now} is the time of the request. {a*5} in a
// request is a string of five "a".
//
// A first line "!! ServerBusy" or "!! 429 Code text" simulates that error. Further lines "!! Name:
// value" add headers to the response.
//
// Headers with their expected value are not shown: x-ms-request-id, Date, Server, and x-ms-version
// if the request has none. Cache-Control and X-Content-Type-Options are not shown either;
// "(cacheable)" after the status says that they are missing. A JSON error body is shown as
// "odata.error <code>: <message>", except inside batches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/date_time.h"
#include "core/rest/http_date.h"
#include "core/rest/request_handler.h"
#include "core/rest/request_headers.h"
#include "core/store/store.h"
#include "tests/support/catch.h"
#include "tests/support/golden.h"

namespace entitable::test {

inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

class RestServer {
 public:
  explicit RestServer(rest::Account account = {}) : account_(std::move(account)) {
    REQUIRE(store_.begin_recovery(std::nullopt).ok());
    store_.finish_recovery();
  }

  Store& store() { return store_; }
  Ticks now() const { return now_; }

  rest::Response send(const rest::Request& request) {
    now_ += ticks_per_second;
    const rest::RequestContext context{now_, "0123456789abcdef"};
    rest::HandleResult handled = rest::handle_request(account_, store_, request, context);
    if (auto* response = std::get_if<rest::Response>(&handled)) return std::move(*response);
    REQUIRE(std::holds_alternative<rest::UnstagedWrite>(handled));
    auto& write = std::get<rest::UnstagedWrite>(handled);
    const StageResult staged = store_.stage({write.request}, now_);
    REQUIRE(staged.results.size() == 1);
    if (staged.changes) {
      store_.publish();
    } else {
      store_.discard();
    }
    return write.make_response(staged.results.front());
  }

  rest::Response make_error_response(const rest::Request& request, const ServiceError& error,
                                     const std::vector<rest::HeaderView>& headers) {
    now_ += ticks_per_second;
    const rest::RequestContext context{now_, "0123456789abcdef"};
    return rest::make_error_response(account_, store_, request, context, error, headers);
  }

  rest::Response send(std::string_view method, std::string_view path,
                      const std::vector<rest::HeaderView>& headers = {},
                      std::string_view body = {}) {
    const std::string url = "http://127.0.0.1:10002/devstoreaccount1" + std::string(path);
    return send(rest::Request{method, url, headers, body, {}});
  }

 private:
  static constexpr Ticks ticks_per_second = 1000 * ticks_per_millisecond;

  rest::Account account_;
  Store store_;
  Ticks now_ = *parse_date_time("2024-01-02T03:00:00Z", "");
};

inline std::string header_value(const rest::Response& response, std::string_view name) {
  for (const rest::Header& header : response.headers) {
    if (rest::equal_ignoring_case(header.name, name)) return header.value;
  }
  return {};
}

class Conversation {
 public:
  explicit Conversation(rest::Account account = {}) : server_(std::move(account)) {}

  // Sends a request in the format above and returns the response in that format.
  std::string operator()(std::string request_text) {
    fill_in(request_text);
    std::string_view rest = request_text;
    std::vector<std::string_view> refusal;
    while (rest.starts_with("!! ")) refusal.push_back(take_line(rest).substr(3));
    const std::string_view line = take_line(rest);
    const std::size_t space = std::min(line.find(' '), line.size());
    rest::Request request;
    request.method = line.substr(0, space);
    std::string url(line.substr(std::min(space + 1, line.size())));
    if (const std::size_t end = url.rfind(" HTTP/1.1"); end != std::string::npos) url.resize(end);
    if (url.substr(0, 1) == "/") url.insert(0, "http://127.0.0.1:10002/devstoreaccount1");
    request.url = url;
    while (!rest.empty()) {
      const std::string_view header = take_line(rest);
      if (header.empty()) break;
      request.headers.push_back(header_in(header));
    }
    request.body = rest;
    return text_of(request,
                   refusal.empty() ? server_.send(request) : make_error_response(request, refusal));
  }

 private:
  static rest::HeaderView header_in(std::string_view line) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    return {line.substr(0, colon), line.substr(std::min(colon + 1, line.size()))};
  }

  rest::Response make_error_response(const rest::Request& request,
                                     const std::vector<std::string_view>& lines) {
    std::vector<rest::HeaderView> headers;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      headers.push_back(header_in(lines[i]));
      headers.back().value.remove_prefix(1);  // the blank after the colon
    }
    if (const ServiceError* known = find_service_error(lines[0])) {
      return server_.make_error_response(request, *known, headers);
    }
    std::string_view rest = lines[0];
    const std::string status(rest.substr(0, 4));
    rest.remove_prefix(4);
    const std::size_t blank = rest.find(' ');
    REQUIRE(blank != std::string_view::npos);
    const ServiceError error{static_cast<std::uint16_t>(std::atoi(status.c_str())),
                             rest.substr(0, blank), rest.substr(blank + 1)};
    return server_.make_error_response(request, error, headers);
  }

  static std::string_view take_line(std::string_view& rest) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
  }

  void fill_in(std::string& text) const {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      replace_all(text, "{t" + std::to_string(i + 1) + "}", seen_[i]);
      replace_all(text, "{e" + std::to_string(i + 1) + "}", encoded(seen_[i]));
    }
    for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
      const std::size_t end = text.find('}', at);
      if (end == std::string::npos || end < at + 4 || text[at + 2] != '*') continue;
      const auto count = std::strtoul(text.c_str() + at + 3, nullptr, 10);
      text.replace(at, end - at + 1, std::string(count, text[at + 1]));
    }
  }

  static std::string encoded(std::string time) {
    replace_all(time, ":", "%3A");
    return time;
  }

  std::string text_of(const rest::Request& request, const rest::Response& response) {
    std::string text = "HTTP/1.1 " + std::to_string(response.status) + " " + response.reason;
    const bool kept_fresh = header_value(response, "Cache-Control") == "no-cache" &&
                            header_value(response, "X-Content-Type-Options") == "nosniff";
    if (!kept_fresh) text += " (cacheable)";
    for (const rest::Header& header : response.headers) {
      if (is_as_it_must_be(request, header)) continue;
      if (kept_fresh &&
          (header.name == "Cache-Control" || header.name == "X-Content-Type-Options")) {
        continue;
      }
      text += "\n" + std::string(header.name) + ": " + header.value;
    }
    if (!response.body.empty()) text += "\n\n" + response.body;
    replace_all(text, "\r\n", "\n");
    replace_all(text, "30313233-3435-3637-3839-616263646566", "{id}");
    name_times(text);
    shorten_error(text, header_value(response, "x-ms-error-code"));
    return text;
  }

  static void shorten_error(std::string& text, const std::string& code) {
    const std::string start = "\n\n{\"odata.error\":{\"code\":\"" + code +
                              "\",\"message\":{\"lang\":\"en-US\",\"value\":\"";
    const std::string end = "\\nRequestId:{id}\\nTime:{now}\"}}}";
    const std::size_t at = text.find(start);
    if (at == std::string::npos || !text.ends_with(end)) return;
    text.resize(text.size() - end.size());
    text.replace(at, start.size(), "\n\nodata.error " + code + ": ");
    replace_all(text, "\nx-ms-error-code: " + code, "");
  }

  bool is_as_it_must_be(const rest::Request& request, const rest::Header& header) const {
    if (header.name == "x-ms-request-id") {
      return header.value == "30313233-3435-3637-3839-616263646566";
    }
    if (header.name == "Date") return header.value == rest::http_date_text(server_.now());
    if (header.name == "Server") return header.value == "entitable";
    return header.name == "x-ms-version" && header.value == rest::newest_version &&
           rest::count_headers(request, "x-ms-version") == 0;
  }

  // Replaces timestamps by {t1}, {e1} and {now}. All of the store's timestamps are in the same
  // hour.
  void name_times(std::string& text) {
    std::string now = date_time_text(server_.now());
    now.insert(now.size() - 1, ".0000000");
    replace_all(text, now, "{now}");
    constexpr std::string_view day = "2024-01-02T03";
    for (std::size_t at = text.find(day); at != std::string::npos; at = text.find(day, at)) {
      const std::size_t end = text.find('Z', at);
      if (end == std::string::npos) break;
      std::string time = text.substr(at, end + 1 - at);
      const bool in_etag = time.find("%3A") != std::string::npos;
      replace_all(time, "%3A", ":");
      auto known = std::find(seen_.begin(), seen_.end(), time);
      if (known == seen_.end()) known = seen_.insert(seen_.end(), time);
      const std::string name =
          (in_etag ? "{e" : "{t") + std::to_string(known - seen_.begin() + 1) + "}";
      text.replace(at, end + 1 - at, name);
    }
  }

  RestServer server_;
  std::vector<std::string> seen_;
};

// Checks the conversation tests/testdata/rest/<name>.http.
inline void check_conversation(const std::string& name, rest::Account account = {}) {
  check_golden("rest/" + name + ".http", Conversation(std::move(account)));
}

}  // namespace entitable::test
