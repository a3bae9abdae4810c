#include "core/live/watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"

namespace entitable {
namespace {

// How many tests the bound filters of a watch may have: a few kilobytes. There may be thousands of
// watches.
constexpr std::size_t watch_tests_max = 128;

// Returns the ranges of the plan without the keys below `from`.
std::vector<KeyRange> ranges_from(const Plan& plan, const std::optional<EntityKey>& from) {
  if (!from.has_value()) return plan.ranges;
  std::vector<KeyRange> ranges;
  for (const KeyRange& range : plan.ranges) {
    KeyRange rest = intersect(range, KeyRange{*from, std::nullopt});
    if (!rest.empty()) ranges.push_back(std::move(rest));
  }
  return ranges;
}

}  // namespace

void Watch::Ranges::add(const std::vector<KeyRange>& ranges) {
  list.reserve(ranges.size());  // so that no range is in the tree but not in the list
  for (const KeyRange& range : ranges) list.push_back(tree.add(range, watch));
}

Watch::Ranges::~Ranges() {
  for (const KeyRange* range : list) tree.remove(range, watch);
}

Watch::Watch(WatchId id, WatchQuery query, RangeTree& ranges) : id_(id), ranges_{ranges, this} {
  ENTITABLE_CHECK(!query.limit.has_value() || *query.limit > 0);
  Plan plan = make_plan(query.filter);
  ranges_.add(ranges_from(plan, query.from));
  if (plan.residual)
    conditions_ = std::make_unique<Conditions>(std::move(query.filter), std::move(plan.implied));
  if (query.limit.has_value()) limit_ = std::make_unique<Limit>(Limit{*query.limit});
  reset();
}

bool Watch::covers_all_keys() const {
  return ranges_.list.size() == 1 && *ranges_.list.front() == KeyRange();
}

void Watch::reset() {
  if (!next_) next_ = std::make_unique<EntityKey>();
  *next_ = EntityKey();
  if (limit_) limit_->keys.clear();
  if (conditions_) conditions_->filters.reset();
}

bool Watch::matches(const RowView& row) {
  if (!conditions_) return true;
  if (!conditions_->filters.has_value())
    conditions_->filters.emplace(conditions_->filter, conditions_->implied, watch_tests_max);
  return conditions_->filters->filter_for(row.shape()).matches(row);
}

// A write of properties that the client does not select is an update, too: it changes the ETag,
// which is part of each row that the client has, as of each row that the query returns.
std::optional<DeltaKind> Watch::match(const RowView* before, const RowView* after) {
  ENTITABLE_CHECK(before != nullptr || after != nullptr);
  const KeyView key = before != nullptr ? before->key() : after->key();
  if (next_ && compare(key, next_->view()) >= 0) return std::nullopt;
  const bool was_in = before != nullptr && matches(*before);
  const bool is_in = after != nullptr && matches(*after);
  if (was_in != is_in) return is_in ? DeltaKind::enter : DeltaKind::leave;
  return is_in ? std::optional(DeltaKind::update) : std::nullopt;
}

void Watch::finish(WatchDelta& delta, ListedRows& rows) {
  const auto moves = [](const DeltaRow& row) { return row.kind != DeltaKind::update; };
  if (limit_ && std::any_of(delta.rows.begin(), delta.rows.end(), moves)) {
    merge_into_keys(delta, rows);
    if (limit_->keys.size() > limit_->rows_max) drop_last_keys(delta, rows);
  }
  delta.complete = is_complete();
}

void Watch::merge_into_keys(const WatchDelta& delta, const ListedRows& rows) {
  std::vector<EntityKey> keys;
  keys.reserve(limit_->keys.size());
  auto old = limit_->keys.begin();
  for (const DeltaRow& row : delta.rows) {
    if (row.kind == DeltaKind::update) continue;
    const KeyView key = rows[row.row].key_view();
    while (old != limit_->keys.end() && compare(old->view(), key) < 0)
      keys.push_back(std::move(*old++));
    if (row.kind == DeltaKind::enter) {
      keys.emplace_back(key.partition, key.row);
    } else {
      ENTITABLE_CHECK(old != limit_->keys.end() && compare(old->view(), key) == 0);
      ++old;
    }
  }
  keys.insert(keys.end(), std::make_move_iterator(old),
              std::make_move_iterator(limit_->keys.end()));
  limit_->keys = std::move(keys);
}

// Makes the client's last rows leave, as many as exceed the limit. The delta may contain them, if
// they entered or were updated.
void Watch::drop_last_keys(WatchDelta& delta, ListedRows& rows) {
  std::vector<EntityKey>& keys = limit_->keys;
  const auto first = keys.begin() + static_cast<std::ptrdiff_t>(limit_->rows_max);
  const auto order = [&rows](const DeltaRow& row, const EntityKey& key) {
    return compare(rows[row.row].key_view(), key.view());
  };
  next_ = std::make_unique<EntityKey>(*first);
  const auto tail =
      std::partition_point(delta.rows.begin(), delta.rows.end(),
                           [&](const DeltaRow& row) { return order(row, *first) < 0; });
  const std::vector<DeltaRow> changed(tail, delta.rows.end());
  delta.rows.erase(tail, delta.rows.end());
  auto row = changed.begin();
  for (auto key = first; key != keys.end(); ++key) {
    // Rows of the delta that are not among the keys leave.
    while (row != changed.end() && order(*row, *key) < 0) delta.rows.push_back(*row++);
    if (row == changed.end() || order(*row, *key) != 0) {
      delta.rows.push_back({DeltaKind::leave, static_cast<std::uint32_t>(rows.size())});
      rows.push_back({std::move(*key), std::nullopt});
    } else {
      if (row->kind == DeltaKind::update) delta.rows.push_back({DeltaKind::leave, row->row});
      ++row;
    }
  }
  delta.rows.insert(delta.rows.end(), row, changed.end());
  keys.erase(first, keys.end());
}

// Returns a plan of the ranges that were not read to their end.
Plan Watch::plan_rest() const {
  const auto first =
      std::partition_point(ranges_.list.begin(), ranges_.list.end(), [this](const KeyRange* range) {
        return range->upper.has_value() && compare(range->upper->view(), next_->view()) <= 0;
      });
  Plan plan;
  for (auto range = first; range != ranges_.list.end(); ++range) plan.ranges.push_back(**range);
  if (conditions_) {
    plan.residual = true;
    plan.implied = conditions_->implied;
  }
  return plan;
}

std::variant<Page, PartsNeeded> Watch::read(const TableIndex& index, std::uint32_t rows_max,
                                            OnUnloaded on_unloaded, std::uint64_t rows_tested_max) {
  ENTITABLE_CHECK(rows_max > 0);
  if (is_complete()) return Page{index, {}, std::nullopt, 0};
  Query query;
  if (conditions_) query.filter = conditions_->filter;
  query.from = Continuation{*next_};
  query.top = rows_max;
  if (limit_) query.top = std::min(rows_max, limit_->rows_left());
  // A limit that becomes full needs no further row, so it is not searched for.
  const PageEnd page_end = limit_ ? PageEnd::after_last_row : PageEnd::before_next_row;
  auto answer = execute_plan(index, query, plan_rest(), on_unloaded, page_end, rows_tested_max);
  if (const Page* const page = std::get_if<Page>(&answer)) mark_read(*page);
  return answer;
}

// Allocates before it changes anything: the client does not get the page if memory runs out.
void Watch::mark_read(const Page& page) {
  std::optional<EntityKey> next;
  if (page.next.has_value()) next = page.next->next;
  if (limit_) {
    std::vector<EntityKey> keys;
    keys.reserve(page.rows.size());
    for (const RowView& row : page.rows) keys.emplace_back(row.partition(), row.row_key());
    limit_->keys.insert(limit_->keys.end(), std::make_move_iterator(keys.begin()),
                        std::make_move_iterator(keys.end()));
  }
  if (next.has_value()) {
    *next_ = std::move(*next);
  } else {
    next_.reset();
  }
}

}  // namespace entitable
