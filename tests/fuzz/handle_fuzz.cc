// Arbitrary HTTP requests to the REST door over a small store. Whatever comes: there is an answer
// that HTTP can carry, a refusal changes nothing, what is done was described so, and the store
// holds its invariants. Several
// requests are parted by lines "---".
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
#include "core/doors/watch.h"
#include "core/json/reader.h"
#include "core/model/service_error.h"
#include "core/protocol/access_policies.h"
#include "core/protocol/describe.h"
#include "core/protocol/multipart.h"
#include "core/protocol/odata_json.h"
#include "core/protocol/service.h"
#include "core/store/store.h"
#include "tests/support/description_checks.h"

namespace {

using entitable::DescribedAs;
using entitable::Description;
using entitable::Error;
using entitable::Filter;
using entitable::GroupFailure;
using entitable::Page;
using entitable::Query;
using entitable::Staged;
using entitable::Store;
using entitable::Ticks;
namespace protocol = entitable::protocol;

constexpr std::string_view base = "http://127.0.0.1:10002/devstoreaccount1";

// Everything that a client can see.
std::string contents(const Store& store) {
  std::string text = store.service_properties();
  const auto tables = store.tables(Filter(), 1000, "");
  ENTITABLE_CHECK(tables.ok());
  for (const std::string& name : tables->names) {
    text += name + protocol::access_policies_document(*store.table_acl(name));
    const auto answer = store.query(name, Query());
    protocol::Representation how;
    how.level = protocol::Metadata::full;
    how.table = name;
    text += protocol::rows_json(how, std::get<Page>(answer).rows, {});
  }
  return text;
}

bool can_stand_in_a_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

void check_response(const protocol::Response& response) {
  ENTITABLE_CHECK(response.status >= 200 && response.status < 600);
  ENTITABLE_CHECK(response.status != 500);
  ENTITABLE_CHECK(!response.reason.empty() && can_stand_in_a_line(response.reason));
  ENTITABLE_CHECK(response.status != 204 || response.body.empty());
  bool json = false;
  for (const protocol::Header& header : response.headers) {
    ENTITABLE_CHECK(can_stand_in_a_line(header.name) && can_stand_in_a_line(header.value));
    json = json || (header.name == "Content-Type" && header.value.starts_with("application/json"));
  }
  ENTITABLE_CHECK(entitable::is_wtf8(response.body) && entitable::is_well_formed(response.body));
  ENTITABLE_CHECK(!json || entitable::json::read_object(response.body).ok());
}

void check_json(const std::string& text) {
  ENTITABLE_CHECK(entitable::is_well_formed(text) && entitable::json::read_object(text).ok());
}

// What is described is what is done.
void check_description(const Description& description, const entitable::WriteRequest& request) {
  ENTITABLE_CHECK(description.operation != DescribedAs::unknown);
  const auto* write = std::get_if<entitable::WriteEntities>(&request.body);
  if (write == nullptr) return;
  ENTITABLE_CHECK(description.table.has_value());
  entitable::test::check_operations(description, *write);
}

class Server {
 public:
  Server() {
    ENTITABLE_CHECK(store_.recover(std::nullopt).ok());
    store_.recovered();
    send("POST /Tables\n\n{\"TableName\":\"people\"}");
    for (const char* row : {"1", "2"}) {
      send("PUT /people(PartitionKey='p',RowKey='" + std::string(row) + "')\n\n{\"n\":" + row +
           ",\"s\":\"x\"}");
    }
  }

  void send(std::string_view text) {
    const auto read = protocol::read_http_part(text);
    if (!read.ok()) return;
    protocol::Request request = *read;
    const std::string url =
        std::string(request.url.substr(0, 1) == "/" ? base : "") + std::string(request.url);
    request.url = url;
    now_ += 7;
    const std::string before = contents(store_);
    auto handled =
        protocol::handle(account_, store_, request, protocol::Moment{now_, "0123456789abcdef"});
    ENTITABLE_CHECK(contents(store_) == before);
    Description description;
    protocol::describe(account_, request, description);
    check_json(entitable::doors::description_json(description));
    check_response(protocol::refuse(account_, store_, request, {now_, "0123456789abcdef"},
                                    *entitable::find_service_error("ServerBusy"), {}));
    if (const auto* response = std::get_if<protocol::Response>(&handled)) {
      ENTITABLE_CHECK(description.operation != DescribedAs::unknown || response->status >= 400);
      return check_response(*response);
    }
    check_description(description, std::get<protocol::PendingWrite>(handled).request);
    stage(std::get<protocol::PendingWrite>(handled), before);
    ENTITABLE_CHECK(store_.verify().empty());
  }

 private:
  void stage(const protocol::PendingWrite& write, const std::string& before) {
    const Staged staged = store_.stage({write.request}, now_);
    ENTITABLE_CHECK(staged.answers.size() == 1);
    const protocol::Response response = write.respond(staged.answers.front());
    check_response(response);
    if (std::holds_alternative<GroupFailure>(staged.answers.front())) {
      ENTITABLE_CHECK(!staged.changes);
      store_.discard();
      ENTITABLE_CHECK(contents(store_) == before);
    } else {
      ENTITABLE_CHECK(response.status < 300);
      store_.publish();
    }
  }

  protocol::Account account_;
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
