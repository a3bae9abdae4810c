// Sets of keys, as the planner computes with them: closed under union, intersection and complement.
// Internal to core/query.
//
// A set is a list of segments, each an interval of partition keys that all have the same row keys
// in the set; these are a list of intervals. Bounds lie between strings: just before or just after
// one, or at the end of all. So eq, ne, gt, ge, lt and le of both keys are exact, and so are the
// three operations.
//
// Invariants (canonical form, so that equal sets look equal): segments and intervals ascend, are
// disjoint and not empty; neighbours that touch differ in their rows (segments) or do not occur
// (intervals).
//
// Texts belong to whoever made the bounds (the filter's literals) and must outlive the set.
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
  // The string that it is before or after. REQUIRES: !is_end().
  std::string_view text() const { return text_; }
  // The smallest string above it. REQUIRES: !is_end().
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
  // Whether it holds exactly one string: upper.text().
  bool single() const;
  friend bool operator==(const KeyInterval&, const KeyInterval&) = default;
};

using RowSet = std::vector<KeyInterval>;

struct PartitionInterval {
  KeyInterval partitions;
  RowSet rows;
  friend bool operator==(const PartitionInterval&, const PartitionInterval&) = default;
};

using KeySet = std::vector<PartitionInterval>;  // empty: no key

// The most intervals that an operation gives, over all segments. More than `or` can name in one
// filter (limits::filter_bytes_max / 16 bytes of the shortest comparison); only products of lists
// of partitions and lists of rows come near it.
inline constexpr std::size_t key_set_intervals_max = 4096;

// Which way a result that would have more pieces is off.
enum class Rounding : std::uint8_t {
  up,    // it holds more keys: neighbours are joined
  down,  // it holds fewer: pieces are dropped
};

KeySet all_keys();
KeySet keys_with(const KeyInterval& partitions, const KeyInterval& rows);
bool is_all(const KeySet& set);

// `rounded`, if given, is set if the result is off.
KeySet unite(const KeySet& a, const KeySet& b, Rounding rounding, bool* rounded = nullptr);
KeySet intersect(const KeySet& a, const KeySet& b, Rounding rounding, bool* rounded = nullptr);
KeySet complement(const KeySet& set);
// Whether all of `a` is in `b`.
bool is_subset(const KeySet& a, const KeySet& b);

}  // namespace entitable
