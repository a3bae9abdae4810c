// Encoded commits that wait to be stored, oldest first, in a few large chunks of memory: as strings
// of their own they would take an allocation each, and leave holes between the rows when they go.
//
// Invariants: numbers rise by one; records never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace entitable {

class PendingRecords {
 public:
  std::size_t size() const { return records_.size(); }
  bool empty() const { return records_.empty(); }
  // REQUIRES: i < size().
  std::string_view operator[](std::size_t i) const { return {records_[i].at, records_[i].bytes}; }
  std::uint64_t number(std::size_t i) const { return first_number_ + i; }
  // How many have a number of at most `number`.
  std::size_t count_through(std::uint64_t number) const;

  // Where the next record is to be written, if it has at most so many bytes. Until add() nothing
  // has changed.
  char* reserve(std::size_t bytes_max);
  // What was written there is the newest record. Allocates nothing. REQUIRES: reserve() for it was
  // asked for since the last change; `number` follows the last one's.
  void add(std::uint64_t number, std::size_t bytes);
  // The oldest that have a number of at most `number`, and the newest that have a higher one.
  void drop_through(std::uint64_t number);
  void drop_after(std::uint64_t number);

 private:
  struct Record {
    const char* at;
    std::uint32_t bytes;
  };
  struct Chunk {
    std::unique_ptr<char[]> memory;
    std::size_t capacity;
    std::size_t used = 0;
    std::size_t records = 0;
  };
  std::size_t next_capacity() const;

  std::uint64_t first_number_ = 1;
  std::vector<Record> records_;
  std::vector<Chunk> chunks_;  // oldest first; all but the last one have records
};

}  // namespace entitable
