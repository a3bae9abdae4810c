#include "core/query/key_set.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/model/key.h"

namespace entitable {
namespace {

const KeyBound& lesser(const KeyBound& a, const KeyBound& b) {
  return compare(b, a) < 0 ? b : a;
}
const KeyBound& greater(const KeyBound& a, const KeyBound& b) {
  return compare(a, b) < 0 ? b : a;
}

// ---- Rows ----

using Rows = std::span<const KeyInterval>;

void append(RowKeySet& rows, const KeyInterval& interval) {
  if (interval.empty()) return;
  if (!rows.empty() && compare(interval.lower, rows.back().upper) <= 0) {
    rows.back().upper = greater(rows.back().upper, interval.upper);
  } else {
    rows.push_back(interval);
  }
}

RowKeySet unite(Rows a, Rows b) {
  RowKeySet united;
  united.reserve(a.size() + b.size());
  auto from_a = a.begin();
  auto from_b = b.begin();
  while (from_a != a.end() || from_b != b.end()) {
    const bool take_a =
        from_b == b.end() || (from_a != a.end() && compare(from_a->lower, from_b->lower) <= 0);
    append(united, take_a ? *from_a++ : *from_b++);
  }
  return united;
}

RowKeySet intersect(Rows a, Rows b) {
  RowKeySet common;
  auto from_a = a.begin();
  auto from_b = b.begin();
  while (from_a != a.end() && from_b != b.end()) {
    append(common, {greater(from_a->lower, from_b->lower), lesser(from_a->upper, from_b->upper)});
    if (compare(from_a->upper, from_b->upper) <= 0) {
      ++from_a;
    } else {
      ++from_b;
    }
  }
  return common;
}

RowKeySet complement(Rows rows) {
  RowKeySet gaps;
  gaps.reserve(rows.size() + 1);
  KeyBound from = KeyBound::start();
  for (const KeyInterval& interval : rows) {
    append(gaps, {from, interval.lower});
    from = interval.upper;
  }
  append(gaps, {from, KeyBound::end()});
  return gaps;
}

// Intervals of a canonical list do not touch, so each interval of `a` must lie in a single one of
// `b`.
bool is_subset(Rows a, Rows b) {
  auto from_b = b.begin();
  for (const KeyInterval& interval : a) {
    while (from_b != b.end() && compare(from_b->upper, interval.upper) < 0) ++from_b;
    if (from_b == b.end() || compare(interval.lower, from_b->lower) < 0) return false;
  }
  return true;
}

RowKeySet hull(Rows rows) {
  if (rows.empty()) return {};
  return {{rows.front().lower, rows.back().upper}};
}

// ---- Segments ----

enum class SetOperation : std::uint8_t { unite, intersect };

void append(KeySet& set, const KeyInterval& partitions, RowKeySet rows) {
  if (partitions.empty() || rows.empty()) return;
  if (!set.empty() && set.back().partitions.upper == partitions.lower && set.back().rows == rows) {
    set.back().partitions.upper = partitions.upper;
  } else {
    set.push_back({partitions, std::move(rows)});
  }
}

// Reads the partitions of a set in ascending order. For a bound, returns the rows that the set has
// in the partitions there, and the bound up to which these rows apply.
class Sweep {
 public:
  explicit Sweep(const KeySet& set) : at_(set.begin()), end_(set.end()) {}
  Rows rows(const KeyBound& at) const { return covers(at) ? Rows(at_->rows) : Rows(); }
  KeyBound until(const KeyBound& at) const {
    if (at_ == end_) return KeyBound::end();
    return covers(at) ? at_->partitions.upper : at_->partitions.lower;
  }
  void advance(const KeyBound& to) {
    while (at_ != end_ && compare(at_->partitions.upper, to) <= 0) ++at_;
  }

