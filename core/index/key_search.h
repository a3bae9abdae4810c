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
// A KeyView counts as its partition, one zero byte, its row. Stored keys have no U+0000 (nor
// U+0001), a probe may: in a partition it must come after the zero that ends one, so it counts as 1
// and ends the head.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/model/key.h"

namespace entitable {

namespace detail {

inline constexpr std::uint8_t head_byte_max = 0xED;

template <typename Head>
Head load_big_endian(const char* from) {
  Head head = 0;
  for (std::size_t i = 0; i < sizeof(Head); ++i) {
    head = static_cast<Head>(head << 8) | static_cast<std::uint8_t>(from[i]);
  }
  return head;
}

// All bytes below 0x80: the head is the bytes as they are.
template <typename Head>
bool is_ascii(Head head) {
  return (head & static_cast<Head>(0x8080808080808080u)) == 0;
}

// The general case: byte_at(i) for i = skip, skip + 1, …; a negative answer ends the head with its
// magnitude.
template <typename Head, typename ByteAt>
Head head_by_bytes(std::size_t skip, ByteAt byte_at) {
  Head head = 0;
  for (std::size_t i = 0; i < sizeof(Head); ++i) {
    const int byte = byte_at(skip + i);
    const auto shift = static_cast<unsigned>(8 * (sizeof(Head) - 1 - i));
    const int magnitude = byte < 0 ? -byte : byte < head_byte_max ? byte : int{head_byte_max};
    head |= static_cast<Head>(static_cast<Head>(magnitude) << shift);
    if (byte < 0 || byte >= head_byte_max) break;
  }
  return head;
}

}  // namespace detail

// The head of a text after its first `skip` bytes; of a text that is not even that long, zero.
template <typename Head>
Head head_of(std::string_view text, std::size_t skip) {
  if (text.size() >= skip + sizeof(Head)) {
    const Head head = detail::load_big_endian<Head>(text.data() + skip);
    if (detail::is_ascii(head)) return head;
  }
  return detail::head_by_bytes<Head>(skip, [text](std::size_t i) -> int {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0;
  });
}

template <typename Head>
Head head_of(const KeyView& key, std::size_t skip) {
  const std::size_t row_at = key.partition.size() + 1;
  if (skip >= row_at) return head_of<Head>(key.row, skip - row_at);
  return detail::head_by_bytes<Head>(skip, [&key, row_at](std::size_t i) -> int {
    if (i + 1 < row_at) {
      const auto byte = static_cast<std::uint8_t>(key.partition[i]);
      return byte <= 1 ? -1 : byte;
    }
    if (i + 1 == row_at) return 0;
    return i - row_at < key.row.size() ? static_cast<std::uint8_t>(key.row[i - row_at]) : 0;
  });
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

inline std::size_t shared_prefix(const KeyView& a, const KeyView& b, std::size_t max) {
  const std::size_t in_partition = shared_prefix(a.partition, b.partition, max);
  const std::size_t row_at = a.partition.size() + 1;
  if (in_partition != a.partition.size() || in_partition != b.partition.size() || max < row_at) {
    return in_partition;
  }
  return row_at + shared_prefix(a.row, b.row, max - row_at);
}

// Whether `probe` starts with the first `prefix` bytes of `sample`. REQUIRES: prefix is at most the
// bytes of `sample`.
inline bool has_prefix(std::string_view probe, std::string_view sample, std::size_t prefix) {
  return probe.size() >= prefix &&
         detail::first_difference(probe.data(), sample.data(), prefix) == prefix;
}

inline bool has_prefix(const KeyView& probe, const KeyView& sample, std::size_t prefix) {
  const std::size_t row_at = sample.partition.size() + 1;
  if (prefix < row_at) return has_prefix(probe.partition, sample.partition, prefix);
  return probe.partition.size() + 1 == row_at &&
         has_prefix(probe.partition, sample.partition, row_at - 1) &&
         has_prefix(probe.row, sample.row, prefix - row_at);
}

inline int compare(std::string_view a, std::string_view b) {
  return compare_utf16(a, b);
}

// Where a probe is, or where it would be put.
struct Position {
  std::uint32_t index;
  bool found;
};

// The first key of [first, last) that is not below `probe`. head_at(i) and key_at(i) give the keys,
// which rise strictly and share their first `prefix` bytes.
template <typename Head, typename Key, typename HeadAt, typename KeyAt>
Position search(std::uint32_t first, std::uint32_t last, std::size_t prefix, const Key& probe,
                HeadAt head_at, KeyAt key_at) {
  if (first == last) return {first, false};
  const Head head = head_of<Head>(probe, prefix);
  std::uint32_t low = first;
  for (std::uint32_t left = last - first; left > 0;) {
    const std::uint32_t half = left / 2;
    const bool below = head_at(low + half) < head;
    low += below ? half + 1 : 0;
    left = below ? left - half - 1 : half;
  }
  // One look at a key tells whether the probe shares the prefix at all; all keys are on one side of
  // it if not.
  const Key& sample = key_at(low < last ? low : last - 1);
  if (!has_prefix(probe, sample, prefix)) return {compare(probe, sample) < 0 ? first : last, false};
  if (low == last || head_at(low) != head) return {low, false};
  const int order = compare(probe, sample);
  if (order <= 0) return {low, order == 0};

  // Equal heads: the keys themselves decide.
  std::uint32_t high = low + 1;
  while (high < last && head_at(high) == head) ++high;
  for (++low; low < high;) {
    const std::uint32_t middle = low + (high - low) / 2;
    const int side = compare(probe, key_at(middle));
    if (side == 0) return {middle, true};
    if (side < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {low, false};
}

}  // namespace entitable
