#include "core/store/catalog.h"

#include "core/store/verify_catalog.h"
#include "tests/support/catch.h"
#include "tests/support/put_row.h"

namespace entitable {
namespace {

Commit commit(std::vector<Mutation> mutations) {
  return {1, 5, std::nullopt, std::move(mutations)};
}

PutRow put(TableId table, std::string row) {
  return test::put_row(table, Entity{EntityKey("p", std::move(row)), 5, {}});
}

}  // namespace

TEST_CASE("tables are found in any case and keep their spelling") {
  Catalog catalog;
  catalog.apply(commit({CreateTable{1, "People"}}));
  REQUIRE(catalog.find("pEOPLE") != nullptr);
  CHECK(catalog.find("People")->name() == "People");
  CHECK(catalog.find("Peopl") == nullptr);
  CHECK(catalog.find(TableId{1}) == catalog.find("people"));
}

TEST_CASE("names are listed in the order of their folded form") {
  Catalog catalog;
  catalog.apply(commit({CreateTable{1, "bbb"}, CreateTable{2, "Ccc"}, CreateTable{3, "AAA"}}));
  std::string listed;
  for (const Ref<TableIdentity>& identity : catalog.identities_by_name())
    listed += identity->name.text() + " ";
  CHECK(listed == "AAA bbb Ccc ");
  CHECK(verify_catalog(catalog).empty());
}

TEST_CASE("a changed copy leaves the original unchanged") {
  Catalog before;
  before.apply(commit({CreateTable{1, "people"}, put(1, "a")}));
  Catalog after = before;
  after.apply(commit({put(1, "b"), CreateTable{2, "orders"}, SetTableAcl{1, {{"id", {}, {}, {}}}},
                      SetServiceProperties{"<x/>"}}));
  CHECK(before.find("people")->index.row_count() == 1);
  CHECK(before.find("people")->acl.empty());
  CHECK(before.find("orders") == nullptr);
  CHECK(before.service_properties().empty());
  CHECK(after.find("people")->index.row_count() == 2);
  CHECK(after.find("people")->acl.size() == 1);
  CHECK(after.service_properties() == "<x/>");
  after.apply(commit({DropTable{1}}));
  CHECK(after.find("people") == nullptr);
  CHECK(before.find("people")->index.row_count() == 1);
}

TEST_CASE("a dropped and re-created table is another table") {
  Catalog catalog;
  catalog.apply(commit({CreateTable{1, "people"}, put(1, "a")}));
  catalog.apply(commit({DropTable{1}, CreateTable{2, "People"}}));
  CHECK(catalog.find("people")->id() == 2);
  CHECK(catalog.find("people")->index.row_count() == 0);
}

TEST_CASE("a row takes the previous row's shape only within the same table") {
  const auto row = [](TableId table, std::string key, std::string name,
                      bool same_shape_as_previous) {
    Entity entity{EntityKey("p", std::move(key)), 5, {{std::move(name), Value::of_int32(7)}}};
    PutRow put = test::put_row(table, std::move(entity));
    put.same_shape_as_previous = same_shape_as_previous;
    return put;
  };
  const DeleteRow erased{1, EntityKey("p", "1")};
  Catalog catalog;
  catalog.apply(commit({CreateTable{1, "people"}, CreateTable{2, "orders"}}));
  catalog.apply(commit({row(2, "0", "other", false)}));
  // The store does not write such a commit, but a segment may contain one.
  catalog.apply(commit({row(1, "1", "a", false), row(2, "1", "a", true), row(1, "2", "a", true),
                        erased, row(1, "3", "a", true), DropTable{2}, CreateTable{3, "orders"},
                        row(3, "1", "a", true)}));
  const auto named_a = [&](TableId table, const char* key) {
    const auto found = catalog.find(table)->index.find({"p", key});
    return found.row.has_value() && found.row->find("a") == ValueView::of_int32(7);
  };
  CHECK_FALSE(named_a(1, "1"));
  CHECK(named_a(1, "2"));
  CHECK(named_a(1, "3"));
  CHECK(named_a(3, "1"));
  CHECK(verify_catalog(catalog).empty());
}

TEST_CASE("hidden tables have no name, come and go with their table, and are last") {
  const TableId outbox = hidden_table_of(1, HiddenTable::outbox);
  Catalog catalog;
  catalog.apply(commit({CreateTable{1, "people"}, SetSynced{1, true}, put(outbox, "a")}));
  CHECK(catalog.find("people")->synced);
  CHECK(catalog.find("") == nullptr);
  CHECK(catalog.identities_by_name().size() == 1);
  CHECK(catalog.tables().size() == 2);
  CHECK(catalog.find_hidden(1, HiddenTable::bases) == nullptr);
  CHECK(catalog.find_hidden(1, HiddenTable::outbox)->index.row_count() == 1);
  Catalog before = catalog;
  const TableId unknown = hidden_table_of(2, HiddenTable{hidden_table_kind_mask});
  catalog.apply(
      commit({CreateTable{2, "orders"}, SetSynced{2, true}, put(unknown, "a"),
              put(hidden_table_of(2, HiddenTable::outbox), "a"), CreateTable{3, "cities"}}));
  CHECK(catalog.tables()[2]->id() == 3);
  CHECK(catalog.find(unknown)->index.row_count() == 1);
  CHECK(verify_catalog(catalog).empty());
  catalog.apply(commit({SetSynced{2, false}}));
  CHECK_FALSE(catalog.find("orders")->synced);
  CHECK(catalog.find_hidden(2, HiddenTable::outbox) == nullptr);
  CHECK(catalog.find(unknown) == nullptr);
  CHECK(catalog.find(outbox)->index.row_count() == 1);
  CHECK(verify_catalog(catalog).empty());
  catalog.apply(commit({DropTable{1}}));
  CHECK(catalog.find(outbox) == nullptr);
  CHECK(verify_catalog(catalog).empty());
  CHECK(before.find(outbox)->index.row_count() == 1);
  CHECK(verify_catalog(before).empty());
}

TEST_CASE("a commit from storage changes hidden tables only while their table is synced") {
  const TableId outbox = hidden_table_of(3, HiddenTable::outbox);
  Catalog catalog;
  catalog.apply(commit({CreateTable{3, "people"}}));
  const auto allows = [&](std::vector<Mutation> mutations) {
    return catalog.check_commit(commit(std::move(mutations))).empty();
  };
  CHECK_FALSE(allows({put(outbox, "a")}));
  CHECK(allows({SetSynced{3, true}, put(outbox, "a")}));
  CHECK_FALSE(allows({SetSynced{3, false}}));
  CHECK_FALSE(allows({SetSynced{3, true}, SetSynced{3, true}}));
  CHECK_FALSE(allows({SetSynced{4, true}}));
  CHECK(allows({CreateTable{4, "orders"}, SetSynced{4, true}, CreateTable{5, "cities"}}));
  catalog.apply(commit({SetSynced{3, true}}));
  CHECK(allows({put(outbox, "a"), put(3, "a"), put(outbox, "b")}));
  CHECK(allows({CreateTable{4, "orders"}}));
  CHECK_FALSE(allows({SetSynced{3, true}}));
  CHECK_FALSE(allows({SetSynced{3, false}, put(outbox, "a")}));
  CHECK_FALSE(allows({DropTable{3}, put(outbox, "a")}));
  CHECK_FALSE(allows({put(outbox, "a"), SetSynced{3, false}, put(outbox, "a")}));
}

TEST_CASE("a commit from storage is checked before it is applied") {
  Catalog catalog;
  catalog.apply(commit({CreateTable{3, "people"}}));
  CHECK(catalog.check_commit(commit({put(3, "a")})).empty());
  CHECK(
      catalog.check_commit(commit({DropTable{3}, CreateTable{4, "people"}, put(4, "a")})).empty());
  CHECK_FALSE(catalog.check_commit(commit({put(4, "a")})).empty());
  CHECK_FALSE(catalog.check_commit(commit({CreateTable{4, "PEOPLE"}})).empty());
  CHECK_FALSE(catalog.check_commit(commit({CreateTable{2, "orders"}})).empty());
  CHECK_FALSE(catalog.check_commit(commit({CreateTable{4, "a"}})).empty());
  CHECK_FALSE(catalog.check_commit(commit({DropTable{3}, put(3, "a")})).empty());
  CHECK_FALSE(
      catalog.check_commit(commit({CreateTable{4, "orders"}, CreateTable{5, "Orders"}})).empty());
  CHECK_FALSE(catalog.check_commit(commit({DropTable{3}, DropTable{3}})).empty());
}

}  // namespace entitable
