// Encoded commits that wait to be stored, oldest first, in a few large chunks of memory. Separate
// strings would need one allocation each and would fragment the heap between the rows.
//
// Invariants: commit numbers are consecutive; records never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/model/commit.h"

namespace entitable {

// The effects of all puts of a commit. The first three are those of PutEffect.
enum class PutEffects : std::uint8_t { unknown, insert, update, different };

// What the log records of a commit in addition to the commit (commit_effects.h). By default, what
// most commits do.
struct CommitEffects {
  CommitOrigin origin = CommitOrigin::local;
  PutEffects puts = PutEffects::insert;  // also if there are no puts
  std::string_view codes{};              // of the puts, if they are different
  bool uses_hidden_tables = false;       // not in the record of effects: the type of the commit's
};

class PendingRecords {
 public:
  std::size_t size() const { return records_.size(); }
  bool empty() const { return records_.empty(); }
  // Returns an encoded commit, and its number. REQUIRES: i < size().
  std::string_view operator[](std::size_t i) const { return {records_[i].at, records_[i].bytes}; }
  std::uint64_t commit_number_at(std::size_t i) const { return first_number_ + i; }
  CommitEffects effects_at(std::size_t i) const {
    const Record& record = records_[i];
    return {record.origin,
            record.puts,
            {record.at + record.bytes, record.codes_bytes},
            record.uses_hidden_tables};
  }
  // Returns how many records have a number of at most `number`.
  std::size_t count_through(std::uint64_t number) const;

  // Returns memory for the next record, which may have at most `bytes_max` bytes. The record does
  // not exist until add().
  char* reserve_record(std::size_t bytes_max);
  // Makes the first `bytes` bytes of the reserved memory the newest record, and copies the codes of
  // its effects to the bytes after them. Allocates nothing. REQUIRES: reserve_record() was called
  // after the last add() or drop, and the reserved memory has room for the codes; `number` is the
  // number of the previous record plus 1.
  void add(std::uint64_t number, std::size_t bytes, const CommitEffects& effects = {});
  // Removes the records with a number of at most `number`.
  void drop_through(std::uint64_t number);
  // Removes the records with a number above `number`.
  void drop_after(std::uint64_t number);

 private:
  // The codes of 2^26 puts: a commit of as many does not fit in memory.
  static constexpr unsigned codes_bytes_bits = 24;
  static constexpr std::uint32_t codes_bytes_mask = (std::uint32_t{1} << codes_bytes_bits) - 1;

  struct Record {
    const char* at;
    std::uint32_t bytes;
    std::uint32_t codes_bytes : codes_bytes_bits;
    CommitOrigin origin : 4;
    PutEffects puts : 3;
    bool uses_hidden_tables : 1;
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
  std::vector<Chunk> chunks_;  // oldest first; only the last chunk may be without records
};

}  // namespace entitable
