// Sets of keys for the planner: closed under union, intersection and complement. Internal to
// core/query.
//
// A set is a list of segments (PartitionInterval). A segment is an interval of partition keys with
// the row keys that the set contains in each of these partitions, as a list of intervals. Bounds
// lie between strings: just before a string, just after it, or at the end of all. So eq, ne, gt,
// ge, lt and le on both keys are exact, and so are the three operations.
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
  std::string key() const;

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
  // Whether the interval holds exactly one string: upper.text().
  bool single() const;
  friend bool operator==(const KeyInterval&, const KeyInterval&) = default;
};

using RowSet = std::vector<KeyInterval>;

struct PartitionInterval {
  KeyInterval partitions;
  RowSet rows;
  friend bool operator==(const PartitionInterval&, const PartitionInterval&) = default;
};

using KeySet = std::vector<PartitionInterval>;  // empty: no keys

// The most intervals that the result of an operation has, over all segments. A single filter cannot
// name so many with `or` (its text is too short); only products of a list of partitions and a list
// of rows come near the limit.
inline constexpr std::size_t key_set_intervals_max = 4096;

// How an operation rounds a result that would have more intervals.
enum class Rounding : std::uint8_t {
  up,    // the result holds more keys: neighbours are joined
  down,  // the result holds fewer keys: intervals are dropped
};

KeySet all_keys();
KeySet keys_with(const KeyInterval& partitions, const KeyInterval& rows);
bool is_all(const KeySet& set);

// Union and intersection. `*rounded`, if given, is set to true if the result was rounded.
KeySet unite(const KeySet& a, const KeySet& b, Rounding rounding, bool* rounded = nullptr);
KeySet intersect(const KeySet& a, const KeySet& b, Rounding rounding, bool* rounded = nullptr);
KeySet complement(const KeySet& set);
// Whether `a` is a subset of `b`.
bool is_subset(const KeySet& a, const KeySet& b);

}  // namespace entitable
