// A filter bound to a shape (core/index/shape.h). Property names become slots, and literals are
// converted to the types of the properties. Conditions whose result is the same for all rows of the
// shape (a missing property, another type) become constants. The rest becomes a list of tests. Each
// test names the test that follows if it holds, and the one that follows if it fails, so `and`,
// `or` and `not` need no tests of their own. Testing rows neither allocates nor recurses.
//
//   Age gt 30 and not (City eq 'Rome')     on a shape {Age: Int32, City: String}
//
//     0: Age   > 30       holds: 1         fails: reject
//     1: City == 'Rome'   holds: reject    fails: accept
//
// On a shape without Age the filter rejects every row without a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/filter/ast.h"
#include "core/index/cursor.h"
#include "core/index/row.h"
#include "core/index/shape.h"

namespace entitable {

class BoundFilter {
 public:
  // Binds to one shape. If implied[i], node i of the filter is known to hold and is not tested. If
  // `implied` is empty, no node is known to hold. REQUIRES: the filter outlives this object, which
  // refers to the filter's literals.
  BoundFilter(const Filter& filter, const std::vector<char>& implied, const Shape& shape);
  // Creates a filter for rows of any shape: looks up properties by name in each row.
  BoundFilter(const Filter& filter, const std::vector<char>& implied);

  bool accepts_all() const { return entry_ == accept; }
  bool rejects_all() const { return entry_ == reject; }
  std::size_t test_count() const { return tests_.size(); }
  // REQUIRES: the row has the shape that the filter is bound to.
  bool matches(const RowView& row) const { return matches_from(entry_, row); }
  // Prepares a batch for next_candidate(), once per batch: finds the cached columns of the tested
  // properties. REQUIRES: the rows of the batch are of the shape.
  void prepare_batch(RowBatch& batch) const;
  // Prefetches the cached columns that next_candidate() reads first. REQUIRES: all rows are of the
  // shape.
  void prefetch_columns(const Leaf& leaf) const {
    for (const TestedColumn& use : columns_) leaf.prefetch_cached_column(use.slot, use.form);
  }
  // A row that may match, at position `at` of a batch. If `sure`, the row matches. Otherwise the
  // caller must call matches(), because the cached columns cannot decide.
  struct Candidate {
    std::size_t at;
    bool sure;
  };
  // Returns the next candidate in `batch` at or after `from`; `at` is batch.size() if there is
  // none. REQUIRES: from < batch.size(), and all rows are of the shape.
  Candidate next_candidate(const RowBatch& batch, std::size_t from) const;

 private:
  using Target = std::uint32_t;  // a position in tests_, `reject` or `accept`
  static constexpr Target reject = 0xFFFF'FFFE;
  static constexpr Target accept = 0xFFFF'FFFF;

  // What a test compares: a number with two bounds, or a text with one literal. The `same_…` kinds
  // are for eq and ne, which need no order.
  enum class TestKind : std::uint8_t {
    int32,
    int64,  // also DateTime, Timestamp
    float64,
    boolean,
    same_text,   // String, Binary
    text_units,  // String in the order of UTF-16 units
    text_bytes,  // Binary
    guid,
    same_partition,
    partition,
    same_row,
    row,
    by_name,
  };
  // The integers from `low` to `low + span`: a single unsigned comparison tests membership.
  struct IntegerRange {
    std::uint64_t low = 0;
    std::uint64_t span = 0;
    static std::uint64_t span_of(std::int64_t low, std::int64_t high) {
      return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    }
  };
  // low <= value <= high, which never holds for a NaN.
  struct DoubleRange {
    double low;
    double high;
  };
  struct Test {
    TestKind kind = TestKind::by_name;
    Ordering ordering = Ordering::equal;  // of value and `text`, for which the test holds
    std::uint32_t slot = 0;
    std::uint32_t column = cached_columns_max;  // index in columns_; cached_columns_max: in none
    Target if_holds = accept;
    Target if_fails = reject;
    union {
      IntegerRange integers{};
      DoubleRange numbers;
      std::uint32_t digest;  // same_text: the digest of `text`
    };
    std::string_view text;
    const FilterNode* node = nullptr;  // by_name
  };
  // A property that tests compare, and the form of its cached column.
  struct TestedColumn {
    std::uint32_t slot;
    ColumnForm form;
  };
  class Binder;

  bool matches_from(Target at, const RowView& row) const {
    while (at < reject) {
      const Test& test = tests_[at];
      at = holds(test, row) ? test.if_holds : test.if_fails;
    }
    return at == accept;
  }
  static bool holds(const Test& test, const RowView& row);
  template <typename Use>
  static auto dispatch_on_kind(TestKind kind, Use use);
  template <TestKind kind>
  static int compare_with_literal(const Test& test, const RowView& row);
  template <TestKind kind>
  static bool holds_as(const Test& test, const RowView& row);
  template <TestKind kind>
  static constexpr std::optional<ColumnForm> column_form();
  template <TestKind kind>
  static bool value_holds(const Test& test, const char* value);
  enum class MatchResult : std::uint8_t { no, maybe, yes };
  MatchResult match_columns(Target at, const RowBatch& batch, std::size_t position) const;
  bool matches_from_noinline(Target at, const RowView& row) const;
  void choose_columns();
  template <TestKind kind>
  Candidate next_in_rows(const RowBatch& batch, std::size_t from) const;
  template <TestKind kind>
  Candidate next_by_column(const RowBatch& batch, const char* values, std::size_t from) const;

  std::vector<Test> tests_;            // in reverse order: the last one is tested first
  std::vector<TestedColumn> columns_;  // at most cached_columns_max
  Target entry_ = accept;
};

inline constexpr std::size_t bound_tests_max = 65'536;  // about 4 MB

// A filter for rows of all shapes. Binds the filter to a shape when filter_for() first asks for
// that shape. Once all bound filters together have tests_max tests, filter_for() returns for
// further shapes a filter that looks up properties by name. So it does for shapes whose ids are so
// large.
class BoundFilterCache {
 public:
  // REQUIRES: the filter and `implied` outlive this object.
  BoundFilterCache(const Filter& filter, const std::vector<char>& implied,
                   std::size_t tests_max = bound_tests_max);

  const BoundFilter& filter_for(const Shape& shape) {
    if (shape.id() < bound_.size() && bound_[shape.id()] != nullptr) return *bound_[shape.id()];
    return bind(shape);
  }
  // The shapes that were bound so far. shapes_complete() returns whether their columns are all the
  // properties of the rows tested. It returns false after tests_max was reached, and after a
  // row of the generic shape, whose columns are not in the shape.
  const std::vector<const Shape*>& bound_shapes() const { return shapes_; }
  bool shapes_complete() const;

 private:
  const BoundFilter& bind(const Shape& shape);

  const Filter& filter_;
  const std::vector<char>& implied_;
  std::vector<const Shape*> shapes_;
  std::vector<std::unique_ptr<BoundFilter>> bound_;  // by shape id
  std::unique_ptr<BoundFilter> by_name_;
  std::size_t tests_ = 0;
  std::size_t tests_max_;
};

}  // namespace entitable
