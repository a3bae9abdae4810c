// Caches the values of a few columns of a leaf as arrays. A scan that compares a column again and
// again then reads a few cache lines per leaf instead of one or two per row. Internal to
// core/index.
//
// A column is cached when it is requested for the second time, so a scan that runs once takes no
// memory. A leaf caches the columns that were requested last, at most cached_columns_max of them.
// Any change of the leaf clears the cache. If memory runs out or the rows have several shapes,
// nothing is cached, and callers read the rows themselves.
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

// What a cached column stores per row: the value itself, or a digest of a text in 4 bytes.
enum class ColumnForm : std::uint8_t { one_byte, four_bytes, eight_bytes, text_digest };

constexpr std::uint32_t bytes_per_value(ColumnForm form) {
  return form == ColumnForm::one_byte ? 1 : form == ColumnForm::eight_bytes ? 8 : 4;
}

// Returns the same digest for equal texts. The digest of a long text covers only its length, start,
// middle and end.
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
  // Returns the values of the column at `slot`, for rows 0 to `rows` - 1, or null if they are not
  // cached. base_of(i) returns the base of row i (row_layout.h). The result is valid until clear(),
  // or until cached_columns_max other slots have been requested. REQUIRES: all calls for one slot
  // pass the same form until clear().
  template <typename BaseOf>
  const char* values(std::uint32_t slot, ColumnForm form, std::uint32_t rows, BaseOf base_of);
  // Prefetches the cached values, if there are any. REQUIRES: as for values().
  void prefetch(std::uint32_t slot, ColumnForm form, std::uint32_t rows) const {
    for (const Column& column : columns_) {
      if (column.values == nullptr || column.slot != slot) continue;
      entitable::prefetch(column.values.get(), std::size_t{rows} * bytes_per_value(form));
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
    std::uint32_t last_request = 0;  // value of request_count_ at the last request
    std::unique_ptr<char[]> values;
  };

  Column* find(std::uint32_t slot);
  Column& least_recently_used();

  template <typename BaseOf>
  static void extract(ColumnForm form, std::uint32_t slot, std::uint32_t rows, BaseOf base_of,
                      char* out);

  std::array<Column, cached_columns_max> columns_;
  std::uint32_t size_ = 0;           // entries of columns_ in use
  std::uint32_t request_count_ = 0;  // calls of values()
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
    column->values.reset(new (std::nothrow) char[std::size_t{rows} * bytes_per_value(form)]);
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
