#include "core/rpc/describe_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/query/projection.h"
#include "core/rpc/message.h"
#include "core/rpc/read_request_fields.h"
#include "core/rpc/write_request_fields.h"

namespace entitable::rpc {
namespace {

void set(std::optional<std::string>& out, const std::optional<std::string_view>& text) {
  if (text.has_value()) out.emplace(*text);
}

void set(std::optional<std::string>& out, const KeyField& key) {
  if (!key.absent && !key.not_a_string) out.emplace(key.text);
}

void set(std::optional<std::uint32_t>& out, std::uint32_t word) {
  if (word != none) out = word;
}

void set(std::vector<std::string>& out, const std::vector<std::string_view>& names) {
  Result<std::vector<std::string>> select = normalize_select(names);
  if (select.ok()) out = std::move(*select);
}

void describe_get(MessageReader& in, RequestDescription& out) {
  const GetFields fields = read_get_fields(in);
  out.operation = RequestOperation::get;
  set(out.table, fields.table);
  set(out.partition, fields.key.partition);
  set(out.row, fields.key.row);
  set(out.select, fields.select);
}

// Describes only the table and not the keys, because a description has space for one key.
void describe_multi_get(MessageReader& in, RequestDescription& out) {
  const MultiGetFields fields = read_multi_get_fields(in);
  out.operation = RequestOperation::get;
  set(out.table, fields.table);
}

void describe_query(MessageReader& in, RequestOperation operation, RequestDescription& out) {
  const QueryFields fields = read_query_fields(in);
  out.operation = operation;
  set(out.table, fields.table);
  set(out.filter, fields.filter);
  set(out.select, fields.select);
  set(out.top, fields.top);
}

void describe_partition_keys(MessageReader& in, RequestDescription& out) {
  const PartitionKeysFields fields = read_partition_keys_fields(in);
  out.operation = RequestOperation::query;
  set(out.table, fields.table);
  set(out.top, fields.top);
}

void describe_tables(MessageReader& in, RequestDescription& out) {
  const ListTablesFields fields = read_list_tables_fields(in);
  out.operation = RequestOperation::list_tables;
  set(out.filter, fields.filter);
  set(out.top, fields.top);
}

void describe_operation(MessageReader& in, std::string_view table, std::size_t names,
                        RequestDescription& out) {
  const OperationFields fields = read_operation_fields(in);
  out.operation = request_operation_of(fields.kind);
  set(out.table, table);
  set(out.partition, fields.partition);
  set(out.row, fields.row);
  // Text is read in order, so the properties must be read to reach the next operation's text.
  for (std::uint32_t i = 0; i < fields.properties && in.ok(); ++i) {
    if (read_property_fields(in, in.property_record()).name_index >= names) in.fail();
  }
}

void describe_write(MessageReader& in, RequestDescription& out) {
  const WriteRequestHeader fields = read_write_request_header(in);
  // The text of the names precedes that of the operations.
  read_property_names(in, fields, [](std::string_view) {});
  const std::size_t names = fields.name_count();
  if (!fields.transaction) {
    if (fields.operations == 0) in.fail();
    return describe_operation(in, fields.table, names, out);
  }
  if (in.ok()) out.operations.resize(fields.operations);
  for (RequestDescription& operation : out.operations) {
    describe_operation(in, fields.table, names, operation);
  }
  fill_batch_description(out);
  set(out.table, fields.table);
}

void describe_message(MessageReader& in, RequestDescription& out) {
  switch (static_cast<RequestKind>(in.kind())) {
    case RequestKind::get:
      return describe_get(in, out);
    case RequestKind::query:
    case RequestKind::query_descending:
    case RequestKind::count:
      return describe_query(in, RequestOperation::query, out);
    case RequestKind::explain:
      return describe_query(in, RequestOperation::explain, out);
    case RequestKind::list_tables:
      return describe_tables(in, out);
    case RequestKind::multi_get:
      return describe_multi_get(in, out);
    case RequestKind::partition_keys:
      return describe_partition_keys(in, out);
    case RequestKind::open_watch:
    case RequestKind::read_watch:
    case RequestKind::close_watch:
    case RequestKind::open_feed:
    case RequestKind::close_feed:
    case RequestKind::close_listeners:
    case RequestKind::take_changes:
    case RequestKind::read_past:
    case RequestKind::feed_reader:
      return;  // no requests of the service
    case RequestKind::write:
      return describe_write(in, out);
    case RequestKind::create_table:
      out.operation = RequestOperation::create_table;
      return set(out.table, in.text());
    case RequestKind::drop_table:
      out.operation = RequestOperation::drop_table;
      return set(out.table, in.text());
  }
}

bool is_response_of_kind(std::string_view response, ResponseKind kind) {
  return !response.empty() && static_cast<ResponseKind>(response.front()) == kind;
}

bool is_transaction(std::string_view request) {
  MessageReader in(request);
  return in.ok() && static_cast<RequestKind>(in.kind()) == RequestKind::write &&
         read_write_request_header(in).transaction;
}

}  // namespace

void describe_request(std::string_view request, RequestDescription& out) {
  MessageReader in(request);
  out = RequestDescription{};
  if (in.ok()) describe_message(in, out);
  if (!in.ok()) out = RequestDescription{};
}

ResponseOutcome response_outcome(std::string_view request, std::string_view response) {
  constexpr std::uint16_t ok = 200;
  constexpr std::uint16_t accepted = 202;
  constexpr std::uint16_t no_content = 204;
  if (is_response_of_kind(response, ResponseKind::error)) {
    MessageReader in(response, flag_utf16 | flag_local_failure | flag_headers);
    const auto status = static_cast<std::uint16_t>(in.word());
    in.word();  // index of the failed operation
    return ResponseOutcome{status, std::string(in.text())};
  }
  if (!is_response_of_kind(response, ResponseKind::write_result)) return ResponseOutcome{ok, {}};
  return ResponseOutcome{is_transaction(request) ? accepted : no_content, {}};
}

}  // namespace entitable::rpc
