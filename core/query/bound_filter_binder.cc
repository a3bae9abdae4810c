// Binds a filter to a shape; bound_filter.cc tests rows with the result.
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/check.h"
#include "core/filter/evaluate.h"
#include "core/query/bound_filter.h"

namespace entitable {
namespace {

// An operator as the ordering for which it holds, or (if negated) does not hold: `ge` is not
// `less`. Not for Double, because a NaN is unordered.
struct Relation {
  Ordering ordering;
  bool negated;
};

Relation relation_of(CompareOp op) {
  switch (op) {
    case CompareOp::eq:
      return {Ordering::equal, false};
    case CompareOp::ne:
      return {Ordering::equal, true};
    case CompareOp::lt:
      return {Ordering::less, false};
    case CompareOp::ge:
      return {Ordering::less, true};
    case CompareOp::gt:
      return {Ordering::greater, false};
    case CompareOp::le:
      return {Ordering::greater, true};
  }
  check_failed("an operator has a relation", __FILE__, __LINE__);
}

// Returns for each node an estimate of the fraction of rows for which it holds. The estimate
// depends only on the kind of node: few rows for an equality, nearly half for a bound, all for an
// implied node.
std::vector<double> selectivities(const Filter& filter, const std::vector<char>& implied) {
  std::vector<double> selectivities;
  selectivities.reserve(filter.nodes.size());
  for (const FilterNode& node : filter.nodes) {
    if (selectivities.size() < implied.size() && implied[selectivities.size()]) {
      selectivities.push_back(1);
      continue;
    }
    switch (node.kind) {
      case FilterKind::all_of:
        selectivities.push_back(selectivities[node.left] * selectivities[node.right]);
        break;
      case FilterKind::any_of:
        selectivities.push_back(1 -
                                (1 - selectivities[node.left]) * (1 - selectivities[node.right]));
        break;
      case FilterKind::negation:
        selectivities.push_back(1 - selectivities[node.left]);
        break;
      case FilterKind::comparison: {
        const bool boolean = node.literal.type() == EdmType::boolean;
        const double equal = boolean ? 0.5 : 0.05;
        selectivities.push_back(node.op == CompareOp::eq   ? equal
                                : node.op == CompareOp::ne ? 1 - equal
                                                           : 0.4);
        break;
      }
      case FilterKind::flag:
      case FilterKind::constant:
        selectivities.push_back(0.5);
        break;
    }
  }
  return selectivities;
}

}  // namespace

// Turns the filter's tree into a list of tests. Works from the last test to the first, because a
// test names its two targets, which must exist before it. A node needs no test if both targets are
// the same. Of the two operands of `and` and `or`, the one that is more likely to make the other
// unnecessary is tested first.
class BoundFilter::Binder {
 public:
  Binder(const Filter& filter, const std::vector<char>& implied, const Shape* shape,
         BoundFilter& out)
      : filter_(filter),
        implied_(implied),
        shape_(shape),
        out_(out),
        selectivities_(selectivities(filter, implied)) {}

  void bind() {
    tasks_.push_back({static_cast<std::uint32_t>(filter_.nodes.size() - 1), accept, reject});
    while (!tasks_.empty()) {
      const Task task = tasks_.back();
      tasks_.pop_back();
      if (task.first_of_two) {
        bind_first(task);
      } else {
        bind_node(task);
      }
    }
    out_.entry_ = start_;
    if (start_ < reject) out_.choose_columns();
  }

 private:
  struct Task {
    std::uint32_t node;
    Target if_holds;
    Target if_fails;
    bool first_of_two = false;  // the operand to be tested second is already bound: see start_
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
        tasks_.push_back(
            {right_first(node) ? node.left : node.right, task.if_holds, task.if_fails});
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
        bind_constant(node.literal.view().boolean(), task);
        return;
    }
  }

  // Returns whether to test the right operand first. An `and` is decided once an operand fails, an
  // `or` once an operand holds. The operand that is more likely to decide comes first.
  bool right_first(const FilterNode& node) const {
    const double left = selectivities_[node.left];
    const double right = selectivities_[node.right];
    return node.kind == FilterKind::all_of ? right < left : right > left;
  }

