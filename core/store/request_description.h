// What a request asks for, told without doing it: for those who watch requests go by, to log them
// or to fail some of them. Both doors tell it in these words, and the same of the same call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/txn/operation.h"

namespace entitable {

enum class RequestOperation : std::uint8_t {
  unknown,  // what it asks for can't be told: no such address, verb or block
  get,
  query,
  explain,
  insert,
  update,          // replaces what must be there
  merge,           // likewise
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

// Whether a request could be done is not looked at. What it doesn't name, or names in a way that
// can't be read, is absent.
struct RequestDescription {
  RequestOperation operation = RequestOperation::unknown;
  std::optional<std::string> table;  // as it is spelled; of a batch: that of its first operation
  std::optional<std::string> partition;  // likewise
  std::optional<std::string> row;
  // Of what reads.
  std::optional<std::string> filter;
  std::vector<std::string> select;  // empty: everything
  std::optional<std::uint32_t> top;
  std::vector<RequestDescription> operations;  // of a batch; none of them is one

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

// Makes a batch of it, once its operations are there.
inline void make_batch_description(RequestDescription& out) {
  out.operation = RequestOperation::batch;
  if (out.operations.empty()) return;
  out.table = out.operations.front().table;
  out.partition = out.operations.front().partition;
}

// What a reply says became of its request.
struct RequestOutcome {
  std::uint16_t status = 0;  // HTTP's. Of a batch of which an operation failed: that operation's
  std::string code;          // the service's error code; empty: it was done

  friend bool operator==(const RequestOutcome&, const RequestOutcome&) = default;
};

}  // namespace entitable
