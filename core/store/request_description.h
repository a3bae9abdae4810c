// Describes a request without executing it, for hosts that log requests or inject faults. RPC and
// REST requests for the same operation have equal descriptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/txn/operation.h"

namespace entitable {

enum class RequestOperation : std::uint8_t {
  unknown,  // the address, the HTTP method or the message is not valid
  get,
  query,
  explain,
  insert,
  update,          // replaces an existing entity
  merge,           // merges into an existing entity
  upsert_replace,  // insert or replace
  upsert_merge,
  remove,
  batch,
  create_table,
  drop_table,
  list_tables,
  get_table,
  get_acl,
  set_acl,
  get_properties,
  set_properties,
  get_statistics,
  preflight,
};

// Describes what a request asks for, not whether it would succeed. Values that the request does not
// have, or that cannot be parsed, are absent.
struct RequestDescription {
  RequestOperation operation = RequestOperation::unknown;
  std::optional<std::string> table;      // as spelled; for a batch, that of the first operation
  std::optional<std::string> partition;  // for a batch, that of the first operation
  std::optional<std::string> row;
  // Only for reads:
  std::optional<std::string> filter;
  std::vector<std::string> select;  // empty: everything
  std::optional<std::uint32_t> top;
  std::vector<RequestDescription> operations;  // of a batch; they are not batches themselves

  friend bool operator==(const RequestDescription&, const RequestDescription&) = default;
};

inline RequestOperation request_operation_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::insert:
      return RequestOperation::insert;
    case OperationKind::replace:
      return RequestOperation::update;
    case OperationKind::merge:
      return RequestOperation::merge;
    case OperationKind::insert_or_replace:
      return RequestOperation::upsert_replace;
    case OperationKind::insert_or_merge:
      return RequestOperation::upsert_merge;
    case OperationKind::remove:
      break;
  }
  return RequestOperation::remove;
}

// Sets the operation, table and partition of a batch from its `operations`.
inline void fill_batch_description(RequestDescription& out) {
  out.operation = RequestOperation::batch;
  if (out.operations.empty()) return;
  out.table = out.operations.front().table;
  out.partition = out.operations.front().partition;
}

// The outcome of a request according to its response.
struct ResponseOutcome {
  std::uint16_t status = 0;  // HTTP status; for a failed batch, that of the failed operation
  std::string code;          // the service's error code; empty for success

  friend bool operator==(const ResponseOutcome&, const ResponseOutcome&) = default;
};

}  // namespace entitable