 private:
  bool covers(const KeyBound& at) const {
    return at_ != end_ && compare(at_->partitions.lower, at) <= 0;
  }
  KeySet::const_iterator at_;
  KeySet::const_iterator end_;
};

// Calls visit(partitions, rows of a, rows of b) for consecutive intervals that together cover all
// partition keys.
template <typename Visit>
void sweep_both(const KeySet& a, const KeySet& b, Visit visit) {
  Sweep sweep_a(a);
  Sweep sweep_b(b);
  KeyBound at = KeyBound::start();
  while (!at.is_end()) {
    const KeyBound until = lesser(sweep_a.until(at), sweep_b.until(at));
    visit(KeyInterval{at, until}, sweep_a.rows(at), sweep_b.rows(at));
    sweep_a.advance(until);
    sweep_b.advance(until);
    at = until;
  }
}

RowKeySet combine_rows(Rows a, Rows b, SetOperation operation) {
  return operation == SetOperation::unite ? unite(a, b) : intersect(a, b);
}

// Returns the most intervals that combine_rows() can return.
std::size_t interval_count(Rows a, Rows b, SetOperation operation) {
  if (operation == SetOperation::unite) return a.size() + b.size();
  return a.empty() || b.empty() ? 0 : a.size() + b.size() - 1;
}

// Joins neighbours or drops the last segments (see KeySetRounding) until the set is within the
// limit.
void limit_segments(KeySet& set, KeySetRounding rounding) {
  if (set.size() <= key_set_intervals_max) return;
  if (rounding == KeySetRounding::down) {
    set.erase(set.begin() + key_set_intervals_max, set.end());
    return;
  }
  const std::size_t group = (set.size() + key_set_intervals_max - 1) / key_set_intervals_max;
  KeySet joined;
  for (std::size_t first = 0; first < set.size(); first += group) {
    PartitionInterval segment = set[first];
    for (std::size_t i = first + 1; i < std::min(first + group, set.size()); ++i) {
      segment.partitions.upper = set[i].partitions.upper;
      segment.rows = hull(unite(segment.rows, set[i].rows));
    }
    append(joined, segment.partitions, std::move(segment.rows));
  }
  set = std::move(joined);
}

KeySet combine(const KeySet& a, const KeySet& b, SetOperation operation, KeySetRounding rounding,
               bool* rounded) {
  std::size_t segments = 0;
  std::size_t total = 0;
  sweep_both(a, b, [&](const KeyInterval&, Rows rows_a, Rows rows_b) {
    const std::size_t here = interval_count(rows_a, rows_b, operation);
    segments += here > 0;
    total += here;
  });
  const bool fits = total <= key_set_intervals_max;
  const std::size_t share =
      std::max<std::size_t>(1, key_set_intervals_max / std::max<std::size_t>(1, segments));

  KeySet result;
  sweep_both(a, b, [&](const KeyInterval& partitions, Rows rows_a, Rows rows_b) {
    if (fits || interval_count(rows_a, rows_b, operation) <= share) {
      append(result, partitions, combine_rows(rows_a, rows_b, operation));
    } else if (rounding == KeySetRounding::up) {
      append(result, partitions, hull(combine_rows(hull(rows_a), hull(rows_b), operation)));
    }
  });
  if (rounded != nullptr) *rounded = *rounded || !fits;
  limit_segments(result, rounding);
  return result;
}

}  // namespace

// No string lies between a text and the text followed by U+0000, so "before" the latter is the same
// bound as "after" the former. Only the second form is used, so that equal bounds compare equal.
KeyBound KeyBound::before(std::string_view text) {
  if (!text.empty() && text.back() == '\0') {
    return {text.substr(0, text.size() - 1), Side::after};
  }
  return {text, Side::before};
}

std::string KeyBound::smallest_key_above() const {
  ENTITABLE_CHECK(!is_end());
  return is_after() ? successor(text_) : std::string(text_);
}

bool KeyInterval::is_single() const {
  if (lower.is_end() || !upper.is_after()) return false;
  if (!lower.is_after()) return lower.text() == upper.text();
  const std::string_view only = upper.text();  // is it the successor of the lower bound's text?
  return !only.empty() && only.back() == '\0' && only.substr(0, only.size() - 1) == lower.text();
}

int compare(const KeyBound& a, const KeyBound& b) {
  if (a.is_end() || b.is_end()) return static_cast<int>(a.is_end()) - static_cast<int>(b.is_end());
  const int order = compare_utf16(a.text_, b.text_);
  return order != 0 ? order : static_cast<int>(a.side_) - static_cast<int>(b.side_);
}

KeySet all_keys() {
  return keys_in_intervals(KeyInterval::all(), KeyInterval::all());
}

KeySet keys_in_intervals(const KeyInterval& partitions, const KeyInterval& rows) {
  if (partitions.empty() || rows.empty()) return {};
  return {{partitions, {rows}}};
}

bool is_all(const KeySet& set) {
  return set.size() == 1 && set.front().partitions == KeyInterval::all() &&
         set.front().rows.size() == 1 && set.front().rows.front() == KeyInterval::all();
}

KeySet unite(const KeySet& a, const KeySet& b, KeySetRounding rounding, bool* rounded) {
  if (a.empty() || is_all(b)) return b;
  if (b.empty() || is_all(a)) return a;
  return combine(a, b, SetOperation::unite, rounding, rounded);
}

KeySet intersect(const KeySet& a, const KeySet& b, KeySetRounding rounding, bool* rounded) {
  if (a.empty() || is_all(b)) return a;
  if (b.empty() || is_all(a)) return b;
  return combine(a, b, SetOperation::intersect, rounding, rounded);
}

KeySet complement(const KeySet& set) {
  const RowKeySet all{KeyInterval::all()};
  KeySet rest;
  KeyBound from = KeyBound::start();
  for (const PartitionInterval& segment : set) {
    append(rest, {from, segment.partitions.lower}, all);
    append(rest, segment.partitions, complement(segment.rows));
    from = segment.partitions.upper;
  }
  append(rest, {from, KeyBound::end()}, all);
  return rest;
}

bool is_subset(const KeySet& a, const KeySet& b) {
  bool subset = true;
  sweep_both(a, b, [&](const KeyInterval&, Rows rows_a, Rows rows_b) {
    subset = subset && is_subset(rows_a, rows_b);
  });
  return subset;
}

}  // namespace entitable