  void bind_first(const Task& task) {
    const FilterNode& node = filter_.nodes[task.node];
    const std::uint32_t first = right_first(node) ? node.right : node.left;
    if (node.kind == FilterKind::all_of) {
      tasks_.push_back({first, start_, task.if_fails});
    } else {
      tasks_.push_back({first, task.if_holds, start_});
    }
  }

  void bind_constant(bool value, const Task& task) {
    start_ = value ? task.if_holds : task.if_fails;
  }

  void add(Test test, const Task& task, bool negated = false) {
    test.if_holds = negated ? task.if_fails : task.if_holds;
    test.if_fails = negated ? task.if_holds : task.if_fails;
    start_ = static_cast<Target>(out_.tests_.size());
    out_.tests_.push_back(test);
  }

  void bind_comparison(const FilterNode& node, const Task& task) {
    const EdmType literal = node.literal.type();
    if (node.property == "PartitionKey" || node.property == "RowKey") {
      const bool partition = node.property == "PartitionKey";
      if (comparison_kind(EdmType::string, literal) == ComparisonKind::mismatch) {
        return bind_constant(holds_on_mismatch(node.op), task);
      }
      return partition ? add_text(TestKind::same_partition, TestKind::partition, node, task)
                       : add_text(TestKind::same_row, TestKind::row, node, task);
    }
    if (node.property == "Timestamp") {
      if (comparison_kind(EdmType::date_time, literal) == ComparisonKind::mismatch) {
        return bind_constant(holds_on_mismatch(node.op), task);
      }
      return add_integers(TestKind::int64, node, task, row_layout::timestamp_at);
    }
    if (shape_ == nullptr) return add(by_name(node), task);
    const std::optional<std::uint32_t> found = shape_->find(node.property);
    if (!found.has_value()) return bind_constant(false, task);
    const Column& column = shape_->columns()[*found];
    if (comparison_kind(column.type, literal) == ComparisonKind::mismatch) {
      return bind_constant(holds_on_mismatch(node.op), task);
    }
    add_column(column, node, task);
  }

  void bind_flag(const FilterNode& node, const Task& task) {
    if (node.property == "PartitionKey" || node.property == "RowKey" ||
        node.property == "Timestamp") {
      return bind_constant(false, task);
    }
    if (shape_ == nullptr) return add(by_name(node), task);
    const std::optional<std::uint32_t> found = shape_->find(node.property);
    if (!found.has_value() || shape_->columns()[*found].type != EdmType::boolean) {
      return bind_constant(false, task);
    }
    add_range(TestKind::boolean, shape_->columns()[*found].slot, {1, 0}, false, task);
  }

  static Test by_name(const FilterNode& node) {
    Test test;
    test.kind = TestKind::by_name;
    test.node = &node;
    return test;
  }

  // `same` is the kind for eq and ne, `ordered` for the other operators.
  void add_text(TestKind same, TestKind ordered, const FilterNode& node, const Task& task,
                std::uint32_t slot = 0) {
    const Relation relation = relation_of(node.op);
    Test test;
    test.kind = relation.ordering == Ordering::equal ? same : ordered;
    test.ordering = relation.ordering;
    test.slot = slot;
    test.text = node.literal.view().bytes();
    if (test.kind == TestKind::same_text) test.digest = text_digest(test.text);
    add(test, task, relation.negated);
  }

  // REQUIRES: the literal is of an integral type.
  void add_integers(TestKind kind, const FilterNode& node, const Task& task, std::uint32_t slot) {
    using Limits = std::numeric_limits<std::int64_t>;
    const Relation relation = relation_of(node.op);
    const std::int64_t literal = node.literal.view().bits();
    std::int64_t low = literal;
    std::int64_t high = literal;
    if (relation.ordering == Ordering::less) {
      if (literal == Limits::min()) return bind_constant(relation.negated, task);
      low = Limits::min();
      --high;
    } else if (relation.ordering == Ordering::greater) {
      if (literal == Limits::max()) return bind_constant(relation.negated, task);
      ++low;
      high = Limits::max();
    }
    add_range(kind, slot, {static_cast<std::uint64_t>(low), IntegerRange::span_of(low, high)},
              relation.negated, task);
  }

