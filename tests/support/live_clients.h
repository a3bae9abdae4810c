// Clients of live queries and of the change feed, as simple as possible: sorted lists of entities
// to which deltas and batches are applied.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/limits.h"
#include "core/store/live_queries.h"
#include "tests/support/catch.h"
#include "tests/support/model_store.h"
#include "tests/support/test_host.h"

namespace entitable::test {

// The client of one watch.
class WatchClient {
 public:
  WatchClient(Store& store, std::string table, WatchQuery query)
      : table_(std::move(table)), query_(std::move(query)) {
    id_ = LiveQueries(store).open_watch(table_, query_);
  }

  WatchId id() const { return id_; }
  bool is_complete() const { return complete_; }
  const std::vector<Entity>& rows() const { return rows_; }
  bool drops_leaves = false;  // the canary: ignores rows that leave

  // `rows`: TakenChanges::rows.
  void apply(const WatchDelta& delta, const ListedRows& rows) {
    REQUIRE(delta.watch == id_);
    complete_ = delta.complete;
    if (delta.reset) {
      REQUIRE(delta.rows.empty());
      REQUIRE(!delta.complete);
      rows_.clear();
      return;
    }
    REQUIRE(!delta.rows.empty());
    for (std::size_t i = 0; i < delta.rows.size(); ++i) {
      const ListedRow& row = rows.at(delta.rows[i].row);
      if (i > 0) {
        REQUIRE(compare(rows.at(delta.rows[i - 1].row).key_view(), row.key_view()) < 0);
      }
      apply(delta.rows[i].kind, row);
    }
  }

  // Reads the next rows. Returns whether there may be more.
  bool read(Store& store, const TestHost& host, std::uint32_t rows_max) {
    const auto answer =
        host.with_parts(store, [&] { return LiveQueries(store).read_watch(id_, rows_max); });
    if (const auto* error = std::get_if<Error>(&answer)) {
      REQUIRE(error->code == ErrorCode::table_not_found);
      REQUIRE(rows_.empty());
      return false;
    }
    const auto& page = std::get<WatchPage>(answer);
    REQUIRE(page.page.rows.size() <= rows_max);
    REQUIRE(page.position == store.position());
    add(page);
    return !complete_;
  }

  void add(const WatchPage& page) {
    for (const RowView& row : page.page.rows) rows_.push_back(row.materialize());
    complete_ = page.complete;
  }

  // Returns whether the rows are those that the query returns now, with their timestamps, which
  // decide their ETags. REQUIRES: is_complete(), or the table does not exist.
  bool equals_query(Store& store, const TestHost& host) const {
    std::vector<Entity> expected;
    Query query;
    query.filter = query_.filter;
    if (query_.from.has_value()) query.from = Continuation{*query_.from};
    const std::size_t limit = query_.limit.value_or(UINT32_MAX);
    do {
      query.top = static_cast<std::uint32_t>(
          std::min<std::size_t>(limits::page_rows_max, limit - expected.size()));
      const auto answer = host.with_parts(store, [&] { return store.query(table_, query); });
      const auto* page = std::get_if<Page>(&answer);
      if (page == nullptr) break;  // there is no such table
      for (const RowView& row : page->rows) expected.push_back(row.materialize());
      query.from = page->next;
    } while (query.from.has_value() && expected.size() < limit);
    return std::equal(rows_.begin(), rows_.end(), expected.begin(), expected.end(),
                      [](const Entity& a, const Entity& b) { return sorted(a) == sorted(b); });
  }

 private:
  void apply(DeltaKind kind, const ListedRow& row) {
    const KeyView key = row.key_view();
    const auto at = std::lower_bound(
        rows_.begin(), rows_.end(), key,
        [](const Entity& entity, const KeyView& k) { return compare(entity.key.view(), k) < 0; });
    const bool found = at != rows_.end() && compare(at->key.view(), key) == 0;
    if (kind == DeltaKind::leave) {
      if (drops_leaves) return;
      REQUIRE(found);
      rows_.erase(at);
    } else if (found) {
      if (!drops_leaves) REQUIRE(kind == DeltaKind::update);
      *at = row.row->materialize();
    } else {
      if (!drops_leaves) REQUIRE(kind == DeltaKind::enter);
      rows_.insert(at, row.row->materialize());
    }
  }

