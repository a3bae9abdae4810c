#include "core/query/bound_filter.h"

#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/filter/evaluate.h"

namespace entitable {
namespace {

template <typename T>
Ordering order(T a, T b) {
  return a < b ? Ordering::less : b < a ? Ordering::greater : Ordering::equal;
}

Ordering order_of_numbers(double a, double b) {
  return a < b    ? Ordering::less
         : a > b  ? Ordering::greater
         : a == b ? Ordering::equal
                  : Ordering::unordered;
}

Ordering order_of_sign(int sign) {
  return order(sign, 0);
}

// Enough for eq and ne.
Ordering sameness(std::string_view a, std::string_view b) {
  return a == b ? Ordering::equal : Ordering::less;
}

std::uint8_t accepted_orderings(CompareOp op) {
  unsigned accepted = 0;
  for (const Ordering ordering :
       {Ordering::less, Ordering::equal, Ordering::greater, Ordering::unordered}) {
    if (holds(op, ordering)) accepted |= 1u << static_cast<unsigned>(ordering);
  }
  return static_cast<std::uint8_t>(accepted);
}

bool wants_order(CompareOp op) {
  return op != CompareOp::eq && op != CompareOp::ne;
}

bool holds_by_name(const FilterNode& node, const RowView& row) {
  const std::optional<ValueView> value = row.find(node.property);
  if (!value.has_value()) return false;
  if (node.kind == FilterKind::flag) return value->type() == EdmType::boolean && value->boolean();
  return compare_property(*value, node.op, node.literal.view());
}

// To the next row of another shape than run[from].
std::size_t pass_shape(const RowRun& run, std::size_t from, std::uint64_t& bytes) {
  const ShapeId shape = run[from].shape().id();
  std::size_t at = from;
  for (; at < run.size(); ++at) {
    const RowView row = run[at];
    if (row.fixed<std::uint16_t>(row_layout::shape_at) != shape) break;
    bytes += row.packed_bytes();
  }
  return at;
}

}  // namespace

// Turns the tree into tests, from its end to its start: when a node is bound, where it leads is
// bound already. A node that leads to the same place either way needs no test.
class BoundFilter::Binder {
 public:
  Binder(const Filter& filter, const std::vector<bool>& implied, const Shape* shape,
         BoundFilter& out)
      : filter_(filter), implied_(implied), shape_(shape), out_(out) {}

  void bind() {
    tasks_.push_back({static_cast<std::uint32_t>(filter_.nodes.size() - 1), accept, reject});
    while (!tasks_.empty()) {
      const Task task = tasks_.back();
      tasks_.pop_back();
      if (task.left_of_chain) {
        bind_left(task);
      } else {
        bind_node(task);
      }
    }
    out_.entry_ = start_;
  }

 private:
  struct Task {
    std::uint32_t node;
    Target if_holds;
    Target if_fails;
    bool left_of_chain = false;  // the right side is bound and starts at start_
  };

  void bind_node(const Task& task) {
    const FilterNode& node = filter_.nodes[task.node];
    const bool implied = task.node < implied_.size() && implied_[task.node];
    if (implied || task.if_holds == task.if_fails) {
      start_ = task.if_holds;
      return;
    }
    switch (node.kind) {
      case FilterKind::all_of:
      case FilterKind::any_of:
        tasks_.push_back({task.node, task.if_holds, task.if_fails, true});
        tasks_.push_back({node.right, task.if_holds, task.if_fails});
        return;
      case FilterKind::negation:
        tasks_.push_back({node.left, task.if_fails, task.if_holds});
        return;
      case FilterKind::comparison:
        bind_comparison(node, task);
        return;
      case FilterKind::flag:
        bind_flag(node, task);
        return;
      case FilterKind::constant:
        settle(node.literal.view().boolean(), task);
        return;
    }
  }

  void bind_left(const Task& task) {
    const FilterNode& node = filter_.nodes[task.node];
    if (node.kind == FilterKind::all_of) {
      tasks_.push_back({node.left, start_, task.if_fails});
    } else {
      tasks_.push_back({node.left, task.if_holds, start_});
    }
  }

  void settle(bool answer, const Task& task) { start_ = answer ? task.if_holds : task.if_fails; }

  void add(Test test, const Task& task) {
    test.if_holds = task.if_holds;
    test.if_fails = task.if_fails;
    start_ = static_cast<Target>(out_.tests_.size());
    out_.tests_.push_back(test);
  }

  void bind_comparison(const FilterNode& node, const Task& task) {
    const EdmType literal = node.literal.type();
    if (node.property == "PartitionKey" || node.property == "RowKey") {
      const bool partition = node.property == "PartitionKey";
      if (comparable(EdmType::string, literal) == Comparable::mismatch) {
        return settle(mismatch_answer(node.op), task);
      }
      const TestKind in_order = partition ? TestKind::partition : TestKind::row;
      const TestKind same = partition ? TestKind::same_partition : TestKind::same_row;
      return add(text_test(wants_order(node.op) ? in_order : same, node), task);
    }
    if (node.property == "Timestamp") {
      if (comparable(EdmType::date_time, literal) == Comparable::mismatch) {
        return settle(mismatch_answer(node.op), task);
      }
      return add(integer_test(TestKind::timestamp, node, 0), task);
    }
    if (shape_ == nullptr) return add(by_name(node), task);
    const std::optional<std::uint32_t> found = shape_->find(node.property);
    if (!found.has_value()) return settle(false, task);
    const Column& column = shape_->columns()[*found];
    if (comparable(column.type, literal) == Comparable::mismatch) {
      return settle(mismatch_answer(node.op), task);
    }
    add(column_test(column, node), task);
  }

