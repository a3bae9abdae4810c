// Tests which changes the reader of a feed wants.
#include "core/live/feed_selection.h"

#include "tests/core/live/live_testing.h"

namespace entitable {
namespace {

using test::filter_of;
using test::row_of;

Ref<TableIdentity> table_of(std::string_view name) {
  return make_ref<TableIdentity>(1, *TableName::parse(name));
}

// A change of row "a" of partition "p" in the table "People".
RowChange change_of(const std::optional<RowView>& before, const std::optional<RowView>& after) {
  RowChange change;
  change.table = table_of("People");
  change.key = EntityKey("p", "a");
  if (before.has_value()) change.before.emplace(*before);
  change.existed_before = before.has_value();
  change.exists_after = after.has_value();
  change.after = after;
  return change;
}

}  // namespace

TEST_CASE("the operation is what happened to the row") {
  const TableIndex index = test::index_of({row_of("a", 1)});
  const auto row = test::find(index, "a");
  CHECK(change_of(std::nullopt, row).op() == ChangeOp::insert);
  CHECK(change_of(row, row).op() == ChangeOp::update);
  CHECK(change_of(row, std::nullopt).op() == ChangeOp::remove);
}

TEST_CASE("a feed without conditions wants everything") {
  const TableIndex index = test::index_of({row_of("a", 1)});
  const FeedSelection feed({});
  CHECK(feed.covers("people", {"p", "a"}));
  CHECK(feed.accepts(change_of(std::nullopt, test::find(index, "a"))));
  CHECK(feed.accepts(TableChange{table_of("People"), true}));
}

TEST_CASE("a feed may want some tables and keys only") {
  FeedQuery query;
  query.tables = {"PEOPLE", "orders"};
  query.range = KeyRange::partition("p");
  const FeedSelection feed(std::move(query));
  CHECK(feed.covers("people", {"p", "a"}));
  CHECK(feed.covers("orders", {"p", "a"}));
  CHECK(!feed.covers("people", {"q", "a"}));
  CHECK(!feed.covers("other", {"p", "a"}));
  CHECK(feed.accepts(TableChange{table_of("Orders"), false}));
  CHECK(!feed.accepts(TableChange{table_of("other"), false}));
}

TEST_CASE("a filter must accept the row before or after the change") {
  const TableIndex index = test::index_of({row_of("a", 1)});
  const TableIndex later = test::index_of({row_of("a", 2)});
  const auto one = test::find(index, "a");
  const auto two = test::find(later, "a");
  FeedQuery query;
  query.filter = filter_of("n eq 2");
  FeedSelection moved(std::move(query));
  const FeedSelection feed(std::move(moved));
  CHECK(feed.accepts(change_of(one, two)));
  CHECK(feed.accepts(change_of(two, one)));
  CHECK(feed.accepts(change_of(two, std::nullopt)));
  CHECK(feed.accepts(change_of(std::nullopt, two)));
  CHECK(!feed.accepts(change_of(one, one)));
  CHECK(!feed.accepts(change_of(std::nullopt, one)));
}

TEST_CASE("a row before the change that is not known may be one that the filter accepts") {
  FeedQuery query;
  query.filter = filter_of("n eq 2");
  const FeedSelection feed(std::move(query));
  RowChange removed = change_of(std::nullopt, std::nullopt);
  removed.existed_before = true;
  CHECK(feed.accepts(removed));
}

}  // namespace entitable
