// Searches sorted keys by their heads. Internal to core/index.
//
// Keys that are close in order usually start with the same bytes. A sorted array of keys therefore
// has a *prefix*: a number of leading bytes that all its keys share, always whole characters. Each
// key has a *head*: the 4 bytes after the prefix as one big-endian integer. Heads are stored
// contiguously. A search compares heads instead of keys until few candidates are left.
//
// Heads ascend with the keys, but not strictly: keys with equal heads must be compared themselves.
// Keys are ordered by UTF-16 unit. In WTF-8 (core/base/utf8.h) this is also the byte order up to
// the lead byte 0xEC; from 0xED on the orders may differ. A head therefore ends at the first byte
// that is 0xED or more. This byte counts as 0xED, and zeros follow it.
//
// A key is a partition key and a row key. Adjacent keys of one partition form a *run*. A search
// first looks for the partition among the runs, then for the row key within one run. Each run has a
// prefix of its own.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/model/key.h"

namespace entitable {

// Returns the head of `text` after its first `skip` bytes, or 0 if the text is shorter than that.
inline std::uint32_t head_of(std::string_view text, std::size_t skip) {
  constexpr std::uint8_t byte_max = 0xED;
  const auto byte = [text, skip](std::size_t i) -> std::uint32_t {
    return static_cast<std::uint8_t>(text[skip + i]);
  };
  if (text.size() >= skip + 4) {
    const std::uint32_t head = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
    if ((head & 0x80808080u) == 0) return head;  // fast path for ASCII
  }
  std::uint32_t head = 0;
  for (std::size_t i = 0; i < 4 && skip + i < text.size(); ++i) {
    const std::uint32_t magnitude = byte(i) < byte_max ? byte(i) : byte_max;
    head |= magnitude << (24 - 8 * i);
    if (magnitude == byte_max) break;
  }
  return head;
}

// Returns how many leading bytes two stored keys share: at most `max`, and only whole characters.
// Does not count a lone high surrogate at the end, because the key that is searched for may have a
// surrogate pair with the same first half there.
inline std::size_t shared_prefix(std::string_view a, std::string_view b, std::size_t max) {
  const std::size_t shorter = a.size() < b.size() ? a.size() : b.size();
  std::size_t at = detail::first_difference(a.data(), b.data(), shorter < max ? shorter : max);
  const auto byte = [a](std::size_t i) { return static_cast<std::uint8_t>(a[i]); };
  while (at > 0 && at < a.size() && (byte(at) & 0xC0) == 0x80) --at;
  while (at >= 3 && byte(at - 3) == 0xED && byte(at - 2) >= 0xA0 && byte(at - 2) < 0xB0) at -= 3;
  return at;
}

// Returns whether `probe` starts with the first `prefix` bytes of `sample`. REQUIRES: prefix <=
// sample.size().
inline bool has_prefix(std::string_view probe, std::string_view sample, std::size_t prefix) {
  return probe.size() >= prefix &&
         detail::first_difference(probe.data(), sample.data(), prefix) == prefix;
}

// Adjacent keys of one partition, in a node that stores each partition key once.
struct KeyRun {
  std::uint32_t head;  // head of the partition key, after the prefix of all partition keys
  std::uint32_t text;  // start of the partition key in the texts of the node
  std::uint16_t text_bytes;
  std::uint16_t prefix;  // all row keys of the run share this number of leading bytes
  std::uint32_t first;   // position of the first key of the run
};

// The position of a key, or where it would be inserted.
struct SearchResult {
  std::uint32_t index;
  bool found;
};

// Returns the first position in [first, last) whose head is not below `head`, or last. This is the
// first step of a search; it reads no keys.
template <typename HeadAt>
std::uint32_t search_heads(std::uint32_t first, std::uint32_t last, std::uint32_t head,
                           HeadAt head_at) {
  std::uint32_t low = first;
  for (std::uint32_t left = last - first; left > 0;) {
    const std::uint32_t half = left / 2;
    const bool below = head_at(low + half) < head;
    low += below ? half + 1 : 0;
    left = below ? left - half - 1 : half;
  }
  return low;
}

// The second step of a search: continues from `low`, the result of search_heads(), and reads keys.
// The other arguments are those of search().
template <typename HeadAt, typename KeyAt>
SearchResult search_keys(std::uint32_t low, std::uint32_t first, std::uint32_t last,
                         std::size_t prefix, std::string_view probe, HeadAt head_at, KeyAt key_at) {
  if (first == last) return {first, false};
  const std::uint32_t head = head_of(probe, prefix);
  // If the probe does not start with the prefix, all keys are on the same side of the probe. One
  // key as a sample is enough to find this out.
  const std::string_view sample = key_at(low < last ? low : last - 1);
  if (!has_prefix(probe, sample, prefix))
    return {compare_utf16(probe, sample) < 0 ? first : last, false};
  if (low == last || head_at(low) != head) return {low, false};
  const int order = compare_utf16(probe, sample);
  if (order <= 0) return {low, order == 0};

  // Equal heads: the keys themselves decide.
  std::uint32_t high = last;
  for (++low; low < high;) {
    const std::uint32_t middle = low + (high - low) / 2;
    const int side = head_at(middle) > head ? -1 : compare_utf16(probe, key_at(middle));
    if (side == 0) return {middle, true};
    if (side < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {low, false};
}

// Returns the position of the first key in [first, last) that is not below `probe`, the key that is
// searched for. head_at(i) and key_at(i) return the head and the text of key i. REQUIRES: the keys
// ascend strictly and share their first `prefix` bytes.
template <typename HeadAt, typename KeyAt>
SearchResult search(std::uint32_t first, std::uint32_t last, std::size_t prefix,
                    std::string_view probe, HeadAt head_at, KeyAt key_at) {
  const std::uint32_t low = search_heads(first, last, head_of(probe, prefix), head_at);
  return search_keys(low, first, last, prefix, probe, head_at, key_at);
}

// Returns the run of a partition, or the run before which it would be inserted.
template <typename TextAt>
SearchResult search_runs(const KeyRun* runs, std::uint32_t count, std::size_t prefix,
                         std::string_view partition, TextAt text_at) {
  return search(
      0, count, prefix, partition, [runs](std::uint32_t r) { return runs[r].head; }, text_at);
}

// Returns the run that holds the key at `position`. REQUIRES: there is such a run.
inline std::uint32_t run_containing(const KeyRun* runs, std::uint32_t count,
                                    std::uint32_t position) {
  std::uint32_t low = 0;
  for (std::uint32_t high = count; high - low > 1;) {
    const std::uint32_t middle = low + (high - low) / 2;
    (runs[middle].first <= position ? low : high) = middle;
  }
  return low;
}

}  // namespace entitable
