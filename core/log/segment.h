// A segment: the file of one group commit, immutable once stored (FORMAT.md, "Segment").
//
//   SegmentWriter writer(sequence, epoch);
//   for (const std::string& commit : pending) writer.add(commit);
//   std::string bytes = std::move(writer).finish();
//
// Every new owner of the store increments the epoch. A segment without commits is valid: it
// announces the epoch of a new owner and takes the sequence number that the previous owner would
// use next, so that the previous owner can no longer store anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/log/commit_effects.h"
#include "core/log/record_writer.h"
#include "core/log/shape_codec.h"
#include "core/model/commit.h"
#include "core/model/property_view_arena.h"

namespace entitable {

struct Segment {
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
  std::vector<Commit> commits;  // consecutive numbers; rows point into the file that was read
  PropertyViewArena rows{};
  friend bool operator==(const Segment& a, const Segment& b) {
    return a.sequence == b.sequence && a.epoch == b.epoch && a.commits == b.commits;
  }
};

class SegmentWriter {
 public:
  // What will be added at most, so that memory is allocated only once.
  struct Capacity {
    std::size_t commits;
    std::size_t bytes;  // of all commits and codes of effects together
  };
  // REQUIRES: sequence > 0, epoch > 0.
  SegmentWriter(std::uint64_t sequence, std::uint64_t epoch);
  SegmentWriter(std::uint64_t sequence, std::uint64_t epoch, const Capacity& capacity);
  // Adds a commit. REQUIRES: `commit` is a result of encode_commit(), and `effects` one of
  // effects_of(); its number is the number of the previous commit plus 1.
  void add(std::string_view commit, const CommitEffects& effects = {});
  // Returns an upper bound of the file size in bytes if `commit` were added as the last commit.
  std::size_t size_with(std::string_view commit, const CommitEffects& effects = {}) const;
  // Returns the whole file. Must be the last call.
  std::string finish() &&;

 private:
  void write_header(std::uint64_t first_commit);

  RecordWriter file_;
  ShapeNumbers shapes_;
  EffectsWriter effects_;
  std::uint64_t sequence_;
  std::uint64_t epoch_;
  std::uint64_t last_commit_ = 0;
  bool has_one_commit_ = false;  // the segment will hold exactly one commit
};

// Decodes the whole file. Errors: ErrorCode::corrupted, whose message names the place and the
// reason (also if the file's sequence is not `expected_sequence`); ErrorCode::format_too_new. The
// rows of the segment refer to `file`. REQUIRES: `file` outlives the result.
Result<Segment> decode_segment(std::string_view file, std::uint64_t expected_sequence);
Result<Segment> decode_segment(std::string&& file, std::uint64_t expected_sequence) = delete;
// Does the same, except that it does not decode the effects of the commits, which only readers of
// the change feed need. Their checksum is checked, so bytes that have changed are still found.
Result<Segment> decode_segment_without_effects(std::string_view file,
                                               std::uint64_t expected_sequence);
Result<Segment> decode_segment_without_effects(std::string&& file,
                                               std::uint64_t expected_sequence) = delete;

}  // namespace entitable
