// Sends arbitrary messages to a small store: as a read, as a request of a client that listens, and
// as a write. Each must get a well-formed response message, and a discarded write must change
// nothing.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/rpc/describe_request.h"
#include "core/rpc/listening_clients.h"
#include "core/rpc/operations.h"
#include "core/rpc/write_parser.h"
#include "tests/support/description_checks.h"

namespace {

using entitable::Store;
using entitable::Ticks;
using entitable::rpc::ResponseBuffer;

constexpr Ticks now = 637'311'980'880'000'000;

entitable::WriteRequest insert(std::string table, std::string partition, std::string row,
                               std::vector<entitable::Property> properties) {
  entitable::Operation operation{entitable::OperationKind::insert,
                                 entitable::EntityKey(partition, row),
                                 std::move(properties),
                                 {}};
  return {{}, entitable::WriteEntities{std::move(table), {std::move(operation)}, false}};
}

Store make_store() {
  using entitable::Value;
  Store store;
  ENTITABLE_CHECK(store.begin_recovery(std::nullopt).ok());
  store.finish_recovery();
  std::vector<entitable::WriteRequest> writes;
  writes.push_back({{}, entitable::WriteCreateTable{"people"}});
  writes.push_back({{}, entitable::WriteCreateTable{"Empty"}});
  for (int i = 0; i < 20; ++i) {
    const std::string row = std::to_string(i);
    std::vector<entitable::Property> properties = {{"a", Value::of_int32(i)},
                                                   {"b", Value::of_string("t\xC3\xA9" + row)}};
    if (i % 3 == 0) properties.push_back({"c", Value::of_double(i + 0.5)});
    if (i % 5 == 0) properties.push_back({"d", Value::of_string("\xED\xA0\xBD")});
    writes.push_back(insert("people", i < 10 ? "p" : "q", row, std::move(properties)));
  }
  store.stage(writes, now);
  store.publish();
  return store;
}

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t v;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

void check_response(const ResponseBuffer& response) {
  const std::string_view bytes = response.view();
  ENTITABLE_CHECK(bytes.size() >= 16);
  const std::uint64_t size =
      std::uint64_t{word_at(bytes, 4)} + word_at(bytes, 8) + word_at(bytes, 12);
  ENTITABLE_CHECK(size == bytes.size());
}

// Checks that describe_request describes the write that parse_write parsed.
void check_description(const entitable::RequestDescription& description,
                       const entitable::WriteRequest& request) {
  const auto* write = std::get_if<entitable::WriteEntities>(&request.body);
  if (write == nullptr) {
    ENTITABLE_CHECK(description.table.has_value());
    return;
  }
  if (!write->transaction && write->operations.empty()) return;
  ENTITABLE_CHECK(description.table == write->table);
  entitable::test::check_operations(description, *write);
}

// Sends the message as a request of a client that has a watch and a feed, which then takes changes.
void listen(Store& store, const std::string& message, entitable::rpc::PageWriter& pages) {
  entitable::rpc::ListeningClients clients;
  ResponseBuffer response;
  const auto send = [&](std::string_view request) {
    clients.handle(store, 1, request, pages, response);
    check_response(response);
  };
  using namespace std::string_view_literals;
  constexpr auto open_watch =
      "\x09\x01\0\0\x28\0\0\0\x06\0\0\0\0\0\0\0\0\0\0\0\x06\0\0\0\xFF\xFF\xFF\xFF"
      "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFpeople"sv;
  constexpr auto take_changes =
      "\x0F\x01\0\0\x24\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0"
      "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv;
  constexpr auto close_listeners = "\x0E\x01\0\0\x10\0\0\0\0\0\0\0\0\0\0\0"sv;
  send(open_watch);
  ENTITABLE_CHECK(response.data()[0] == 6);
  send(message);
  send(take_changes);
  ENTITABLE_CHECK(response.data()[0] == 8);
  send(close_listeners);
}

// Adds a valid message header with matching lengths to half of the inputs, so that the fuzzer gets
// past the check of the header.
std::string framed(std::string_view input) {
  if (input.size() < 6 || (input[0] & 1) == 0) return std::string(input);
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(input[i]); };
  const std::string_view body = input.substr(6);
  std::size_t words = std::size_t{byte(3)} * 4;
  if (words > body.size()) words = body.size() / 4 * 4;
  std::size_t text = body.size() - words;
  const std::size_t binary = text * byte(4) / 256;
  text -= binary;
  const std::uint32_t lengths[3] = {static_cast<std::uint32_t>(16 + words),
                                    static_cast<std::uint32_t>(text),
                                    static_cast<std::uint32_t>(binary)};
  std::string message = {static_cast<char>(byte(1)), 1, static_cast<char>(byte(2) & 1), 0};
  message.append(reinterpret_cast<const char*>(lengths), sizeof lengths);
  return message + std::string(body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Store store = make_store();
  static entitable::rpc::PageWriter pages;
  static entitable::rpc::TimestampFormatter timestamps;
  const std::string message = framed({reinterpret_cast<const char*>(data), size});
  ResponseBuffer response;
  entitable::rpc::handle_read(store, message, pages, response);
  check_response(response);
  listen(store, message, pages);

  entitable::RequestDescription description;
  entitable::rpc::describe_request(message, description);
  static entitable::WriteRequest request;  // static: parse_write reuses the previous request
  if (entitable::rpc::parse_write(message, request).has_value()) return 0;
  check_description(description, request);
  const auto rows = store.stats().rows;
  const entitable::StageResult staged = store.stage({request, request}, now + 1);
  for (const entitable::WriteResult& answer : staged.results) {
    entitable::rpc::encode_write_result(response, answer, timestamps);
    check_response(response);
  }
  store.discard();
  ENTITABLE_CHECK(store.stats().rows == rows);
  return 0;
}
