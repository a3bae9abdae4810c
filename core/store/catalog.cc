#include "core/store/catalog.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <type_traits>
#include <utility>

#include "core/base/check.h"

namespace entitable {
namespace {

// Returns the object so that the caller can change it. Clones it first if other references share
// it.
template <typename T>
T& mutable_copy(Ref<T>& node) {
  if (!node.unique()) node = make_ref<T>(*node);
  return *node;
}

auto position_of(const std::vector<Ref<Table>>& tables, TableId id) {
  return std::lower_bound(
      tables.begin(), tables.end(), id,
      [](const Ref<Table>& table, TableId wanted) { return table->id() < wanted; });
}

auto position_of(const std::vector<Ref<TableIdentity>>& names, std::string_view folded) {
  return std::lower_bound(names.begin(), names.end(), folded,
                          [](const Ref<TableIdentity>& entry, std::string_view wanted) {
                            return entry->name.folded() < wanted;
                          });
}

TableId table_of(const Mutation& mutation) {
  return std::visit(
      [](const auto& m) -> TableId {
        if constexpr (std::is_same_v<std::decay_t<decltype(m)>, SetServiceProperties>) {
          return 0;
        } else {
          return m.table;
        }
      },
      mutation);
}

void append(std::vector<PartId>& parts, const std::vector<PartId>& more) {
  parts.insert(parts.end(), more.begin(), more.end());
}

bool changes_a_row(const Mutation& mutation) {
  return std::holds_alternative<PutRow>(mutation) || std::holds_alternative<DeleteRow>(mutation);
}

}  // namespace

Catalog::Catalog()
    : tables_(make_ref<Tables>()), names_(make_ref<Names>()), service_(make_ref<Service>()) {}

const Table* Catalog::find(std::string_view name) const {
  const std::vector<Ref<TableIdentity>>& names = names_->list;
  const auto at = std::lower_bound(names.begin(), names.end(), name,
                                   [](const Ref<TableIdentity>& entry, std::string_view wanted) {
                                     return compare_folded(entry->name.folded(), wanted) < 0;
                                   });
  if (at == names.end() || compare_folded((*at)->name.folded(), name) != 0) return nullptr;
  return find((*at)->id);
}

const Table* Catalog::find(TableId id) const {
  const auto at = position_of(tables_->list, id);
  return at != tables_->list.end() && (*at)->id() == id ? at->get() : nullptr;
}

std::vector<PartId> Catalog::parts_with_inexact_counts() const {
  std::vector<PartId> parts;
  for (const Ref<Table>& table : tables()) {
    if (is_hidden_table(table->id())) break;  // they are last
    append(parts, table->index.parts_with_inexact_counts());
  }
  return parts;
}

Table* Catalog::mutable_table(TableId id) {
  if (find(id) == nullptr) return nullptr;
  std::vector<Ref<Table>>& list = mutable_copy(tables_).list;
  Table& table = mutable_copy(list[static_cast<std::size_t>(position_of(list, id) - list.begin())]);
  if (table.branch != branch_) {
    table.index.fork_schema();
    table.branch = branch_;
  }
  return &table;
}

void Catalog::apply(const Commit& commit) {
  Table* table = nullptr;                 // cached: nearly all mutations of a commit share a table
  const Table* last_put_table = nullptr;  // the table of the previous PutRow
  const auto open = [&](TableId id) -> Table& {
    if (table == nullptr || table->id() != id)
      table = is_hidden_table(id) ? &mutable_hidden_table(id) : mutable_table(id);
    ENTITABLE_CHECK(table != nullptr);
    return *table;
  };
  for (const Mutation& mutation : commit.mutations) {
    if (const auto* row = std::get_if<PutRow>(&mutation)) {
      Table& into = open(row->table);
      const bool same_shape_as_previous = row->same_shape_as_previous && last_put_table == &into;
      into.index.put(row->key, row->timestamp, row->properties, same_shape_as_previous,
                     row->shape_hint);
      last_put_table = &into;
    } else if (const auto* erase = std::get_if<DeleteRow>(&mutation)) {
      open(erase->table).index.erase(erase->key.view());
    } else if (const auto* make = std::get_if<CreateTable>(&mutation)) {
      table = nullptr;
      last_put_table = nullptr;
      create(*make);
    } else if (const auto* remove = std::get_if<DropTable>(&mutation)) {
      table = nullptr;
      last_put_table = nullptr;
      drop(remove->table);
    } else if (const auto* acl = std::get_if<SetTableAcl>(&mutation)) {
      open(acl->table).acl = acl->policies;
    } else if (const auto* properties = std::get_if<SetServiceProperties>(&mutation)) {
      mutable_copy(service_).document = properties->document;
    } else if (const auto* sync = std::get_if<SetSynced>(&mutation)) {
      table = nullptr;
      last_put_table = nullptr;
      set_synced(*sync);
    }
  }
}

bool Catalog::try_apply_in_place(const Commit& commit) {
  if (commit.mutations.size() != 1) return try_apply_several_in_place(commit);
  if (!tables_.unique()) return false;
  const auto* row = std::get_if<PutRow>(&commit.mutations.front());
  if (row == nullptr) return false;
  TableIndex* const index = index_to_change_in_place(row->table);
  return index != nullptr &&
         index->try_put_in_place(row->key, row->timestamp, row->properties, row->shape_hint);
}

// As a local write of a synced table does: its row, and rows of hidden tables. Every put is
// prepared before the first row changes: properties may refer to rows, and a put may not be that
// simple.
bool Catalog::try_apply_several_in_place(const Commit& commit) {
  constexpr std::size_t rows_max = 4;
  struct Put {
    const KeyView* key;
    TableIndex* index;
    TableIndex::PreparedPut prepared;
  };
  std::array<Put, rows_max> puts;
  if (commit.mutations.size() > rows_max || !tables_.unique()) return false;
  std::size_t count = 0;
  for (const Mutation& mutation : commit.mutations) {
    const auto* row = std::get_if<PutRow>(&mutation);
    TableIndex* const index = row == nullptr ? nullptr : index_to_change_in_place(row->table);
    const auto uses_index = [index](const Put& put) { return put.index == index; };
    if (index == nullptr || std::any_of(puts.begin(), puts.begin() + count, uses_index))
      return false;
    const auto prepared =
        index->prepare_put(row->key, row->timestamp, row->properties, row->shape_hint);
    if (!prepared.has_value()) return false;
    puts[count++] = {&row->key, index, *prepared};
  }
  for (std::size_t i = 0; i < count; ++i)
    puts[i].index->reserve_memory(*puts[i].key, puts[i].prepared);
  for (std::size_t i = 0; i < count; ++i)
    puts[i].index->put_prepared(*puts[i].key, puts[i].prepared);
  return true;
}

// Returns null if the table is shared with other versions, or is a hidden one without rows.
TableIndex* Catalog::index_to_change_in_place(TableId id) {
  const auto at = position_of(tables_->list, id);
  if (at == tables_->list.end() || (*at)->id() != id) {
    ENTITABLE_CHECK(is_hidden_table(id));
    return nullptr;
  }
  if (!at->unique() || (*at)->branch != branch_) return nullptr;
  return &(*at)->index;
}

namespace {

// Checks the mutations of a commit in their order, against the tables of a version and what earlier
// mutations have done to them.
class CommitChecker {
 public:
  CommitChecker(const Catalog& catalog, TableId last_id) : catalog_(catalog), last_id_(last_id) {}

