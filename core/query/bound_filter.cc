#include "core/query/bound_filter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/filter/evaluate.h"

namespace entitable {
namespace {

bool is_ordering(int side, Ordering ordering) {
  return ordering == Ordering::less      ? side < 0
         : ordering == Ordering::greater ? side > 0
                                         : side == 0;
}

bool holds_by_name(const FilterNode& node, const RowView& row) {
  const std::optional<ValueView> value = row.find(node.property);
  if (!value.has_value()) return false;
  if (node.kind == FilterKind::flag) return value->type() == EdmType::boolean && value->boolean();
  return comparison_holds(*value, node.op, node.literal.view());
}

}  // namespace

// ---- Testing ----

// Compares the row's value with the test's literal. Returns a negative number, 0 or a positive
// number.
template <BoundFilter::TestKind kind>
int BoundFilter::compare_with_literal(const Test& test, const RowView& row) {
  if constexpr (kind == TestKind::text_units) {
    return compare_utf16(row.text(test.slot), test.text);
  } else if constexpr (kind == TestKind::text_bytes) {
    return row.text(test.slot).compare(test.text);
  } else if constexpr (kind == TestKind::guid) {
    return row.guid(test.slot).compare(test.text);
  } else if constexpr (kind == TestKind::partition) {
    return compare_utf16(row.partition(), test.text);
  } else {
    static_assert(kind == TestKind::row);
    return compare_utf16(row.row_key(), test.text);
  }
}

// Returns the form of the cached column that a test of this kind can read
// (core/index/column_cache.h), or nothing if such a test must read the rows.
template <BoundFilter::TestKind kind>
constexpr std::optional<ColumnForm> BoundFilter::column_form() {
  if constexpr (kind == TestKind::boolean) {
    return ColumnForm::one_byte;
  } else if constexpr (kind == TestKind::int32) {
    return ColumnForm::four_bytes;
  } else if constexpr (kind == TestKind::int64 || kind == TestKind::float64) {
    return ColumnForm::eight_bytes;
  } else if constexpr (kind == TestKind::same_text) {
    return ColumnForm::text_digest;
  } else {
    return std::nullopt;
  }
}

// Returns whether the test holds for a value of a column in the form column_form<kind>(). If the
// value is a digest, true means only that the test may hold.
template <BoundFilter::TestKind kind>
bool BoundFilter::value_holds(const Test& test, const char* value) {
  const auto in_range = [&test](std::int64_t integer) {
    return static_cast<std::uint64_t>(integer) - test.integers.low <= test.integers.span;
  };
  if constexpr (kind == TestKind::int32) {
    return in_range(row_layout::load<std::int32_t>(value));
  } else if constexpr (kind == TestKind::int64) {
    return in_range(row_layout::load<std::int64_t>(value));
  } else if constexpr (kind == TestKind::boolean) {
    return in_range(*value != 0);
  } else if constexpr (kind == TestKind::same_text) {
    return row_layout::load<std::uint32_t>(value) == test.digest;
  } else {
    static_assert(kind == TestKind::float64);
    const auto number = row_layout::load<double>(value);
    return test.numbers.low <= number && number <= test.numbers.high;
  }
}

template <BoundFilter::TestKind kind>
bool BoundFilter::holds_as(const Test& test, const RowView& row) {
  if constexpr (kind == TestKind::same_text) {
    return same_text(row.text(test.slot), test.text);
  } else if constexpr (column_form<kind>().has_value()) {
    return value_holds<kind>(test, row.value_address(test.slot));
  } else if constexpr (kind == TestKind::same_partition) {
    return same_text(row.partition(), test.text);
  } else if constexpr (kind == TestKind::same_row) {
    return same_text(row.row_key(), test.text);
  } else if constexpr (kind == TestKind::by_name) {
    return holds_by_name(*test.node, row);
  } else {
    return is_ordering(compare_with_literal<kind>(test, row), test.ordering);
  }
}

// Returns use.operator()<kind>(): turns the kind into a template argument.
template <typename Use>
auto BoundFilter::dispatch_on_kind(TestKind kind, Use use) {
  switch (kind) {
    case TestKind::int32:
      return use.template operator()<TestKind::int32>();
    case TestKind::int64:
      return use.template operator()<TestKind::int64>();
    case TestKind::float64:
      return use.template operator()<TestKind::float64>();
    case TestKind::boolean:
      return use.template operator()<TestKind::boolean>();
    case TestKind::same_text:
      return use.template operator()<TestKind::same_text>();
    case TestKind::text_units:
      return use.template operator()<TestKind::text_units>();
    case TestKind::text_bytes:
      return use.template operator()<TestKind::text_bytes>();
    case TestKind::guid:
      return use.template operator()<TestKind::guid>();
    case TestKind::same_partition:
      return use.template operator()<TestKind::same_partition>();
    case TestKind::partition:
      return use.template operator()<TestKind::partition>();
    case TestKind::same_row:
      return use.template operator()<TestKind::same_row>();
    case TestKind::row:
      return use.template operator()<TestKind::row>();
    case TestKind::by_name:
      return use.template operator()<TestKind::by_name>();
  }
  check_failed("a test has a kind", __FILE__, __LINE__);
}

bool BoundFilter::holds(const Test& test, const RowView& row) {
  return dispatch_on_kind(test.kind, [&]<TestKind kind>() { return holds_as<kind>(test, row); });
}

// Tests a row with cached columns only, from test `at` on. A digest can be equal although the texts
// differ. If an unequal text would reject the row, the tests continue as if the texts were equal: a
// reject is then certain, but an accept is only `maybe`. Otherwise the result is `maybe` at once.
// Not inlined, because the loops of next_candidate() would then keep their variables in memory
// instead of in registers.
[[gnu::noinline]] BoundFilter::MatchResult BoundFilter::match_columns(Target at,
                                                                      const RowBatch& batch,
                                                                      std::size_t position) const {
  bool sure = true;
  while (at < reject) {
    const Test& test = tests_[at];
    const char* const values = batch.values(test.column);
    if (values == nullptr) return MatchResult::maybe;
    const bool holds = dispatch_on_kind(test.kind, [&]<TestKind kind>() {
      if constexpr (column_form<kind>().has_value()) {
        return value_holds<kind>(test, values + position * bytes_per_value(*column_form<kind>()));
      } else {
        return false;  // a test of this kind has no column
      }
    });
    if (holds && test.kind == TestKind::same_text) {
      if (test.if_fails != reject) return MatchResult::maybe;
      sure = false;
    }
    at = holds ? test.if_holds : test.if_fails;
  }
  return at == reject ? MatchResult::no : sure ? MatchResult::yes : MatchResult::maybe;
}

[[gnu::noinline]] bool BoundFilter::matches_from_noinline(Target at, const RowView& row) const {
  return matches_from(at, row);
}

// Chooses the columns to be cached: those of the tests that rows reach first.
void BoundFilter::choose_columns() {
  for (auto test = tests_.rbegin(); test != tests_.rend(); ++test) {
    const auto form = dispatch_on_kind(
        test->kind, []<TestKind kind>() { return BoundFilter::column_form<kind>(); });
    if (!form.has_value()) continue;
    const auto same = [test](const TestedColumn& use) { return use.slot == test->slot; };
    const auto found = std::find_if(columns_.begin(), columns_.end(), same);
    test->column = static_cast<std::uint32_t>(found - columns_.begin());
    if (found == columns_.end() && columns_.size() < cached_columns_max) {
      columns_.push_back({test->slot, *form});
    }
  }
}

void BoundFilter::prepare_batch(RowBatch& batch) const {
  for (std::uint32_t i = 0; i < columns_.size(); ++i) {
    batch.find_cached_values(i, columns_[i].slot, columns_[i].form);
  }
}

// Returns the next candidate by reading the rows. The first test decides most rows, so its kind is
// a template parameter: a row that fails this test costs only a few loads.
template <BoundFilter::TestKind kind>
BoundFilter::Candidate BoundFilter::next_in_rows(const RowBatch& batch, std::size_t from) const {
  const Test first = tests_[entry_];
  const RowBatch rows = batch;  // both are copies that can stay in registers
  for (std::size_t at = from; at < rows.size(); ++at) {
    const RowView row = rows[at];
    const Target target = holds_as<kind>(first, row) ? first.if_holds : first.if_fails;
    if (target != reject && (target == accept || matches_from_noinline(target, row)))
      return {at, true};
  }
  return {rows.size(), true};
}

// Returns the next candidate by reading the cached column of the first test. A scan spends most of
// its time here, so the loop does not read the rows.
template <BoundFilter::TestKind kind>
BoundFilter::Candidate BoundFilter::next_by_column(const RowBatch& batch, const char* values,
                                                   std::size_t from) const {
  constexpr std::size_t width = bytes_per_value(*column_form<kind>());
  const Test first = tests_[entry_];
  // If a digest is equal, match_columns() starts with this test again, because it must know that
  // the match is not sure.
  const Target target_if_holds = kind == TestKind::same_text ? entry_ : first.if_holds;
  const std::size_t size = batch.size();
  for (std::size_t at = from; at < size; ++at) {
    if (first.if_fails == reject) {
      while (!value_holds<kind>(first, values + at * width)) {
        if (++at == size) return {size, true};
      }
    }
    const bool holds = value_holds<kind>(first, values + at * width);
    const Target target = holds ? target_if_holds : first.if_fails;
    if (target == reject) continue;
    const MatchResult match =
        target == accept ? MatchResult::yes : match_columns(target, batch, at);
    if (match != MatchResult::no) return {at, match == MatchResult::yes};
  }
  return {size, true};
}

BoundFilter::Candidate BoundFilter::next_candidate(const RowBatch& batch, std::size_t from) const {
  if (accepts_all()) return {from, true};
  if (rejects_all()) return {batch.size(), true};
  const char* const values = batch.values(tests_[entry_].column);
  return dispatch_on_kind(tests_[entry_].kind, [&]<TestKind kind>() {
    if constexpr (column_form<kind>().has_value()) {
      if (values != nullptr) return next_by_column<kind>(batch, values, from);
    }
    return next_in_rows<kind>(batch, from);
  });
}

// ---- All shapes ----

BoundFilterCache::BoundFilterCache(const Filter& filter, const std::vector<char>& implied,
                                   std::size_t tests_max)
    : filter_(filter), implied_(implied), tests_max_(tests_max) {}

bool BoundFilterCache::shapes_complete() const {
  const bool generic = !bound_.empty() && bound_[generic_shape_id] != nullptr;
  return by_name_ == nullptr && !generic;
}

const BoundFilter& BoundFilterCache::bind(const Shape& shape) {
  if (tests_ >= tests_max_ || shape.id() >= tests_max_) {
    if (by_name_ == nullptr) by_name_ = std::make_unique<BoundFilter>(filter_, implied_);
    return *by_name_;
  }
  if (shape.id() >= bound_.size()) bound_.resize(shape.id() + 1);
  bound_[shape.id()] = std::make_unique<BoundFilter>(filter_, implied_, shape);
  shapes_.push_back(&shape);
  tests_ += 1 + bound_[shape.id()]->test_count();
  return *bound_[shape.id()];
}

}  // namespace entitable