  void bind_flag(const FilterNode& node, const Task& task) {
    if (node.property == "PartitionKey" || node.property == "RowKey" ||
        node.property == "Timestamp") {
      return settle(false, task);
    }
    if (shape_ == nullptr) return add(by_name(node), task);
    const std::optional<std::uint32_t> found = shape_->find(node.property);
    if (!found.has_value() || shape_->columns()[*found].type != EdmType::boolean) {
      return settle(false, task);
    }
    Test test = test_of(TestKind::boolean, CompareOp::eq, shape_->columns()[*found].slot);
    test.integer = 1;
    add(test, task);
  }

  static Test test_of(TestKind kind, CompareOp op, std::uint32_t slot) {
    Test test;
    test.kind = kind;
    test.accepted = accepted_orderings(op);
    test.slot = slot;
    return test;
  }

  static Test by_name(const FilterNode& node) {
    Test test;
    test.kind = TestKind::by_name;
    test.node = &node;
    return test;
  }

  static Test text_test(TestKind kind, const FilterNode& node, std::uint32_t slot = 0) {
    Test test = test_of(kind, node.op, slot);
    test.text = node.literal.view().bytes();
    return test;
  }

  static Test integer_test(TestKind kind, const FilterNode& node, std::uint32_t slot) {
    Test test = test_of(kind, node.op, slot);
    test.integer = node.literal.view().bits();
    return test;
  }

  // REQUIRES: the types are comparable. An Int32 literal widens to Int64, Int32 and Int64 to
  // Double.
  static Test column_test(const Column& column, const FilterNode& node) {
    const bool in_order = wants_order(node.op);
    switch (column.type) {
      case EdmType::string:
        return text_test(in_order ? TestKind::text_units : TestKind::same_text, node, column.slot);
      case EdmType::binary:
        return text_test(in_order ? TestKind::text_bytes : TestKind::same_text, node, column.slot);
      case EdmType::guid:
        return text_test(TestKind::guid, node, column.slot);
      case EdmType::boolean:
        return integer_test(TestKind::boolean, node, column.slot);
      case EdmType::int32:
        return integer_test(TestKind::int32, node, column.slot);
      case EdmType::date_time:
      case EdmType::int64:
        return integer_test(TestKind::int64, node, column.slot);
      case EdmType::float64: {
        Test test = integer_test(TestKind::float64, node, column.slot);
        const ValueView literal = node.literal.view();
        test.number = literal.type() == EdmType::float64 ? literal.float64()
                                                         : static_cast<double>(literal.bits());
        return test;
      }
    }
    check_failed("a column has a type", __FILE__, __LINE__);
  }

