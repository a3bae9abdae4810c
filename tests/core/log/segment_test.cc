#include "core/log/segment.h"

#include "core/log/commit_codec.h"
#include "core/log/field_codec.h"
#include "tests/support/catch.h"
#include "tests/support/log_files.h"

using namespace entitable;
using entitable::test::bytes_from_hex;
using entitable::test::file_of;
using entitable::test::RawRecord;

namespace {

std::string segment_of(std::uint64_t sequence, std::uint64_t epoch,
                       const std::vector<Commit>& commits) {
  SegmentWriter writer(sequence, epoch);
  for (const Commit& commit : commits) {
    CommitEffects effects;
    effects.uses_hidden_tables = uses_hidden_tables(commit);
    writer.add(encode_commit(commit), effects);
  }
  return std::move(writer).finish();
}

Commit small_commit(std::uint64_t number) {
  Commit commit;
  commit.number = number;
  commit.last_timestamp = 1000;
  commit.mutations = {test::put_row(1, {EntityKey("p", "r"), 1000, {{"a", Value::of_int32(5)}}})};
  return commit;
}

Error segment_error(std::string_view file, std::uint64_t sequence = 7) {
  const Result<Segment> segment = decode_segment(file, sequence);
  REQUIRE(!segment.ok());
  return segment.error();
}

// A segment header: sequence 7, epoch 2.
RawRecord header(std::uint8_t first_commit) {
  return {RecordType::segment_header,
          bytes_from_hex("0700000000000000 02") + static_cast<char>(first_commit)};
}
RawRecord commit_record(std::uint64_t number) {
  return {RecordType::commit, encode_commit(small_commit(number))};
}
std::string segment_file(const std::vector<RawRecord>& records) {
  return file_of(FileKind::segment, records);
}

}  // namespace

TEST_CASE("a segment is read back") {
  const std::vector<Commit> commits = {small_commit(41), small_commit(42)};
  const std::string file = segment_of(7, 2, commits);
  const Result<Segment> segment = decode_segment(file, 7);
  REQUIRE(segment.ok());
  CHECK(*segment == Segment{7, 2, commits});
}

TEST_CASE("a segment of an epoch has no commits") {
  const std::string file = segment_of(std::uint64_t{1} << 40, 9, {});
  const Result<Segment> segment = decode_segment(file, std::uint64_t{1} << 40);
  REQUIRE(segment.ok());
  CHECK(*segment == Segment{std::uint64_t{1} << 40, 9, {}});
}

TEST_CASE("random segments are read back, and equal input gives equal bytes") {
  constexpr std::uint64_t seed = 34;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 200; ++round) {
    Segment expected{1 + test::random_counter(prng), 1 + prng.below(1000), {}};
    const std::uint64_t first = 1 + test::random_counter(prng) / 2;
    for (std::uint64_t i = prng.below(8); i > 0; --i) {
      expected.commits.push_back(test::random_commit(prng, first + expected.commits.size(), 6));
    }
    const std::string file = segment_of(expected.sequence, expected.epoch, expected.commits);
    CHECK(segment_of(expected.sequence, expected.epoch, expected.commits) == file);
    const Result<Segment> segment = decode_segment(file, expected.sequence);
    REQUIRE(segment.ok());
    REQUIRE(*segment == expected);
  }
}

TEST_CASE("a shape is written once in a segment") {
  const std::size_t one = segment_of(7, 2, {small_commit(1)}).size();
  const std::size_t two = segment_of(7, 2, {small_commit(1), small_commit(2)}).size();
  const std::size_t three =
      segment_of(7, 2, {small_commit(1), small_commit(2), small_commit(3)}).size();
  CHECK(three - two == two - one);
  // The first commit has the shape's definition (5 bytes), later ones its number (1 byte).
  CHECK(two - one == record_layout::prefix_bytes + encode_commit(small_commit(1)).size() - 4 +
                         record_layout::checksum_bytes);
}

TEST_CASE("a segment is the same whether or not its size is known in advance") {
  for (const std::size_t commits : {1, 2}) {
    SegmentWriter writer(7, 2, {commits, 100});
    std::vector<Commit> added;
    for (std::uint64_t number = 5; added.size() < commits; ++number) {
      added.push_back(small_commit(number));
      writer.add(encode_commit(added.back()));
    }
    CHECK(std::move(writer).finish() == segment_of(7, 2, added));
  }
}

TEST_CASE("pending commits can go into any segment") {
  const std::string first = encode_commit(small_commit(5));
  const std::string second = encode_commit(small_commit(6));
  for (const std::uint64_t sequence : {7, 8}) {
    SegmentWriter writer(sequence, 1);
    writer.add(first);
    writer.add(second);
    const std::string file = std::move(writer).finish();
    const auto segment = decode_segment(file, sequence);
    REQUIRE(segment.ok());
    CHECK(segment->commits == std::vector<Commit>{small_commit(5), small_commit(6)});
  }
}

