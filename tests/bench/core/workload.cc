#include "tests/bench/core/workload.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/check.h"
#include "core/filter/parser.h"
#include "tests/core/rest/http_request_message.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/support/prng.h"

namespace entitable::bench {
namespace {

using rpc::RequestKind;
using test::Prng;
using test::RequestBuilder;

std::string padded(std::size_t number, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*zu", digits, number);
  return text;
}

std::vector<Property> properties(std::size_t i) {
  const std::uint64_t dice = Prng(i).next();
  const auto sixteen = padded(dice % 10'000'000'000'000'000, 16);
  const auto milliseconds = static_cast<Ticks>(i) * 1000;
  return {
      {"name", Value::of_string("name " + std::to_string(i % 997) + " of an entity")},
      {"city", Value::of_string("city number " + std::to_string(dice / 1000 % 10))},
      {"note", Value::of_string("a note of some length, number " + std::to_string(i))},
      {"count", Value::of_int32(static_cast<std::int32_t>(dice % 1000))},
      {"version", Value::of_int32(1)},
      {"ratio", Value::of_double(static_cast<double>(i) / 3)},
      {"active", Value::of_boolean(i % 3 == 0)},
      {"born", Value::of_date_time(noon / ticks_per_millisecond * ticks_per_millisecond +
                                   milliseconds * ticks_per_millisecond)},
      {"total", Value::of_int64(static_cast<std::int64_t>(i) << 20)},
      {"hash", Value::of_binary(sixteen)},
  };
}

std::uint64_t payload(const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
      return utf16_length(value.string());
    case EdmType::binary:
      return value.binary().size();
    case EdmType::date_time: {
      const auto milliseconds =
          static_cast<double>((value.date_time() - ticks_at_unix_epoch) / ticks_per_millisecond);
      return static_cast<std::uint64_t>(ValueView::of_double(milliseconds).bits());
    }
    default:
      return static_cast<std::uint64_t>(value.bits());
  }
}

void add_property(RequestBuilder& out, std::uint32_t name, const ValueView& value) {
  out.word(name).word(static_cast<std::uint32_t>(value.type())).two_words(payload(value));
  if (value.type() == EdmType::string) out.append_text(value.string());
  if (value.type() == EdmType::binary) out.append_binary(value.binary());
}

std::string json_of(const EntityKey& key, const std::vector<Property>& properties) {
  std::string body = R"({"PartitionKey":")" + key.partition + R"(","RowKey":")" + key.row + '"';
  for (const Property& property : properties) {
    const ValueView value = property.value.view();
    const bool plain = value.type() == EdmType::int32 || value.type() == EdmType::boolean ||
                       value.type() == EdmType::float64;
    const std::string quote = plain ? "" : "\"";
    body += ",\"" + property.name + "\":" + quote + value_text(value) + quote;
    if (!plain && value.type() != EdmType::string) {
      body +=
          ",\"" + property.name + "@odata.type\":\"" + std::string(edm_name(value.type())) + '"';
    }
  }
  return body + "}";
}

const std::string account_url = "http://127.0.0.1:10002/devstoreaccount1/";

}  // namespace

EntityKey key(std::size_t i) {
  return EntityKey("p" + padded(i / partition_rows, 6), padded(i, 9));
}

EntityKey new_key(std::size_t i) {
  EntityKey result = key(i);
  result.row += "+";
  return result;
}

Entity entity(std::size_t i) {
  return Entity{key(i), noon + static_cast<Ticks>(i), properties(i)};
}

std::vector<PropertyView> views(const std::vector<Property>& properties) {
  std::vector<PropertyView> result;
  for (const Property& property : properties) {
    result.push_back({property.name, property.value.view()});
  }
  return result;
}

std::vector<std::size_t> shuffled(std::size_t count) {
  std::vector<std::size_t> result(count);
  std::iota(result.begin(), result.end(), std::size_t{0});
  Prng prng(count);
  for (std::size_t i = count; i > 1; --i) std::swap(result[i - 1], result[prng.below(i)]);
  return result;
}

