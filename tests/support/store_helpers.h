// Short helpers for tests of the store: requests, single steps and their results.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/filter/parser.h"
#include "core/store/store.h"
#include "tests/support/catch.h"

namespace entitable::test {

inline constexpr Ticks noon = 638'000'000'000'000'001;

inline Operation operation(OperationKind kind, std::string partition, std::string row,
                           std::int32_t value = 0) {
  Operation result{kind, EntityKey(partition, row), {}, {}};
  if (kind != OperationKind::remove) {
    result.properties.push_back({"value", Value::of_int32(value)});
  }
  if (kind == OperationKind::replace || kind == OperationKind::merge ||
      kind == OperationKind::remove) {
    result.if_match = IfMatch::any();
  }
  return result;
}

inline WriteRequest create(std::string table) {
  return {std::nullopt, WriteCreateTable{std::move(table)}};
}
inline WriteRequest drop(std::string table) {
  return {std::nullopt, WriteDropTable{std::move(table)}};
}
inline WriteRequest write(std::string table, Operation single) {
  return {std::nullopt, WriteEntities{std::move(table), {std::move(single)}, false}};
}
inline WriteRequest group(std::string table, std::vector<Operation> operations) {
  return {std::nullopt, WriteEntities{std::move(table), std::move(operations), true}};
}
inline WriteRequest insert(std::string table, std::string partition, std::string row,
                           std::int32_t value = 0) {
  return write(std::move(table),
               operation(OperationKind::insert, std::move(partition), std::move(row), value));
}
inline WriteRequest upsert(std::string table, std::string partition, std::string row,
                           std::int32_t value = 0) {
  return write(std::move(table), operation(OperationKind::insert_or_replace, std::move(partition),
                                           std::move(row), value));
}
inline WriteRequest remove(std::string table, std::string partition, std::string row) {
  return write(std::move(table),
               operation(OperationKind::remove, std::move(partition), std::move(row)));
}

inline bool succeeded(const WriteResult& answer) {
  return std::holds_alternative<WriteSuccess>(answer);
}
inline ErrorCode code_of(const WriteResult& answer) {
  REQUIRE(std::holds_alternative<GroupFailure>(answer));
  return std::get<GroupFailure>(answer).error.code;
}

// Stages and publishes the requests, without storing them. Every request must succeed.
inline void publish(Store& store, const std::vector<WriteRequest>& requests, Ticks now = noon) {
  const StageResult staged = store.stage(requests, now);
  REQUIRE(staged.results.size() == requests.size());
  for (const WriteResult& answer : staged.results) REQUIRE(succeeded(answer));
  store.publish();
}

// Returns all rows of a table as "row=value row=value …", in key order.
inline std::string rows_of(const Store& store, std::string_view table) {
  Query query;
  std::string text;
  do {
    const auto answer = store.query(table, query);
    const auto* page = std::get_if<Page>(&answer);
    if (page == nullptr) return "no table";
    for (const RowView& row : page->rows) {
      const auto value = row.find("value");
      text += (text.empty() ? "" : " ") + std::string(row.row_key()) + "=" +
              (value.has_value() ? std::to_string(value->int32()) : "?");
    }
    query.from = page->next;
  } while (query.from.has_value());
  return text;
}

inline Store new_store() {
  Store store;
  REQUIRE(store.begin_recovery(std::nullopt).ok());
  store.finish_recovery();
  return store;
}

}  // namespace entitable::test
