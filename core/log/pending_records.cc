#include "core/log/pending_records.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace entitable {
namespace {

// The first chunk is small and each further chunk is larger, so that a small store takes little
// memory.
constexpr std::size_t chunk_bytes_min = 4 * 1024;
constexpr std::size_t chunk_bytes_max = 64 * 1024;
constexpr std::size_t kept_records_max = 1024;

}  // namespace

std::size_t PendingRecords::count_through(std::uint64_t number) const {
  if (number < first_number_) return 0;
  return static_cast<std::size_t>(std::min<std::uint64_t>(number - first_number_ + 1, size()));
}

std::size_t PendingRecords::next_capacity() const {
  if (chunks_.empty()) return chunk_bytes_min;
  return std::clamp(2 * chunks_.back().capacity, chunk_bytes_min, chunk_bytes_max);
}

char* PendingRecords::reserve_record(std::size_t bytes_max) {
  ENTITABLE_CHECK(bytes_max <= std::numeric_limits<std::uint32_t>::max());
  if (records_.size() == records_.capacity()) {
    records_.reserve(std::max<std::size_t>(16, 2 * records_.size()));
  }
  if (chunks_.empty() || chunks_.back().capacity - chunks_.back().used < bytes_max) {
    const std::size_t capacity = std::max(bytes_max, next_capacity());
    Chunk chunk{std::unique_ptr<char[]>(new char[capacity]), capacity};
    if (!chunks_.empty() && chunks_.back().records == 0) {
      chunks_.back() = std::move(chunk);
    } else {
      chunks_.push_back(std::move(chunk));
    }
  }
  return chunks_.back().memory.get() + chunks_.back().used;
}

void PendingRecords::add(std::uint64_t number, std::size_t bytes, const CommitEffects& effects) {
  Chunk& chunk = chunks_.back();
  const std::size_t codes = effects.codes.size();
  ENTITABLE_CHECK(records_.size() < records_.capacity() &&
                  chunk.capacity - chunk.used >= bytes + codes &&
                  codes < std::size_t{1} << codes_bytes_bits);
  if (records_.empty()) first_number_ = number;
  ENTITABLE_CHECK(number == first_number_ + records_.size());
  char* const at = chunk.memory.get() + chunk.used;
  std::copy(effects.codes.begin(), effects.codes.end(), at + bytes);
  Record record{};
  record.at = at;
  record.bytes = static_cast<std::uint32_t>(bytes);
  record.codes_bytes = static_cast<std::uint32_t>(codes) & codes_bytes_mask;
  record.origin = effects.origin;
  record.puts = effects.puts;
  record.uses_hidden_tables = effects.uses_hidden_tables;
  records_.push_back(record);
  chunk.used += bytes + codes;
  ++chunk.records;
}

void PendingRecords::drop_through(std::uint64_t number) {
  const std::size_t count = count_through(number);
  first_number_ += count;
  std::size_t gone = 0;  // chunks that have no records left
  for (std::size_t left = count; left > 0;) {
    Chunk& chunk = chunks_[gone];
    const std::size_t here = std::min(left, chunk.records);
    chunk.records -= here;
    left -= here;
    if (chunk.records == 0) ++gone;
  }
  // Keep one chunk for reuse.
  if (gone > 0 && gone == chunks_.size() && chunks_.back().capacity <= chunk_bytes_max) {
    chunks_.back().used = 0;
    --gone;
  }
  chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(gone));
  records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(count));
  if (records_.empty() && records_.capacity() > kept_records_max)
    std::vector<Record>().swap(records_);
}

void PendingRecords::drop_after(std::uint64_t number) {
  for (const std::size_t kept = count_through(number); size() > kept;) {
    if (chunks_.back().records == 0) chunks_.pop_back();
    Chunk& chunk = chunks_.back();
    chunk.used = static_cast<std::size_t>(records_.back().at - chunk.memory.get());
    --chunk.records;
    records_.pop_back();
  }
}

}  // namespace entitable
