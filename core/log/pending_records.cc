#include "core/log/pending_records.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace entitable {
namespace {

// There may be many stores with little in them, so pieces grow with what is pending.
constexpr std::size_t piece_bytes_min = 4 * 1024;
constexpr std::size_t piece_bytes_max = 64 * 1024;
constexpr std::size_t kept_records_max = 1024;

}  // namespace

std::size_t PendingRecords::through(std::uint64_t number) const {
  if (number < first_number_) return 0;
  return static_cast<std::size_t>(std::min<std::uint64_t>(number - first_number_ + 1, size()));
}

std::size_t PendingRecords::next_capacity() const {
  if (pieces_.empty()) return piece_bytes_min;
  return std::clamp(2 * pieces_.back().capacity, piece_bytes_min, piece_bytes_max);
}

char* PendingRecords::room(std::size_t bytes_max) {
  ENTITABLE_CHECK(bytes_max <= std::numeric_limits<std::uint32_t>::max());
  if (records_.size() == records_.capacity()) {
    records_.reserve(std::max<std::size_t>(16, 2 * records_.size()));
  }
  if (pieces_.empty() || pieces_.back().capacity - pieces_.back().used < bytes_max) {
    const std::size_t capacity = std::max(bytes_max, next_capacity());
    Piece piece{std::unique_ptr<char[]>(new char[capacity]), capacity};
    if (!pieces_.empty() && pieces_.back().records == 0) {
      pieces_.back() = std::move(piece);
    } else {
      pieces_.push_back(std::move(piece));
    }
  }
  return pieces_.back().memory.get() + pieces_.back().used;
}

void PendingRecords::add(std::uint64_t number, std::size_t bytes) {
  Piece& piece = pieces_.back();
  ENTITABLE_CHECK(records_.size() < records_.capacity() && piece.capacity - piece.used >= bytes);
  if (records_.empty()) first_number_ = number;
  ENTITABLE_CHECK(number == first_number_ + records_.size());
  records_.push_back({piece.memory.get() + piece.used, static_cast<std::uint32_t>(bytes)});
  piece.used += bytes;
  ++piece.records;
}

void PendingRecords::drop_through(std::uint64_t number) {
  const std::size_t count = through(number);
  first_number_ += count;
  std::size_t gone = 0;  // pieces
  for (std::size_t left = count; left > 0;) {
    Piece& piece = pieces_[gone];
    const std::size_t here = std::min(left, piece.records);
    piece.records -= here;
    left -= here;
    if (piece.records == 0) ++gone;
  }
  // One serves again.
  if (gone > 0 && gone == pieces_.size() && pieces_.back().capacity <= piece_bytes_max) {
    pieces_.back().used = 0;
    --gone;
  }
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(gone));
  records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(count));
  if (records_.empty() && records_.capacity() > kept_records_max)
    std::vector<Record>().swap(records_);
}

void PendingRecords::drop_behind(std::uint64_t number) {
  for (const std::size_t kept = through(number); size() > kept;) {
    if (pieces_.back().records == 0) pieces_.pop_back();
    Piece& piece = pieces_.back();
    piece.used = static_cast<std::size_t>(records_.back().at - piece.memory.get());
    --piece.records;
    records_.pop_back();
  }
}

}  // namespace entitable