  std::string table_;
  WatchQuery query_;
  WatchId id_ = 0;
  bool complete_ = false;
  std::vector<Entity> rows_;  // in key order
};

// A reader of the change feed, of all or some tables and keys: keeps a copy of their content.
class FeedClient {
 public:
  // Starts with the present content. REQUIRES: there is no candidate, and the query has no filter.
  FeedClient(Store& store, const TestHost& host, const FeedQuery& query = {}) : selection_(query) {
    const std::optional<FeedId> id = LiveQueries(store).open_feed(query);
    REQUIRE(id.has_value());
    id_ = *id;
    read_again(store, host);
    opened_at_ = position_;
  }

  FeedId id() const { return id_; }

  // Applies a batch, and checks each change against the content before it.
  void apply(Store& store, const TestHost& host, const ChangeBatch& batch) {
    if (batch.unknown) {
      REQUIRE(batch.rows.empty());
      REQUIRE(batch.tables.empty());
      REQUIRE(batch.position == store.position());
      return read_again(store, host);
    }
    if (batch.position <= opened_at_) return;
    REQUIRE(batch.position > position_);
    REQUIRE((!batch.rows.empty() || !batch.tables.empty()));
    position_ = batch.position;
    for (const RowChange& change : batch.rows) {
      if (selection_.accepts(change)) apply(change);
    }
    for (const TableChange& change : batch.tables) {
      if (!selection_.accepts(change)) continue;
      const std::string& table = change.table->name.folded();
      REQUIRE(tables_.count(table) == (change.created ? 0 : 1));
      change.created ? static_cast<void>(tables_[table]) : static_cast<void>(tables_.erase(table));
    }
  }

  bool equals_store(Store& store, const TestHost& host) const {
    return tables_ == content_of(store, host);
  }

 private:
  using Rows = std::map<std::pair<std::string, std::string>, Entity>;
  using Tables = std::map<std::string, Rows>;

  void apply(const RowChange& change) {
    REQUIRE(tables_.count(change.table->name.folded()) == 1);
    Rows& rows = tables_[change.table->name.folded()];
    const std::pair<std::string, std::string> key(change.key.partition, change.key.row);
    const auto at = rows.find(key);
    REQUIRE((at != rows.end()) == change.before.has_value());
    if (at != rows.end()) REQUIRE(sorted(change.before->view().materialize()) == at->second);
    REQUIRE(change.after.has_value() == (change.op() != ChangeOp::remove));
    rows.erase(key);
    if (!change.after.has_value()) return;
    Entity after = sorted(change.after->materialize());
    REQUIRE(after.key == change.key);
    rows.emplace(key, std::move(after));
  }

  Tables content_of(Store& store, const TestHost& host) const {
    Tables tables;
    const auto listed = store.tables(Filter{}, 1000, "");
    REQUIRE(listed.ok());
    for (const std::string& name : listed->names) {
      const std::string folded = fold_table_name(name);
      if (!selection_.covers_table(folded)) continue;
      Rows& rows = tables[folded];
      Query query;
      do {
        const auto answer = host.with_parts(store, [&] { return store.query(name, query); });
        const Page& page = std::get<Page>(answer);
        for (const RowView& row : page.rows) {
          if (!selection_.covers(folded, row.key())) continue;
          rows.emplace(std::pair(std::string(row.partition()), std::string(row.row_key())),
                       sorted(row.materialize()));
        }
        query.from = page.next;
      } while (query.from.has_value());
    }
    return tables;
  }

  void read_again(Store& store, const TestHost& host) {
    tables_ = content_of(store, host);
    position_ = store.position();
  }

  FeedSelection selection_;
  FeedId id_ = 0;
  FeedPosition opened_at_;  // batches up to this one are not for it
  FeedPosition position_;
  Tables tables_;
};

}  // namespace entitable::test