TEST_CASE("a segment under another name is corrupted") {
  CHECK(segment_error(segment_of(8, 1, {})) ==
        Error(ErrorCode::corrupted,
              "record 1 (segment header) at byte 16: it is segment 8 instead of 7"));
}

TEST_CASE("a part under the name of a segment is corrupted") {
  CHECK(segment_error(test::part_of(1, 1, {})).message == "header: this is not a segment file");
}

TEST_CASE("the header of a segment is checked") {
  const std::string good = segment_file({header(0)});
  REQUIRE(decode_segment(good, 7).ok());
  const auto with = [](const std::string& hex) {
    return segment_error(segment_file({{RecordType::segment_header, bytes_from_hex(hex)}})).message;
  };
  const std::string place = "record 1 (segment header) at byte 16: ";
  CHECK(with("0700000000000000 02") == place + "it has the wrong length");
  CHECK(with("0700000000000000 02 00 00") == place + "it has the wrong length");
  CHECK(with("0700000000000000 00 00") == place + "the sequence or the epoch is 0");
  CHECK(with("0000000000000000 01 00") == place + "the sequence or the epoch is 0");
  CHECK(with("0700000000000000 8080808080808010 00") ==
        place + "the sequence or the epoch is out of range");
  const RawRecord largest{RecordType::segment_header,
                          bytes_from_hex("ffffffffffff1f00 ffffffffffffff0f 00")};
  const std::string largest_file = segment_file({largest});
  CHECK(decode_segment(largest_file, counter_max).ok());
  CHECK(segment_error(segment_file({})).message == "the segment has no header");
  CHECK(segment_error(segment_file({commit_record(1)})).message ==
        "record 1 (commit) at byte 16: a segment does not start with this record");
}

TEST_CASE("commit numbers are consecutive, from the first that the header names") {
  const std::string good = segment_file({header(3), commit_record(3), commit_record(4)});
  REQUIRE(decode_segment(good, 7).ok());
  CHECK(segment_error(segment_file({header(3)})).message == "the segment has none of its commits");
  CHECK(segment_error(segment_file({header(0), commit_record(1)})).message ==
        "record 2 (commit) at byte 36: the segment should have no commits");
  const std::string place = "record 2 (commit) at byte 36: ";
  CHECK(segment_error(segment_file({header(3), commit_record(4)})).message ==
        place + "it is commit 4 instead of 3");
  CHECK(segment_error(segment_file({header(3), commit_record(3), commit_record(3)})).message ==
        "record 3 (commit) at byte 75: it is commit 3 instead of 4");
  CHECK(segment_error(segment_file({header(3), commit_record(3), commit_record(5)})).message ==
        "record 3 (commit) at byte 75: it is commit 5 instead of 4");
  CHECK(segment_error(segment_file({header(3), {RecordType::part_rows, "x"}})).message ==
        "record 2 (part rows) at byte 36: it is in the wrong place");
  CHECK(segment_error(segment_file({header(3), header(3)})).message ==
        "record 2 (segment header) at byte 36: it is in the wrong place");
}

TEST_CASE("the number of a commit has a limit") {
  const auto file_of_commit = [](std::uint64_t number) {
    std::string head = bytes_from_hex("0700000000000000 02");
    ByteWriter(head).varint(number);
    std::string commit;
    ByteWriter(commit).varint(number);
    commit += bytes_from_hex("00 0000000000000000 00 00");
    return segment_file({{RecordType::segment_header, head}, {RecordType::commit, commit}});
  };
  const std::string largest = file_of_commit(counter_max);
  CHECK(decode_segment(largest, 7).ok());
  CHECK(segment_error(file_of_commit(counter_max + 1)).message ==
        "record 2 (commit) at byte 43: the number of the commit is out of range");
}

TEST_CASE("an invalid commit is reported with its record and mutation") {
  std::string payload = encode_commit(small_commit(3));
  payload.back() = 1;
  payload.push_back(0);
  CHECK(segment_error(segment_file({header(3), {RecordType::commit, payload}})).message ==
        "record 2 (commit) at byte 36: bytes follow its last mutation");
}

TEST_CASE("additions of newer versions are skipped or rejected") {
  const RawRecord skippable{200, "whatever", record_flag_skippable};
  const RawRecord needed{200, "whatever"};
  const std::string file =
      segment_file({skippable, header(3), skippable, commit_record(3), skippable});
  const auto read = decode_segment(file, 7);
  REQUIRE(read.ok());
  CHECK(*read == Segment{7, 2, {small_commit(3)}});
  CHECK(segment_error(segment_file({header(3), needed, commit_record(3)})).code ==
        ErrorCode::format_too_new);
  CHECK(segment_error(file_of(FileKind::segment, {header(0)}, format_major + 1)).code ==
        ErrorCode::format_too_new);
  const std::string newer = file_of(FileKind::segment, {header(0)}, format_major, 9);
  CHECK(decode_segment(newer, 7).ok());
}
