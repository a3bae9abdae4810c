// The values of one column of a leaf, side by side: a scan that compares them again and again reads
// a few cache lines of a leaf instead of one or two of every row. Internal to core/index.
//
// A column is kept for the slot that two scans in succession asked for, so that a scan made once
// takes no memory; there is one per leaf, and any change of the leaf drops it. It is a convenience:
// where there is no memory for it, or the rows have several shapes, the rows are read as they are.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace entitable {

class ScanColumn {
 public:
  // The values of `width` bytes (1, 4 or 8) at `slot` of `rows` rows, whose bases base_of(i) gives;
  // nullptr: there are none. Valid until the next call.
  template <typename BaseOf>
  const char* values(std::uint32_t slot, std::uint32_t width, std::uint32_t rows, BaseOf base_of);
  void drop() {
    slot_ = no_slot;
    values_.reset();
  }

 private:
  template <std::uint32_t width, typename ValueOf>
  void collect(std::uint32_t rows, ValueOf value_of) {
    for (std::uint32_t i = 0; i < rows; ++i) {
      std::memcpy(values_.get() + std::size_t{i} * width, value_of(i), width);
    }
  }

  static constexpr std::uint32_t no_slot = 0xFFFF'FFFF;
  std::uint32_t slot_ = no_slot;  // that the last scan asked for
  std::unique_ptr<char[]> values_;
};

template <typename BaseOf>
const char* ScanColumn::values(std::uint32_t slot, std::uint32_t width, std::uint32_t rows,
                               BaseOf base_of) {
  if (slot != slot_) {
    drop();
    slot_ = slot;
    return nullptr;
  }
  if (values_ != nullptr) return values_.get();
  values_.reset(new (std::nothrow) char[std::size_t{rows} * width]);
  if (values_ == nullptr) return nullptr;
  if (width == 8) {
    collect<8>(rows, [&](std::uint32_t i) { return base_of(i) + slot; });
  } else if (width == 4) {
    collect<4>(rows, [&](std::uint32_t i) { return base_of(i) + slot; });
  } else {
    collect<1>(rows, [&](std::uint32_t i) { return base_of(i) + slot; });
  }
  return values_.get();
}

}  // namespace entitable
