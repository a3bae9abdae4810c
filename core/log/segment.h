// A segment: the file of one group commit, immutable once stored (FORMAT.md, "Segment").
//
//   SegmentWriter writer(sequence, epoch);
//   for (const std::string& commit : pending) writer.add(commit);
//   std::string bytes = std::move(writer).finish();
//
// A segment without commits is legal: it announces a new epoch and fences the owner before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/log/record.h"
#include "core/log/shape_codec.h"
#include "core/model/commit.h"
#include "core/model/property_arena.h"

namespace entitable {

struct Segment {
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
  std::vector<Commit> commits;  // numbers rise by one; rows look into the file that was read
  PropertyArena rows{};
  friend bool operator==(const Segment& a, const Segment& b) {
    return a.sequence == b.sequence && a.epoch == b.epoch && a.commits == b.commits;
  }
};

class SegmentWriter {
 public:
  // What is going to be added, at most; room is made for it.
  struct Capacity {
    std::size_t commits;
    std::size_t bytes;  // of all commits
  };
  // REQUIRES: sequence > 0, epoch > 0.
  SegmentWriter(std::uint64_t sequence, std::uint64_t epoch);
  SegmentWriter(std::uint64_t sequence, std::uint64_t epoch, const Capacity& load);
  // REQUIRES: `commit` came from encode_commit, and its number is one above that of the commit
  // added before.
  void add(std::string_view commit);
  // Of the file, at most, if `commit` were added as its last one.
  std::size_t size_with(std::string_view commit) const;
  // Once, as the last call.
  std::string finish() &&;

 private:
  void write_header(std::uint64_t first_commit);

  RecordWriter file_;
  ShapeNumbers shapes_;
  std::uint64_t sequence_;
  std::uint64_t epoch_;
  std::uint64_t last_commit_ = 0;
  bool has_one_commit_ = false;  // there will be one commit
};

// Everything in the file, or nothing of it: Code::corrupted with what and where, or
// Code::format_too_new. A file that is not the segment `expected_sequence` is corrupted. Its rows
// look into the file, which outlives them.
Result<Segment> decode_segment(std::string_view file, std::uint64_t expected_sequence);
Result<Segment> decode_segment(std::string&& file, std::uint64_t expected_sequence) = delete;

}  // namespace entitable
