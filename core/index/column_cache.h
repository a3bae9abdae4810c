// The values of some columns of a leaf, each side by side: a scan that compares them again and
// again reads a few cache lines of a leaf instead of one or two of every row. Internal to
// core/index.
//
// A column is kept for a slot that was asked for twice, so that a scan made once takes no memory;
// a leaf has a few at most, those that were asked for last, and any change of the leaf drops
// them. They are a convenience: where there is no memory for one, or the rows have several shapes,
// the rows are read as they are.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "core/base/prefetch.h"
#include "core/index/row_layout.h"

namespace entitable {

inline constexpr std::uint32_t cached_columns_max = 4;

// What a column keeps of each row: the value itself, or 4 bytes that tell most texts apart.
enum class ColumnForm : std::uint8_t { one_byte, four_bytes, eight_bytes, text_digest };

constexpr std::uint32_t bytes_of(ColumnForm form) {
  return form == ColumnForm::one_byte ? 1 : form == ColumnForm::eight_bytes ? 8 : 4;
}

// The same for equal texts. Of a long one it sees the start, the middle and the end.
inline std::uint32_t text_digest(std::string_view text) {
  constexpr std::uint64_t factor = 0x9E37'79B9'7F4A'7C15;
  const auto word_at = [&text](std::size_t at) {
    return row_layout::load<std::uint64_t>(text.data() + at);
  };
  std::uint64_t digest = text.size() * factor;
  const auto mix = [&digest](std::uint64_t word) {
    digest = (digest ^ word) * factor;
    digest ^= digest >> 29;
  };
  if (text.size() >= 8) {
    mix(word_at(0));
    if (text.size() > 16) mix(word_at((text.size() - 8) / 2));
    mix(word_at(text.size() - 8));
  } else {
    std::uint64_t word = 0;
    if (!text.empty()) std::memcpy(&word, text.data(), text.size());
    mix(word);
  }
  return static_cast<std::uint32_t>(digest >> 32);
}

class ColumnCache {
 public:
  // The values at `slot` of `rows` rows, whose bases base_of(i) gives; nullptr: there are none.
  // Valid until cached_columns_max other slots were asked for. REQUIRES: a slot has the same form
  // whenever it is asked for, until clear().
  template <typename BaseOf>
  const char* values(std::uint32_t slot, ColumnForm form, std::uint32_t rows, BaseOf base_of);
  // Has those values in caches, if they are there. REQUIRES: as values().
  void prefetch(std::uint32_t slot, ColumnForm form, std::uint32_t rows) const {
    for (const Column& column : columns_) {
      if (column.values == nullptr || column.slot != slot) continue;
      entitable::prefetch(column.values.get(), std::size_t{rows} * bytes_of(form));
    }
  }
  void clear() {
    if (size_ == 0) return;
    columns_ = {};
    size_ = 0;
  }

 private:
  struct Column {
    std::uint32_t slot = 0;
    std::uint32_t last_request = 0;  // when it was asked for last, by request_count_
    std::unique_ptr<char[]> values;
  };

  Column* find(std::uint32_t slot);
  Column& least_recently_used();

  template <typename BaseOf>
  static void extract(ColumnForm form, std::uint32_t slot, std::uint32_t rows, BaseOf base_of,
                      char* out);

  std::array<Column, cached_columns_max> columns_;
  std::uint32_t size_ = 0;           // columns asked for, at most cached_columns_max
  std::uint32_t request_count_ = 0;  // how often any was
};

// ---- Inline ----

inline ColumnCache::Column* ColumnCache::find(std::uint32_t slot) {
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (columns_[i].slot == slot) return &columns_[i];
  }
  return nullptr;
}

inline ColumnCache::Column& ColumnCache::least_recently_used() {
  Column* least_recently_used = &columns_[0];
  for (Column& column : columns_) {
    if (request_count_ - column.last_request > request_count_ - least_recently_used->last_request)
      least_recently_used = &column;
  }
  return *least_recently_used;
}

template <typename BaseOf>
const char* ColumnCache::values(std::uint32_t slot, ColumnForm form, std::uint32_t rows,
                                BaseOf base_of) {
  ++request_count_;
  Column* const column = find(slot);
  if (column == nullptr) {
    (size_ < cached_columns_max ? columns_[size_++] : least_recently_used()) = {
        slot, request_count_, nullptr};
    return nullptr;
  }
  column->last_request = request_count_;
  if (column->values == nullptr) {
    column->values.reset(new (std::nothrow) char[std::size_t{rows} * bytes_of(form)]);
    if (column->values != nullptr) extract(form, slot, rows, base_of, column->values.get());
  }
  return column->values.get();
}

template <typename BaseOf>
void ColumnCache::extract(ColumnForm form, std::uint32_t slot, std::uint32_t rows, BaseOf base_of,
                          char* out) {
  const auto copy = [&]<std::uint32_t width>() {
    for (std::uint32_t i = 0; i < rows; ++i) {
      std::memcpy(out + std::size_t{i} * width, base_of(i) + slot, width);
    }
  };
  switch (form) {
    case ColumnForm::one_byte:
      return copy.template operator()<1>();
    case ColumnForm::four_bytes:
      return copy.template operator()<4>();
    case ColumnForm::eight_bytes:
      return copy.template operator()<8>();
    case ColumnForm::text_digest:
      for (std::uint32_t i = 0; i < rows; ++i) {
        const std::uint32_t digest = text_digest(row_layout::text(base_of(i), slot));
        std::memcpy(out + std::size_t{i} * sizeof digest, &digest, sizeof digest);
      }
      return;
  }
}

}  // namespace entitable
