#include "core/query/bound_filter.h"

#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/filter/evaluate.h"

namespace entitable {
namespace {

bool stands(int side, Ordering ordering) {
  return ordering == Ordering::less      ? side < 0
         : ordering == Ordering::greater ? side > 0
                                         : side == 0;
}

bool holds_by_name(const FilterNode& node, const RowView& row) {
  const std::optional<ValueView> value = row.find(node.property);
  if (!value.has_value()) return false;
  if (node.kind == FilterKind::flag) return value->type() == EdmType::boolean && value->boolean();
  return compare_property(*value, node.op, node.literal.view());
}

}  // namespace

// ---- Testing ----

// The sign of an ordered text against its literal.
template <BoundFilter::TestKind kind>
int BoundFilter::side(const Test& test, const RowView& row) {
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
    return compare_utf16(row.row(), test.text);
  }
}

// Bytes of a value that stands alone in the fixed part of a row; 0: it is not such a one.
template <BoundFilter::TestKind kind>
constexpr std::uint32_t BoundFilter::width() {
  return kind == TestKind::boolean                              ? 1
         : kind == TestKind::int32                              ? 4
         : kind == TestKind::int64 || kind == TestKind::float64 ? 8
                                                                : 0;
}

// REQUIRES: width<kind>() != 0.
template <BoundFilter::TestKind kind>
bool BoundFilter::value_holds(const Test& test, const char* value) {
  const auto among = [&test](std::int64_t integer) {
    return static_cast<std::uint64_t>(integer) - test.integers.low <= test.integers.span;
  };
  if constexpr (kind == TestKind::int32) {
    return among(row_layout::load<std::int32_t>(value));
  } else if constexpr (kind == TestKind::int64) {
    return among(row_layout::load<std::int64_t>(value));
  } else if constexpr (kind == TestKind::boolean) {
    return among(*value != 0);
  } else {
    static_assert(kind == TestKind::float64);
    const auto number = row_layout::load<double>(value);
    return test.numbers.low <= number && number <= test.numbers.high;
  }
}

template <BoundFilter::TestKind kind>
bool BoundFilter::holds_as(const Test& test, const RowView& row) {
  if constexpr (width<kind>() != 0) {
    return value_holds<kind>(test, row.bytes_at(test.slot));
  } else if constexpr (kind == TestKind::same_text) {
    return same_text(row.text(test.slot), test.text);
  } else if constexpr (kind == TestKind::same_partition) {
    return same_text(row.partition(), test.text);
  } else if constexpr (kind == TestKind::same_row) {
    return same_text(row.row(), test.text);
  } else if constexpr (kind == TestKind::by_name) {
    return holds_by_name(*test.node, row);
  } else {
    return stands(side<kind>(test, row), test.ordering);
  }
}

// Calls use.operator()<kind>(): what is known of a kind when compiled is settled once.
template <typename Use>
auto BoundFilter::with_kind(TestKind kind, Use use) {
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
  return with_kind(test.kind, [&]<TestKind kind>() { return holds_as<kind>(test, row); });
}

// Out of the loop of next_by(), whose rows would otherwise have to be in memory.
[[gnu::noinline]] bool BoundFilter::matches_from(Target at, const RowRun& run,
                                                 std::size_t position) const {
  return matches_from(at, run[position]);
}

void BoundFilter::prepare(RowRun& run) const {
  if (always() || never()) return;
  const Test& first = tests_[entry_];
  const std::uint32_t width =
      with_kind(first.kind, []<TestKind kind>() { return BoundFilter::width<kind>(); });
  if (width != 0) run.find_values(first.slot, width);
}

// The first test decides most rows: its kind is known here, so that a row it fails costs a few
// loads.
template <BoundFilter::TestKind kind>
std::size_t BoundFilter::next_by(const RowRun& run, std::size_t from) const {
  const Test first = tests_[entry_];
  const RowRun rows = run;  // these two are copies that can stay in registers
  if constexpr (width<kind>() != 0) {
    const char* const values = rows.values();
    if (values != nullptr && first.if_fails == reject) return next_value<kind>(run, from);
  }
  for (std::size_t at = from; at < rows.size(); ++at) {
    const Target then = holds_as<kind>(first, rows[at]) ? first.if_holds : first.if_fails;
    if (then != reject && (then == accept || matches_from(then, run, at))) return at;
  }
  return rows.size();
}

// The same where values lie together and those for which the test fails are out: most time goes
// here, and it goes without a look at the rows.
template <BoundFilter::TestKind kind>
std::size_t BoundFilter::next_value(const RowRun& run, std::size_t from) const {
  const Test first = tests_[entry_];
  const std::size_t size = run.size();
  const char* value = run.values() + from * width<kind>();
  for (std::size_t at = from; at < size; ++at, value += width<kind>()) {
    if (!value_holds<kind>(first, value)) continue;
    if (first.if_holds == accept || matches_from(first.if_holds, run, at)) return at;
  }
  return size;
}

std::size_t BoundFilter::next(const RowRun& run, std::size_t from) const {
  if (always()) return from;
  if (never()) return run.size();
  return with_kind(tests_[entry_].kind, [&]<TestKind kind>() { return next_by<kind>(run, from); });
}

// ---- All shapes ----

ShapeFilters::ShapeFilters(const Filter& filter, const std::vector<bool>& implied)
    : filter_(filter), implied_(implied) {}

bool ShapeFilters::knows_shapes() const {
  const bool generic = !bound_.empty() && bound_[generic_shape_id] != nullptr;
  return by_name_ == nullptr && !generic;
}

const BoundFilter& ShapeFilters::bind(const Shape& shape) {
  if (tests_ >= bound_tests_max) {
    if (by_name_ == nullptr) by_name_ = std::make_unique<BoundFilter>(filter_, implied_);
    return *by_name_;
  }
  if (shape.id() >= bound_.size()) bound_.resize(shape.id() + 1);
  bound_[shape.id()] = std::make_unique<BoundFilter>(filter_, implied_, shape);
  shapes_.push_back(&shape);
  tests_ += 1 + bound_[shape.id()]->size();
  return *bound_[shape.id()];
}

}  // namespace entitable
