// Searching sorted keys by their heads. Internal to core/index.
//
// Keys that lie together mostly start alike. So a sorted array of keys has a *prefix*, a number of
// leading bytes that all of them share (whole characters), and each key a *head*: the bytes after
// the prefix as one integer, most significant first. Heads lie side by side, and a search reads
// them instead of the keys, until one key is left.
//
// Heads rise with the keys, but not strictly: equal heads say nothing. In WTF-8, byte order is the
// order of UTF-16 units up to the lead byte 0xEC; from 0xED on it may not be. So a head ends at the
// first byte of 0xED or more, which counts as 0xED, and is filled up with zeros.
//
// Keys have two parts. Keys of one partition that lie together are a *run*: partitions are searched
// first, among the runs, then row keys within one run, which has a prefix of its own.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/model/key.h"

namespace entitable {

// The head of a text after its first `skip` bytes; of a text that is not even that long, zero.
inline std::uint32_t head_of(std::string_view text, std::size_t skip) {
  constexpr std::uint8_t byte_max = 0xED;
  const auto byte = [text, skip](std::size_t i) -> std::uint32_t {
    return static_cast<std::uint8_t>(text[skip + i]);
  };
  if (text.size() >= skip + 4) {
    const std::uint32_t head = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
    if ((head & 0x80808080u) == 0) return head;  // ASCII, as nearly always
  }
  std::uint32_t head = 0;
  for (std::size_t i = 0; i < 4 && skip + i < text.size(); ++i) {
    const std::uint32_t magnitude = byte(i) < byte_max ? byte(i) : byte_max;
    head |= magnitude << (24 - 8 * i);
    if (magnitude == byte_max) break;
  }
  return head;
}

// Bytes that two stored keys share at their start, at most `max`. Cut back to whole characters, and
// a lone high surrogate is not whole: in a probe it may be the first half of a pair, which would be
// on different sides of different keys.
inline std::size_t shared_prefix(std::string_view a, std::string_view b, std::size_t max) {
  const std::size_t shorter = a.size() < b.size() ? a.size() : b.size();
  std::size_t at = detail::first_difference(a.data(), b.data(), shorter < max ? shorter : max);
  const auto byte = [a](std::size_t i) { return static_cast<std::uint8_t>(a[i]); };
  while (at > 0 && at < a.size() && (byte(at) & 0xC0) == 0x80) --at;
  while (at >= 3 && byte(at - 3) == 0xED && byte(at - 2) >= 0xA0 && byte(at - 2) < 0xB0) at -= 3;
  return at;
}

// Whether `probe` starts with the first `prefix` bytes of `sample`. REQUIRES: prefix is at most the
// bytes of `sample`.
inline bool has_prefix(std::string_view probe, std::string_view sample, std::size_t prefix) {
  return probe.size() >= prefix &&
         detail::first_difference(probe.data(), sample.data(), prefix) == prefix;
}

// Neighbouring keys of one partition, in a node that keeps its partition keys apart.
struct KeyRun {
  std::uint32_t head;  // of the partition key, after the prefix that all partition keys share
  std::uint32_t text;  // where the partition key starts among the node's texts
  std::uint16_t text_bytes;
  std::uint16_t prefix;  // bytes that all row keys of the run share, or fewer
  std::uint32_t first;   // position of its first key
};

// Where a probe is, or where it would be put.
struct SearchResult {
  std::uint32_t index;
  bool found;
};

// The first head of [first, last) that is not below the probe's: what a search begins with, and all
// that it does without a look at a key.
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

// How it goes on from there, with the keys.
template <typename HeadAt, typename KeyAt>
SearchResult search_keys(std::uint32_t low, std::uint32_t first, std::uint32_t last,
                         std::size_t prefix, std::string_view probe, HeadAt head_at, KeyAt key_at) {
  if (first == last) return {first, false};
  const std::uint32_t head = head_of(probe, prefix);
  // One look at a key tells whether the probe shares the prefix at all; all keys are on one side of
  // it if not.
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

// The first key of [first, last) that is not below `probe`. head_at(i) and key_at(i) give the keys,
// which rise strictly and share their first `prefix` bytes.
template <typename HeadAt, typename KeyAt>
SearchResult search(std::uint32_t first, std::uint32_t last, std::size_t prefix,
                    std::string_view probe, HeadAt head_at, KeyAt key_at) {
  const std::uint32_t low = search_heads(first, last, head_of(probe, prefix), head_at);
  return search_keys(low, first, last, prefix, probe, head_at, key_at);
}

// The run of a partition, or the one it would stand before.
template <typename TextAt>
SearchResult search_runs(const KeyRun* runs, std::uint32_t count, std::size_t prefix,
                         std::string_view partition, TextAt text_at) {
  return search(
      0, count, prefix, partition, [runs](std::uint32_t r) { return runs[r].head; }, text_at);
}

// The run that holds the key at a position. REQUIRES: one does.
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