  // Returns a description of the violation, or an empty text.
  std::string check(const Mutation& mutation) {
    if (std::holds_alternative<SetServiceProperties>(mutation)) return {};
    const TableId id = table_of(mutation);
    if (changes_a_row(mutation) && id == last_checked_) return {};
    if (const auto* make = std::get_if<CreateTable>(&mutation)) return check_create(*make);
    last_checked_ = id;
    if (is_hidden_table(id)) {
      if (is_synced(owner_of_hidden_table(id))) return {};
      return "a hidden table of a table that is not synced is changed";
    }
    const std::string name = name_of(id);
    if (name.empty()) return "a table that is not there is changed";
    if (const auto* set = std::get_if<SetSynced>(&mutation)) return check_set_synced(*set);
    if (std::holds_alternative<DropTable>(mutation)) {
      names_[name] = 0;
      ids_[id].clear();
      synced_[id] = false;
      last_checked_ = 0;
    }
    return {};
  }

 private:
  std::string check_create(const CreateTable& make) {
    const auto name = TableName::parse(make.name);
    if (!name.ok()) return "a table has an impossible name";
    if (is_taken(*name)) return "a table is created that is there already";
    if (make.table <= last_id_) return "a table id is used twice";
    last_id_ = make.table;
    names_[name->folded()] = make.table;
    ids_[make.table] = name->folded();
    return {};
  }

