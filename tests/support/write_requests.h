// Short functions that make requests to the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/store/store.h"

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

}  // namespace entitable::test