  const Filter& filter_;
  const std::vector<bool>& implied_;
  const Shape* shape_;  // null: any
  BoundFilter& out_;
  std::vector<Task> tasks_;
  Target start_ = accept;  // of what was bound last
};

BoundFilter::BoundFilter(const Filter& filter, const std::vector<bool>& implied,
                         const Shape& shape) {
  if (filter.empty()) return;
  Binder(filter, implied, shape.is_generic() ? nullptr : &shape, *this).bind();
}

BoundFilter::BoundFilter(const Filter& filter, const std::vector<bool>& implied) {
  if (filter.empty()) return;
  Binder(filter, implied, nullptr, *this).bind();
}

// ---- Testing ----

template <BoundFilter::TestKind kind>
Ordering BoundFilter::ordering(const Test& test, const RowView& row) {
  if constexpr (kind == TestKind::int32) {
    return order<std::int64_t>(row.fixed<std::int32_t>(test.slot), test.integer);
  } else if constexpr (kind == TestKind::int64) {
    return order(row.fixed<std::int64_t>(test.slot), test.integer);
  } else if constexpr (kind == TestKind::float64) {
    return order_of_numbers(row.fixed<double>(test.slot), test.number);
  } else if constexpr (kind == TestKind::boolean) {
    return order<std::int64_t>(row.fixed<std::uint8_t>(test.slot) != 0, test.integer);
  } else if constexpr (kind == TestKind::timestamp) {
    return order(row.timestamp(), test.integer);
  } else if constexpr (kind == TestKind::same_text) {
    return sameness(row.text(test.slot), test.text);
  } else if constexpr (kind == TestKind::text_units) {
    return order_of_sign(compare_utf16(row.text(test.slot), test.text));
  } else if constexpr (kind == TestKind::text_bytes) {
    return order_of_sign(row.text(test.slot).compare(test.text));
  } else if constexpr (kind == TestKind::guid) {
    return order_of_sign(row.guid(test.slot).compare(test.text));
  } else if constexpr (kind == TestKind::same_partition) {
    return sameness(row.partition(), test.text);
  } else if constexpr (kind == TestKind::partition) {
    return order_of_sign(compare_utf16(row.partition(), test.text));
  } else if constexpr (kind == TestKind::same_row) {
    return sameness(row.row(), test.text);
  } else {
    static_assert(kind == TestKind::row);
    return order_of_sign(compare_utf16(row.row(), test.text));
  }
}

template <BoundFilter::TestKind kind>
bool BoundFilter::holds_as(const Test& test, const RowView& row) {
  if constexpr (kind == TestKind::by_name) {
    return holds_by_name(*test.node, row);
  } else {
    const auto bit = static_cast<unsigned>(ordering<kind>(test, row));
    return ((test.accepted >> bit) & 1u) != 0;
  }
}

bool BoundFilter::holds(const Test& test, const RowView& row) {
  switch (test.kind) {
    case TestKind::int32:
      return holds_as<TestKind::int32>(test, row);
    case TestKind::int64:
      return holds_as<TestKind::int64>(test, row);
    case TestKind::float64:
      return holds_as<TestKind::float64>(test, row);
    case TestKind::boolean:
      return holds_as<TestKind::boolean>(test, row);
    case TestKind::timestamp:
      return holds_as<TestKind::timestamp>(test, row);
    case TestKind::same_text:
      return holds_as<TestKind::same_text>(test, row);
    case TestKind::text_units:
      return holds_as<TestKind::text_units>(test, row);
    case TestKind::text_bytes:
      return holds_as<TestKind::text_bytes>(test, row);
    case TestKind::guid:
      return holds_as<TestKind::guid>(test, row);
    case TestKind::same_partition:
      return holds_as<TestKind::same_partition>(test, row);
    case TestKind::partition:
      return holds_as<TestKind::partition>(test, row);
    case TestKind::same_row:
      return holds_as<TestKind::same_row>(test, row);
    case TestKind::row:
      return holds_as<TestKind::row>(test, row);
    case TestKind::by_name:
      return holds_as<TestKind::by_name>(test, row);
  }
  check_failed("a test has a kind", __FILE__, __LINE__);
}

// Out of the loop of next_by(), whose rows would otherwise have to be in memory.
[[gnu::noinline]] bool BoundFilter::matches_from(Target at, const RowRun& run,
                                                 std::size_t position) const {
  return matches_from(at, run[position]);
}

// The first test decides most rows: its kind is known here, so that a row it fails costs a few
// loads.
template <BoundFilter::TestKind kind>
std::size_t BoundFilter::next_by(const RowRun& run, std::size_t from, std::uint64_t& bytes) const {
  const Test first = tests_[entry_];
  const RowRun rows = run;  // these two are copies that can stay in registers
  const ShapeId shape = rows[from].shape().id();
  std::uint64_t passed = 0;
  std::size_t at = from;
  for (; at < rows.size(); ++at) {
    const RowView row = rows[at];
    if (row.fixed<std::uint16_t>(row_layout::shape_at) != shape) break;
    const Target then = holds_as<kind>(first, row) ? first.if_holds : first.if_fails;
    if (then != reject && (then == accept || matches_from(then, run, at))) break;
    passed += row.packed_bytes();
  }
  bytes += passed;
  return at;
}

std::size_t BoundFilter::next(const RowRun& run, std::size_t from, std::uint64_t& bytes) const {
  if (always()) return from;
  if (never()) return pass_shape(run, from, bytes);
  switch (tests_[entry_].kind) {
    case TestKind::int32:
      return next_by<TestKind::int32>(run, from, bytes);
    case TestKind::int64:
      return next_by<TestKind::int64>(run, from, bytes);
    case TestKind::float64:
      return next_by<TestKind::float64>(run, from, bytes);
    case TestKind::boolean:
      return next_by<TestKind::boolean>(run, from, bytes);
    case TestKind::timestamp:
      return next_by<TestKind::timestamp>(run, from, bytes);
    case TestKind::same_text:
      return next_by<TestKind::same_text>(run, from, bytes);
    case TestKind::text_units:
      return next_by<TestKind::text_units>(run, from, bytes);
    case TestKind::text_bytes:
      return next_by<TestKind::text_bytes>(run, from, bytes);
    case TestKind::guid:
      return next_by<TestKind::guid>(run, from, bytes);
    case TestKind::same_partition:
      return next_by<TestKind::same_partition>(run, from, bytes);
    case TestKind::partition:
      return next_by<TestKind::partition>(run, from, bytes);
    case TestKind::same_row:
      return next_by<TestKind::same_row>(run, from, bytes);
    case TestKind::row:
      return next_by<TestKind::row>(run, from, bytes);
    case TestKind::by_name:
      return next_by<TestKind::by_name>(run, from, bytes);
  }
  check_failed("a test has a kind", __FILE__, __LINE__);
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