  std::string check_set_synced(const SetSynced& set) {
    if (is_synced(set.table) == set.synced) return "a table is synced twice, or was not synced";
    synced_[set.table] = set.synced;
    last_checked_ = 0;
    return {};
  }

  std::string name_of(TableId id) const {
    if (const auto at = ids_.find(id); at != ids_.end()) return at->second;
    const Table* const table = catalog_.find(id);
    return table == nullptr ? std::string() : table->identity->name.folded();
  }

  bool is_synced(TableId id) const {
    if (const auto at = synced_.find(id); at != synced_.end()) return at->second;
    const Table* const table = catalog_.find(id);
    return table != nullptr && table->synced;
  }

  bool is_taken(const TableName& name) const {
    if (const auto at = names_.find(name.folded()); at != names_.end()) return at->second != 0;
    return catalog_.find(name.text()) != nullptr;
  }

  const Catalog& catalog_;
  // The tables that the mutations checked so far have created or dropped, or begun or ended to
  // sync.
  std::map<std::string, TableId> names_;  // folded; 0: dropped
  std::map<TableId, std::string> ids_;    // folded name; empty: dropped
  std::map<TableId, bool> synced_;
  TableId last_checked_ = 0;  // cached: most mutations of a commit share a table
  TableId last_id_;           // the greatest id of a table that is not hidden
};

}  // namespace

std::string Catalog::check_commit(const Commit& commit) const {
  CommitChecker checker(*this, last_named_id());
  for (const Mutation& mutation : commit.mutations) {
    if (std::string wrong = checker.check(mutation); !wrong.empty()) return wrong;
  }
  return {};
}

void Catalog::create(const CreateTable& mutation) {
  auto name = TableName::parse(mutation.name);
  ENTITABLE_CHECK(name.ok());
  restore_table(mutation.table, std::move(*name), {});
}

Table& Catalog::restore_table(TableId id, TableName name, std::vector<AccessPolicy> acl) {
  auto& names = mutable_copy(names_).list;
  const auto at = position_of(names, name.folded());
  ENTITABLE_CHECK(at == names.end() || (*at)->name.folded() != name.folded());
  auto identity = make_ref<TableIdentity>(id, std::move(name));
  names.insert(at, identity);
  ENTITABLE_CHECK(last_named_id() < id);
  auto& tables = mutable_copy(tables_).list;
  Table& table =
      **tables.insert(position_of(tables, id), make_ref<Table>(std::move(identity), branch_));
  table.acl = std::move(acl);
  return table;
}

// Returns the greatest id of a table that is not hidden, or 0.
TableId Catalog::last_named_id() const {
  const auto& tables = tables_->list;
  const auto end = position_of(tables, hidden_table_bit);
  return end == tables.begin() ? 0 : (*std::prev(end))->id();
}

Table& Catalog::mutable_hidden_table(TableId id) {
  if (Table* const table = mutable_table(id)) return *table;
  ENTITABLE_CHECK(find(owner_of_hidden_table(id))->synced);
  auto& tables = mutable_copy(tables_).list;
  auto identity = make_ref<TableIdentity>(id, TableName::of_hidden_table());
  return **tables.insert(position_of(tables, id), make_ref<Table>(std::move(identity), branch_));
}

void Catalog::drop_hidden_tables(TableId owner) {
  auto& tables = mutable_copy(tables_).list;
  const auto first = position_of(tables, hidden_table_of(owner, HiddenTable{0}));
  tables.erase(first, std::find_if(first, tables.cend(), [&](const Ref<Table>& table) {
                 return owner_of_hidden_table(table->id()) != owner;
               }));
}

void Catalog::set_synced(const SetSynced& mutation) {
  if (!mutation.synced) drop_hidden_tables(mutation.table);
  mutable_table(mutation.table)->synced = mutation.synced;
}

void Catalog::restore_service_properties(std::string document) {
  mutable_copy(service_).document = std::move(document);
}

void Catalog::drop(TableId id) {
  const Table* table = find(id);
  ENTITABLE_CHECK(table != nullptr);
  auto& names = mutable_copy(names_).list;
  names.erase(position_of(names, table->identity->name.folded()));
  if (table->synced) drop_hidden_tables(id);
  auto& tables = mutable_copy(tables_).list;
  tables.erase(position_of(tables, id));
}

}  // namespace entitable