  // Adds a test for an integer range. The loops over rows are fastest if a failed test rejects the
  // row. If passing the test would reject the row, this therefore adds the test for the complement
  // of the range, which is a range that wraps around. REQUIRES: the range does not hold all
  // integers.
  void add_range(TestKind kind, std::uint32_t slot, IntegerRange range, bool negated,
                 const Task& task) {
    const Target if_holds = negated ? task.if_fails : task.if_holds;
    if (if_holds == reject) {
      range = {range.low + range.span + 1, ~range.span - 1};
      negated = !negated;
    }
    Test test;
    test.kind = kind;
    test.slot = slot;
    test.integers = range;
    add(test, task, negated);
  }

  // Returns the numbers for which the operator holds; for ne, those for which it does not hold.
  static DoubleRange double_range_of(CompareOp op, double literal) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr DoubleRange nothing = {infinity, -infinity};
    switch (op) {
      case CompareOp::eq:
      case CompareOp::ne:
        return {literal, literal};
      case CompareOp::lt:
        return literal == -infinity ? nothing
                                    : DoubleRange{-infinity, std::nextafter(literal, -infinity)};
      case CompareOp::le:
        return {-infinity, literal};
      case CompareOp::gt:
        return literal == infinity ? nothing
                                   : DoubleRange{std::nextafter(literal, infinity), infinity};
      case CompareOp::ge:
        return {literal, infinity};
    }
    check_failed("an operator has numbers", __FILE__, __LINE__);
  }

  void add_numbers(const FilterNode& node, const Task& task, std::uint32_t slot) {
    const ValueView literal = node.literal.view();
    Test test;
    test.kind = TestKind::float64;
    test.slot = slot;
    test.numbers = double_range_of(node.op, literal.type() == EdmType::float64
                                                ? literal.float64()
                                                : static_cast<double>(literal.bits()));
    add(test, task, node.op == CompareOp::ne);
  }

  // Adds the test for a comparison with a column. An integer literal is converted to the type of
  // the column. REQUIRES: comparison_kind() of the two types is not `mismatch`.
  void add_column(const Column& column, const FilterNode& node, const Task& task) {
    switch (column.type) {
      case EdmType::string:
        return add_text(TestKind::same_text, TestKind::text_units, node, task, column.slot);
      case EdmType::binary:
        return add_text(TestKind::same_text, TestKind::text_bytes, node, task, column.slot);
      case EdmType::guid:
        return add_text(TestKind::guid, TestKind::guid, node, task, column.slot);
      case EdmType::boolean:
        return add_integers(TestKind::boolean, node, task, column.slot);
      case EdmType::int32:
        return add_integers(TestKind::int32, node, task, column.slot);
      case EdmType::date_time:
      case EdmType::int64:
        return add_integers(TestKind::int64, node, task, column.slot);
      case EdmType::float64:
        return add_numbers(node, task, column.slot);
    }
    check_failed("a column has a type", __FILE__, __LINE__);
  }

  const Filter& filter_;
  const std::vector<char>& implied_;
  const Shape* shape_;  // null: look up properties by name
  BoundFilter& out_;
  const std::vector<double> selectivities_;
  std::vector<Task> tasks_;
  Target start_ = accept;  // the first test of the node that was bound last
};

BoundFilter::BoundFilter(const Filter& filter, const std::vector<char>& implied,
                         const Shape& shape) {
  if (filter.empty()) return;
  Binder(filter, implied, shape.is_generic() ? nullptr : &shape, *this).bind();
}

BoundFilter::BoundFilter(const Filter& filter, const std::vector<char>& implied) {
  if (filter.empty()) return;
  Binder(filter, implied, nullptr, *this).bind();
}

}  // namespace entitable