std::vector<EntityKey> random_keys(std::size_t rows) {
  std::vector<std::size_t> order = shuffled(rows);
  order.resize(std::min<std::size_t>(rows, 100'000));
  std::vector<EntityKey> keys;
  keys.reserve(order.size());
  for (const std::size_t i : order) keys.push_back(key(i));
  return keys;
}

Filter parsed(std::string_view filter) {
  Result<Filter> result = parse_filter(filter);
  ENTITABLE_CHECK(result.ok());
  return *std::move(result);
}

Operation insert_operation(const EntityKey& key, std::size_t i) {
  return Operation{OperationKind::insert, key, properties(i), {}};
}

std::vector<Operation> insert_group(std::size_t first) {
  std::vector<Operation> operations;
  for (std::size_t i = first; i < first + group_rows; ++i) {
    operations.push_back(insert_operation(key(i), i));
  }
  return operations;
}

WriteRequest group_request(std::vector<Operation> operations) {
  const bool transaction = operations.size() > 1;
  return {std::nullopt, WriteEntities{std::string(table), std::move(operations), transaction}};
}

std::string write_message(const std::vector<Operation>& operations) {
  std::vector<std::string> names;
  std::map<std::string, std::uint32_t> name_at;
  for (const Operation& operation : operations) {
    for (const PropertyView& property : operation.properties) {
      const auto at = static_cast<std::uint32_t>(names.size());
      if (name_at.emplace(property.name, at).second) names.emplace_back(property.name);
    }
  }
  RequestBuilder out(RequestKind::write);
  out.word(operations.size() > 1 ? 1 : 0).word(static_cast<std::uint32_t>(operations.size()));
  out.word(static_cast<std::uint32_t>(names.size())).text(table);
  for (const std::string& name : names) out.append_text(name);
  for (const Operation& operation : operations) {
    const auto count = static_cast<std::uint32_t>(operation.properties.size());
    out.word(static_cast<std::uint32_t>(operation.kind) | count << 8);
    out.text(operation.key.partition).text(operation.key.row);
    operation.if_match.has_condition() ? out.text("*") : out.no_text();
    for (const PropertyView& property : operation.properties) {
      add_property(out, name_at[std::string(property.name)], property.value);
    }
  }
  for (const std::string& name : names) out.word(static_cast<std::uint32_t>(name.size()));
  return out.build();
}

std::string get_message(const EntityKey& key) {
  return RequestBuilder(RequestKind::get)
      .text(table)
      .text(key.partition)
      .text(key.row)
      .word(0)
      .build();
}

std::string query_message(std::string_view filter, std::uint32_t top, const KeyView* from) {
  RequestBuilder out(RequestKind::query);
  out.text(table);
  filter.empty() ? out.no_text() : out.text(filter);
  out.word(top);
  from == nullptr ? out.no_text().no_text() : out.text(from->partition).text(from->row);
  return out.word(0).build();
}

rest::Request RestRequest::request() const {
  rest::Request result;
  result.method = method;
  result.url = url;
  result.headers = {{"accept", "application/json;odata=minimalmetadata"},
                    {"accept-encoding", "gzip,deflate"},
                    {"content-type", content_type},
                    {"dataserviceversion", "3.0"},
                    {"host", "127.0.0.1:10002"},
                    {"prefer", "return-no-content"},
                    {"user-agent", "azsdk-js-data-tables/13.3.2 core-rest-pipeline/1.22.2"},
                    {"x-ms-client-request-id", "8f6a4a4e-1bd3-4a57-9c33-0a2d9be0c1a2"},
                    {"x-ms-date", "Sun, 18 Sep 2022 11:06:40 GMT"},
                    {"x-ms-version", "2019-02-02"}};
  result.body = body;
  result.trusted = true;
  return result;
}

std::string RestRequest::message() const {
  return test::http_request_message(request());
}

RestRequest rest_get(const EntityKey& key) {
  return {"GET",
          account_url + std::string(table) + "(PartitionKey='" + key.partition + "',RowKey='" +
              key.row + "')",
          ""};
}

RestRequest rest_insert(const EntityKey& key, std::size_t i) {
  return {"POST", account_url + std::string(table), json_of(key, properties(i))};
}

RestRequest rest_batch(std::size_t first) {
  const std::string batch = "batch_c71689a7-895a-46b1-a6e6-7b66b5f3ba00";
  const std::string changes = "changeset_c71689a7-895a-46b1-a6e6-7b66b5f3ba00";
  std::string body = "--" + batch + "\r\ncontent-type: multipart/mixed; boundary=" + changes;
  body += "\r\n\r\n";
  for (std::size_t i = first; i < first + group_rows; ++i) {
    body += "--" + changes +
            "\r\ncontent-type: application/http\r\ncontent-transfer-encoding: binary\r\n\r\n";
    body += "POST " + account_url + std::string(table) +
            " HTTP/1.1\r\ncontent-type: application/json;odata=nometadata\r\n"
            "accept: application/json;odata=minimalmetadata\r\ndataserviceversion: 3.0\r\n"
            "prefer: return-no-content\r\n\r\n\r\n";
    body += json_of(key(i), properties(i)) + "\r\n";
  }
  body += "--" + changes + "--\r\n--" + batch + "--\r\n";
  return {"POST", account_url + "$batch", body, "multipart/mixed; boundary=" + batch};
}

RestRequest rest_query(std::string_view filter, std::uint32_t top) {
  std::string url = account_url + std::string(table) + "()?$top=" + std::to_string(top);
  if (!filter.empty()) url += "&$filter=";
  for (const char c : filter) url += c == ' ' ? "%20" : std::string(1, c);
  return {"GET", url, ""};
}

Store new_store() {
  Store store;
  ENTITABLE_CHECK(store.begin_recovery(std::nullopt).ok());
  store.finish_recovery();
  commit(store, {{std::nullopt, WriteCreateTable{std::string(table)}}});
  return store;
}

std::string commit(Store& store, const std::vector<WriteRequest>& requests) {
  const StageResult staged = store.stage(requests, noon);
  for (const WriteResult& answer : staged.results) {
    ENTITABLE_CHECK(std::holds_alternative<WriteSuccess>(answer));
  }
  store.publish();
  std::optional<SealedSegment> segment = store.seal();
  ENTITABLE_CHECK(segment.has_value());
  store.mark_stored(segment->sequence);
  return std::move(segment->bytes);
}

Store filled_store(std::size_t rows) {
  ENTITABLE_CHECK(rows % group_rows == 0);
  Store store = new_store();
  for (std::size_t i = 0; i < rows; i += group_rows) {
    commit(store, {group_request(insert_group(i))});
  }
  return store;
}

Store& shared_store(std::size_t rows) {
  static std::map<std::size_t, Store> stores;
  auto found = stores.find(rows);
  if (found == stores.end()) found = stores.emplace(rows, filled_store(rows)).first;
  return found->second;
}

Files checkpoint(Store& store) {
  Files files;
  ENTITABLE_CHECK(store.begin_checkpoint());
  for (CheckpointStep step = store.next_checkpoint_part();
       std::holds_alternative<CheckpointPart>(step); step = store.next_checkpoint_part()) {
    files.parts.push_back(std::move(std::get<CheckpointPart>(step)));
  }
  files.manifest = store.finish_checkpoint(no_history).manifest;
  store.mark_checkpoint_committed();
  return files;
}

}  // namespace entitable::bench
