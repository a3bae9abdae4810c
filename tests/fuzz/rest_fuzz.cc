// Sends arbitrary HTTP requests, separated by lines "---", to the REST entry point over a small
// store. Each must get a response that is valid HTTP. An error response must not change the store,
// the description of a write must match it, and the store's invariants must hold.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/dispatch/instrumentation.h"
#include "core/json/object_parser.h"
#include "core/model/service_error.h"
#include "core/rest/access_policies.h"
#include "core/rest/describe_request.h"
#include "core/rest/multipart.h"
#include "core/rest/odata_response_json.h"
#include "core/rest/request_handler.h"
#include "core/store/store.h"
#include "tests/support/description_checks.h"

namespace {

using entitable::Error;
using entitable::Filter;
using entitable::GroupFailure;
using entitable::Page;
using entitable::Query;
using entitable::RequestDescription;
using entitable::RequestOperation;
using entitable::StageResult;
using entitable::Store;
using entitable::Ticks;
namespace rest = entitable::rest;

constexpr std::string_view base = "http://127.0.0.1:10002/devstoreaccount1";

// All tables, rows and service properties, as text.
std::string contents(const Store& store) {
  std::string text = store.service_properties();
  const auto tables = store.tables(Filter(), 1000, "");
  ENTITABLE_CHECK(tables.ok());
  for (const std::string& name : tables->names) {
    text += name + rest::access_policies_document(*store.table_acl(name));
    const auto answer = store.query(name, Query());
    rest::ODataContext odata;
    odata.level = rest::MetadataLevel::full;
    odata.table = name;
    text += rest::rows_json(odata, std::get<Page>(answer).rows, {}).body;
  }
  return text;
}

bool can_stand_in_a_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

void check_response(const rest::Response& response) {
  ENTITABLE_CHECK(response.status >= 200 && response.status < 600);
  ENTITABLE_CHECK(response.status != 500);
  ENTITABLE_CHECK(!response.reason.empty() && can_stand_in_a_line(response.reason));
  ENTITABLE_CHECK(response.status != 204 || response.body.empty());
  bool json = false;
  for (const rest::Header& header : response.headers) {
    ENTITABLE_CHECK(can_stand_in_a_line(header.name) && can_stand_in_a_line(header.value));
    json = json || (header.name == "Content-Type" && header.value.starts_with("application/json"));
  }
  ENTITABLE_CHECK(entitable::is_wtf8(response.body) && entitable::is_well_formed(response.body));
  ENTITABLE_CHECK(!json || entitable::json::parse_object(response.body).ok());
}

void check_json(const std::string& text) {
  ENTITABLE_CHECK(entitable::is_well_formed(text) && entitable::json::parse_object(text).ok());
}

// Checks that describe_request describes the write that handle_request() parsed.
void check_description(const RequestDescription& description,
                       const entitable::WriteRequest& request) {
  ENTITABLE_CHECK(description.operation != RequestOperation::unknown);
  const auto* write = std::get_if<entitable::WriteEntities>(&request.body);
  if (write == nullptr) return;
  ENTITABLE_CHECK(description.table.has_value());
  entitable::test::check_operations(description, *write);
}

class Server {
 public:
  Server() {
    ENTITABLE_CHECK(store_.begin_recovery(std::nullopt).ok());
    store_.finish_recovery();
    send("POST /Tables\n\n{\"TableName\":\"people\"}");
    for (const char* row : {"1", "2"}) {
      send("PUT /people(PartitionKey='p',RowKey='" + std::string(row) + "')\n\n{\"n\":" + row +
           ",\"s\":\"x\"}");
    }
  }

  void send(std::string_view text) {
    const auto read = rest::parse_http_part(text);
    if (!read.ok()) return;
    rest::Request request = *read;
    const std::string url =
        std::string(request.url.substr(0, 1) == "/" ? base : "") + std::string(request.url);
    request.url = url;
    now_ += 7;
    const std::string before = contents(store_);
    auto handled = rest::handle_request(account_, store_, request,
                                        rest::RequestContext{now_, "0123456789abcdef"});
    ENTITABLE_CHECK(contents(store_) == before);
    RequestDescription description;
    rest::describe_request(account_, request, description);
    check_json(entitable::dispatch::description_json(description));
    check_response(rest::make_error_response(account_, store_, request, {now_, "0123456789abcdef"},
                                             *entitable::find_service_error("ServerBusy"), {}));
    if (const auto* response = std::get_if<rest::Response>(&handled)) {
      ENTITABLE_CHECK(description.operation != RequestOperation::unknown ||
                      response->status >= 400);
      return check_response(*response);
    }
    check_description(description, std::get<rest::UnstagedWrite>(handled).request);
    stage(std::get<rest::UnstagedWrite>(handled), before);
    ENTITABLE_CHECK(store_.verify().empty());
  }

 private:
  void stage(const rest::UnstagedWrite& write, const std::string& before) {
    const StageResult staged = store_.stage({write.request}, now_);
    ENTITABLE_CHECK(staged.results.size() == 1);
    const rest::Response response = write.make_response(staged.results.front());
    check_response(response);
    if (std::holds_alternative<GroupFailure>(staged.results.front())) {
      ENTITABLE_CHECK(!staged.changes);
      store_.discard();
      ENTITABLE_CHECK(contents(store_) == before);
    } else {
      ENTITABLE_CHECK(response.status < 300);
      store_.publish();
    }
  }

  rest::Account account_;
  Store store_;
  Ticks now_ = 638'000'000'000'000'000;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view separator = "\n---\n";
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Server server;
  for (;;) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    server.send(rest.substr(0, end));
    if (end == rest.size()) break;
    rest.remove_prefix(end + separator.size());
  }
  return 0;
}
