// Sets of keys for the planner: closed under union, intersection and complement. Internal to
// core/query.
//
// A set is a list of segments (PartitionInterval). A segment is an interval of partition keys, and
// the row keys that the set contains in each of these partitions, as a list of intervals. A bound
// lies between strings: just before a string, just after it, or after all strings. Comparisons of
// both keys by eq, ne, gt, ge, lt and le are therefore exact, and so are the three operations.
//
// Invariants (canonical form, so that equal sets compare equal): segments and intervals ascend, are
// disjoint and not empty. Segments that touch differ in their rows; intervals never touch.
//
// Bounds refer to strings that they do not own (the filter's literals), which must outlive the set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace entitable {

class KeyBound {
 public:
  static KeyBound before(std::string_view text);
  static KeyBound after(std::string_view text) { return {text, Side::after}; }
  static KeyBound start() { return {{}, Side::before}; }
  static KeyBound end() { return {{}, Side::end}; }

  bool is_start() const { return side_ == Side::before && text_.empty(); }
  bool is_end() const { return side_ == Side::end; }
  bool is_after() const { return side_ == Side::after; }
  // The string that the bound is before or after. REQUIRES: !is_end().
  std::string_view text() const { return text_; }
  // Returns the smallest string above the bound. REQUIRES: !is_end().
  std::string smallest_key_above() const;

  friend int compare(const KeyBound& a, const KeyBound& b);
  friend bool operator==(const KeyBound& a, const KeyBound& b) {
    return a.side_ == b.side_ && a.text_ == b.text_;
  }

 private:
  enum class Side : std::uint8_t { before, after, end };
  KeyBound(std::string_view text, Side side) : text_(text), side_(side) {}
  std::string_view text_;
  Side side_;
};
int compare(const KeyBound& a, const KeyBound& b);

struct KeyInterval {
  KeyBound lower;
  KeyBound upper;
  static KeyInterval all() { return {KeyBound::start(), KeyBound::end()}; }
  bool empty() const { return compare(lower, upper) >= 0; }
  // Returns whether the interval holds exactly one string, which is upper.text().
  bool is_single() const;
  friend bool operator==(const KeyInterval&, const KeyInterval&) = default;
};

using RowKeySet = std::vector<KeyInterval>;

struct PartitionInterval {
  KeyInterval partitions;
  RowKeySet rows;
  friend bool operator==(const PartitionInterval&, const PartitionInterval&) = default;
};

using KeySet = std::vector<PartitionInterval>;  // empty: no keys

// The most intervals that the result of an operation has, over all segments. The text of a filter
// is too short to list so many with `or`. Only an `and` of a list of partitions and a list of rows
// comes near the limit.
inline constexpr std::size_t key_set_intervals_max = 4096;

// What an operation does with a result that would have more than key_set_intervals_max intervals.
enum class KeySetRounding : std::uint8_t {
  up,    // the result holds more keys: neighbours are joined
  down,  // the result holds fewer keys: intervals are dropped
};

KeySet all_keys();
KeySet keys_in_intervals(const KeyInterval& partitions, const KeyInterval& rows);
bool is_all(const KeySet& set);

// Union and intersection. `*rounded`, if given, is set to true if the result was rounded.
KeySet unite(const KeySet& a, const KeySet& b, KeySetRounding rounding, bool* rounded = nullptr);
KeySet intersect(const KeySet& a, const KeySet& b, KeySetRounding rounding,
                 bool* rounded = nullptr);
KeySet complement(const KeySet& set);
// Returns whether `a` is a subset of `b`.
bool is_subset(const KeySet& a, const KeySet& b);

}  // namespace entitable
