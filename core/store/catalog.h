// The catalog: table names to indexes, and apply(Commit), THE place where state changes, live and
// in recovery.
//
// A Catalog is one version of the whole store: a few counted pointers, so a copy is O(1) and
// changing the copy leaves the original as it was. The list of tables is cloned by the first change
// to a shared version (one pointer a table), names only when a table is created or dropped.
//
// Invariants: tables are in ascending order of id; names are unique without case and in ordinal
// order of their folded form; each name refers to a table that is there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/refcounted.h"
#include "core/index/table_index.h"
#include "core/model/commit.h"
#include "core/model/table_name.h"

namespace entitable {

// What never changes about a table.
struct TableIdentity : RefCounted<TableIdentity> {
  TableIdentity(TableId id_in, TableName name_in) : id(id_in), name(std::move(name_in)) {}
  TableId id;
  TableName name;
};

// A line of versions, each made from the one before. Tells lines apart by being another object.
struct Branch : RefCounted<Branch> {};

struct Table : RefCounted<Table> {
  Table(Ref<TableIdentity> identity_in, Ref<Branch> branch_in)
      : identity(std::move(identity_in)), branch(std::move(branch_in)) {}
  Ref<TableIdentity> identity;
  Ref<Branch> branch;  // in which it was changed last
  TableIndex index;
  std::vector<AccessPolicy> acl;

  TableId id() const { return identity->id; }
  const std::string& name() const { return identity->name.text(); }
};

class Catalog {
 public:
  Catalog();

  // By name in any case; nullptr if it is not there.
  const Table* find(std::string_view name) const;
  const Table* find(TableId id) const;
  // Ascending order of id, and of folded name.
  const std::vector<Ref<Table>>& tables() const { return tables_->list; }
  const std::vector<Ref<TableIdentity>>& names() const { return names_->list; }
  const std::string& service_properties() const { return service_->document; }
  // Of all tables (core/index/table_index.h).
  std::vector<PartId> parts_with_overlay() const;
  std::vector<PartId> parts_with_inexact_counts() const;

  // REQUIRES: the commit was staged against this version (live) or by check() (recovery).
  // Allocates; on std::bad_alloc this version is to be dropped.
  void apply(const Commit& commit);
  // apply() for a commit of a single row, where it needs no copy of anything. False: it would need
  // one, and nothing was done. On std::bad_alloc this version is as it was. REQUIRES: as apply().
  bool apply_in_place(const Commit& commit);
  // What must hold of a commit that comes from storage before apply: tables exist or not as the
  // mutations say, names valid. Empty text: it does. Nothing is changed.
  std::string check(const Commit& commit) const;

  // Recovery: a table as the manifest describes it. REQUIRES: ids ascending, name not taken.
  Table& restore_table(TableId id, TableName name, std::vector<AccessPolicy> acl);
  void restore_service_properties(std::string document);
  // The table for filling unloaded leaves; the version must not be shared.
  Table* mutable_table(TableId id);

  // Begins another branch: nothing that is applied to this version from now on shows in others, not
  // even in the order of columns. REQUIRES: the others, if they are changed, begin another one too.
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
  Ref<Branch> branch_;  // none: the only one there has been
};

}  // namespace entitable
