// The model of a store: a map of maps with a second, simple implementation of the rules. Property
// tests compare the store with it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/filter/evaluate.h"
#include "core/model/entity.h"
#include "core/model/limits.h"
#include "core/model/table_name.h"
#include "core/store/store.h"

namespace entitable::test {

// A key whose order is the service's: by UTF-16 units, computed in the simplest way.
struct ModelKey {
  std::u16string partition;
  std::u16string row;
  explicit ModelKey(const EntityKey& key)
      : partition(utf16_from_wtf8(key.partition)), row(utf16_from_wtf8(key.row)) {}
  friend bool operator<(const ModelKey& a, const ModelKey& b) {
    return a.partition != b.partition ? a.partition < b.partition : a.row < b.row;
  }
};

using ModelRows = std::map<ModelKey, Entity>;

struct ModelTable {
  std::string name;
  ModelRows rows;
};

class ModelStore {
 public:
  // An error that the store must return: its code and the failing operation.
  struct Expected {
    ErrorCode code;
    std::uint32_t index = 0;
    friend bool operator==(const Expected&, const Expected&) = default;
  };

  std::optional<Expected> check(const WriteRequest& request) const {
    if (const auto* write = std::get_if<WriteEntities>(&request.body))
      return check_entities(*write);
    if (const auto* create = std::get_if<WriteCreateTable>(&request.body)) {
      const auto name = TableName::parse(create->table);
      if (!name.ok()) return Expected{name.error().code};
      if (find(create->table) != nullptr) return Expected{ErrorCode::table_already_exists};
    } else if (const auto* drop = std::get_if<WriteDropTable>(&request.body)) {
      if (find(drop->table) == nullptr) return Expected{ErrorCode::resource_not_found};
    }
    return std::nullopt;
  }

  // REQUIRES: check(request) returned nothing. `timestamps` are those that the store returned.
  void apply(const WriteRequest& request, const std::vector<Ticks>& timestamps) {
    if (const auto* create = std::get_if<WriteCreateTable>(&request.body)) {
      tables_[fold_table_name(create->table)] = ModelTable{create->table, {}};
    } else if (const auto* drop = std::get_if<WriteDropTable>(&request.body)) {
      tables_.erase(fold_table_name(drop->table));
    } else if (const auto* write = std::get_if<WriteEntities>(&request.body)) {
      ModelRows& rows = tables_[fold_table_name(write->table)].rows;
      for (std::size_t i = 0; i < write->operations.size(); ++i) {
        const Operation& operation = write->operations[i];
        const ModelKey key(operation.key);
        if (operation.kind == OperationKind::remove) {
          rows.erase(key);
          continue;
        }
        Entity stored = after(rows, operation);
        stored.timestamp = timestamps[i];
        rows.insert_or_assign(key, std::move(stored));
      }
    }
  }

  const ModelTable* find(std::string_view name) const {
    const auto at = tables_.find(fold_table_name(name));
    return at == tables_.end() ? nullptr : &at->second;
  }
  const std::map<std::string, ModelTable>& tables() const { return tables_; }

  // Returns the rows that match, in key order.
  std::vector<Entity> query(std::string_view table, const Filter& filter) const {
    std::vector<Entity> result;
    for (const auto& [key, entity] : find(table)->rows) {
      if (filter.empty() || matches_unbound(filter, entity)) result.push_back(entity);
    }
    return result;
  }

 private:
  static bool merges(OperationKind kind) {
    return kind == OperationKind::merge || kind == OperationKind::insert_or_merge;
  }
  static bool must_exist(OperationKind kind) {
    return kind == OperationKind::replace || kind == OperationKind::merge ||
           kind == OperationKind::remove;
  }

  static Entity after(const ModelRows& rows, const Operation& operation) {
    Entity entity{operation.key, 0, owned_properties(operation.properties)};
    const auto at = rows.find(ModelKey(operation.key));
    if (!merges(operation.kind) || at == rows.end()) return entity;
    for (const Property& old : at->second.properties) {
      if (entity.find_property(old.name) == nullptr) entity.properties.push_back(old);
    }
    return entity;
  }

  std::optional<Expected> check_entities(const WriteEntities& write) const {
    if (write.operations.empty()) return Expected{ErrorCode::invalid_input};
    const ModelTable* table = find(write.table);
    if (table == nullptr) return Expected{ErrorCode::table_not_found};
    for (std::uint32_t i = 0; i < write.operations.size(); ++i) {
      const Operation& operation = write.operations[i];
      const auto at = table->rows.find(ModelKey(operation.key));
      const bool exists = at != table->rows.end();
      if (must_exist(operation.kind) && !exists) return Expected{ErrorCode::resource_not_found, i};
      if (operation.kind == OperationKind::insert && exists)
        return Expected{ErrorCode::entity_already_exists, i};
      if (exists && must_exist(operation.kind) &&
          !operation.if_match.matches(at->second.timestamp)) {
        return Expected{ErrorCode::update_condition_not_satisfied, i};
      }
      if (operation.kind != OperationKind::remove) {
        const Entity entity = after(table->rows, operation);
        if (entity.properties.size() > limits::custom_properties_max)
          return Expected{ErrorCode::too_many_properties, i};
        if (entity_size(entity) > limits::entity_bytes_max)
          return Expected{ErrorCode::entity_too_large, i};
      }
    }
    return std::nullopt;
  }

  std::map<std::string, ModelTable> tables_;
};

// Returns the entity with its properties ordered by name, for comparison.
inline Entity sorted(Entity entity) {
  std::sort(entity.properties.begin(), entity.properties.end(),
            [](const Property& a, const Property& b) { return a.name < b.name; });
  return entity;
}

}  // namespace entitable::test
