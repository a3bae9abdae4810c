// The catalog maps table names to tables with their indexes. Catalog::apply(Commit) is the only
// place where the state of a store changes, both for live writes and in recovery.
//
// A Catalog is one version of the whole store. It consists of a few reference-counted pointers, so
// copying it is O(1), and changing a copy does not change the original. The first change to a copy
// clones the list of tables (one pointer per table). The list of names is cloned only when a table
// is created or dropped.
//
// Invariants: tables are in ascending order of id, so hidden tables are last. Names are unique when
// case is ignored, and in ascending order of their folded form (core/model/table_name.h). Each name
// refers to an existing table. All tables but hidden ones have a name. A table that is synced has
// the hidden tables that have had a row, and other tables have none (core/model/hidden_table.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/refcounted.h"
#include "core/index/table_index.h"
#include "core/model/commit.h"
#include "core/model/hidden_table.h"
#include "core/model/table_identity.h"

namespace entitable {

// A branch is a sequence of versions, each made from the previous one. Forks and rollbacks start
// new branches. An object of this type only identifies a branch by its address; it has no content.
struct VersionBranch : RefCounted<VersionBranch> {};

struct Table : RefCounted<Table> {
  Table(Ref<TableIdentity> identity_in, Ref<VersionBranch> branch_in)
      : identity(std::move(identity_in)), branch(std::move(branch_in)) {}
  Ref<TableIdentity> identity;
  Ref<VersionBranch> branch;  // the branch in which the table was last changed
  TableIndex index;
  std::vector<AccessPolicy> acl;
  bool synced = false;  // may have hidden tables

  TableId id() const { return identity->id; }
  const std::string& name() const { return identity->name.text(); }
};

class Catalog {
 public:
  Catalog();

  // Returns the table with this name, ignoring case, or nullptr.
  const Table* find(std::string_view name) const;
  const Table* find(TableId id) const;
  // Returns a hidden table of a table, or nullptr if it has never had a row or is not synced.
  const Table* find_hidden(TableId owner, HiddenTable kind) const {
    return find(hidden_table_of(owner, kind));
  }
  // All tables, in ascending order of id; all names, in ascending order of the folded name.
  const std::vector<Ref<Table>>& tables() const { return tables_->list; }
  const std::vector<Ref<TableIdentity>>& identities_by_name() const { return names_->list; }
  const std::string& service_properties() const { return service_->document; }
  // Returns the lists of TableIndex::parts_with_inexact_counts() for all tables together, but not
  // for hidden ones, which are not counted.
  std::vector<PartId> parts_with_inexact_counts() const;

  // Applies the commit. May throw std::bad_alloc; the caller must then drop this version. REQUIRES:
  // the commit was staged against this version (live), or check_commit() accepted it (recovery).
  void apply(const Commit& commit);
  // Applies the commit if it puts one row, or one row into each of a few tables, and this is
  // possible without copying an object that other versions share (TableIndex::try_put_in_place).
  // Otherwise returns false and changes nothing. Changes nothing either if it throws
  // std::bad_alloc. REQUIRES: as apply().
  bool try_apply_in_place(const Commit& commit);
  // Checks a commit that was read from storage before apply(): the tables that the commit uses
  // exist, the tables that it creates do not exist, and names are valid. Returns a description of
  // the first violation, or an empty text.
  std::string check_commit(const Commit& commit) const;

  // For recovery. Adds an empty table and returns it. REQUIRES: `id` is above the ids of all tables
  // that are not hidden; the name is not used.
  Table& restore_table(TableId id, TableName name, std::vector<AccessPolicy> acl);
  // Returns the hidden table so that the caller can change its index. Adds it if it is missing.
  // REQUIRES: its owner is synced.
  Table& mutable_hidden_table(TableId id);
  void restore_service_properties(std::string document);
  // Returns the table so that the caller can change its index, for example load parts, or nullptr
  // if there is no such table. Clones the objects that other versions share, so that these do not
  // change.
  Table* mutable_table(TableId id);

  // Starts a new branch: later changes to this version do not affect other versions, not even their
  // order of columns (core/index/shape.h). REQUIRES: start_branch() is also called on another
  // version before that version is changed.
  void start_branch() { branch_ = make_ref<VersionBranch>(); }

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

  bool try_apply_several_in_place(const Commit& commit);
  TableIndex* index_to_change_in_place(TableId id);
  TableId last_named_id() const;
  void create(const CreateTable& mutation);
  void drop(TableId id);
  void drop_hidden_tables(TableId owner);
  void set_synced(const SetSynced& mutation);

  Ref<Tables> tables_;
  Ref<Names> names_;
  Ref<Service> service_;
  Ref<VersionBranch> branch_;  // null until the first start_branch()
};

}  // namespace entitable
