// The catalog maps table names to indexes. Its apply(Commit) is the only place where state changes,
// for live writes and in recovery.
//
// A Catalog is one version of the whole store. It consists of a few reference-counted pointers, so
// a copy is O(1), and changing the copy does not change the original. The first change to a shared
// version clones the list of tables (one pointer per table). The list of names is cloned only when
// a table is created or dropped.
//
// Invariants: tables are in ascending order of id. Names are unique ignoring case, and in ordinal
// order of their folded form. Each name refers to an existing table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/refcounted.h"
#include "core/index/table_index.h"
#include "core/model/commit.h"
#include "core/model/table_name.h"

namespace entitable {

// The immutable properties of a table.
struct TableIdentity : RefCounted<TableIdentity> {
  TableIdentity(TableId id_in, TableName name_in) : id(id_in), name(std::move(name_in)) {}
  TableId id;
  TableName name;
};

// Identifies a branch: a sequence of versions, each made from the previous one. Two branches are
// different objects; the type has no content.
struct Branch : RefCounted<Branch> {};

struct Table : RefCounted<Table> {
  Table(Ref<TableIdentity> identity_in, Ref<Branch> branch_in)
      : identity(std::move(identity_in)), branch(std::move(branch_in)) {}
  Ref<TableIdentity> identity;
  Ref<Branch> branch;  // the branch in which the table was last changed
  TableIndex index;
  std::vector<AccessPolicy> acl;

  TableId id() const { return identity->id; }
  const std::string& name() const { return identity->name.text(); }
};

class Catalog {
 public:
  Catalog();

  // Returns the table with this name, ignoring case, or nullptr.
  const Table* find(std::string_view name) const;
  const Table* find(TableId id) const;
  // tables() is in ascending order of id, names() of folded name.
  const std::vector<Ref<Table>>& tables() const { return tables_->list; }
  const std::vector<Ref<TableIdentity>>& names() const { return names_->list; }
  const std::string& service_properties() const { return service_->document; }
  // Return the parts of all tables; core/index/table_index.h describes both lists.
  std::vector<PartId> parts_with_overlay() const;
  std::vector<PartId> parts_with_inexact_counts() const;

  // Applies the commit. Allocates; after std::bad_alloc the caller must drop this version.
  // REQUIRES: the commit was staged against this version (live), or check() accepted it (recovery).
  void apply(const Commit& commit);
  // Applies a commit that puts a single row. Returns false if this would copy a shared node.
  // Nothing has changed when this returns false or throws std::bad_alloc. REQUIRES: as apply().
  bool apply_in_place(const Commit& commit);
  // Checks a commit from storage before apply(): the tables that it uses exist, those that it
  // creates do not, and names are valid. Returns a description of the first violation, or empty
  // text.
  std::string check(const Commit& commit) const;

  // Recovery: adds an empty table. REQUIRES: calls are in ascending order of id; the name is free.
  Table& restore_table(TableId id, TableName name, std::vector<AccessPolicy> acl);
  void restore_service_properties(std::string document);
  // Returns the table for changes to its index, such as loading parts, or nullptr. Clones what
  // other versions share.
  Table* mutable_table(TableId id);

  // Starts a new branch: later changes to this version do not affect other versions, not even the
  // order of columns. REQUIRES: other versions also start a new branch before they are changed.
  void start_branch() { branch_ = make_ref<Branch>(); }

 private:
  struct Tables : RefCounted<Tables> {
    std::vector<Ref<Table>> list;
  };
  struct Names : RefCounted<Names> {
    std::vector<Ref<TableIdentity>> list;
  };
  struct Service : RefCounted<Service> {
    std::string document;
  };

  void create(const CreateTable& mutation);
  void drop(TableId id);

  Ref<Tables> tables_;
  Ref<Names> names_;
  Ref<Service> service_;
  Ref<Branch> branch_;  // null until the first start_branch()
};

}  // namespace entitable
