#include "core/log/commit_effects.h"

#include "core/log/commit_codec.h"
#include "core/log/segment.h"
#include "tests/support/catch.h"
#include "tests/support/log_files.h"

using namespace entitable;
using entitable::test::bytes_from_hex;
using entitable::test::effects_text;
using entitable::test::RawRecord;
using entitable::test::records_of;

namespace {

// `effects`: a letter for each put: i, u, or ? for unknown; d: a delete.
Commit commit_of(std::uint64_t number, std::string_view effects,
                 CommitOrigin origin = CommitOrigin::local) {
  Commit commit;
  commit.number = number;
  commit.last_timestamp = 1000;
  commit.origin = origin;
  for (const char letter : effects) {
    const EntityKey key("p", std::to_string(commit.mutations.size()));
    if (letter == 'd') {
      commit.mutations.emplace_back(DeleteRow{1, key});
      continue;
    }
    commit.mutations.push_back(test::put_row(1, {key, 1000, {}}));
    std::get<PutRow>(commit.mutations.back()).effect = letter == 'i'   ? PutEffect::insert
                                                       : letter == 'u' ? PutEffect::update
                                                                       : PutEffect::unknown;
  }
  return commit;
}

std::string segment_of(const std::vector<Commit>& commits) {
  SegmentWriter writer(7, 2);
  std::string codes;
  for (const Commit& commit : commits) writer.add(encode_commit(commit), effects_of(commit, codes));
  return std::move(writer).finish();
}

// Returns the payload of the record of effects; nothing if the segment has none.
std::string payload_of(const std::vector<Commit>& commits) {
  const RawRecord last = records_of(segment_of(commits)).back();
  if (last.type != static_cast<std::uint8_t>(RecordType::segment_effects)) return "";
  CHECK(last.flags == record_flag_skippable);
  return last.payload;
}

// Returns why the payload is bad, if it follows two commits; the second has two puts and a delete.
std::string reason_of(std::string_view hex) {
  std::vector<RawRecord> records = records_of(segment_of({commit_of(1, "i"), commit_of(2, "idi")}));
  records.emplace_back(3, bytes_from_hex(hex), record_flag_skippable);
  const std::string file = file_of(FileKind::segment, records);
  const Result<Segment> segment = decode_segment(file, 7);
  if (segment.ok()) return "";
  CHECK(segment.error().code == ErrorCode::corrupted);
  return segment.error().message.substr(segment.error().message.find(": ") + 2);
}

}  // namespace

TEST_CASE("the effects of commits have the layout of FORMAT.md") {
  CHECK(payload_of({commit_of(1, "i"), commit_of(2, "idi"), commit_of(3, "u")}) ==
        bytes_from_hex("02 10 01 20"));
  CHECK(payload_of({commit_of(1, "i", CommitOrigin::sync), commit_of(2, "?")}) ==
        bytes_from_hex("01 12 01 00"));
  CHECK(payload_of({commit_of(1, "u"), commit_of(2, "idu?iu"), commit_of(3, "u")}) ==
        bytes_from_hex("01 20 01 30 49 02 01 20"));
}

TEST_CASE("effects that a reader assumes anyway are not recorded") {
  CHECK(payload_of({commit_of(1, "i"), commit_of(2, "d"), commit_of(3, ""), commit_of(4, "iid")})
            .empty());
  CHECK(payload_of({commit_of(1, "i"), commit_of(2, "d", CommitOrigin::other_tab)}) ==
        bytes_from_hex("01 10 01 11"));
  CHECK(payload_of({commit_of(1, "?"), commit_of(2, "?d?")}) == bytes_from_hex("02 00"));
  CHECK(payload_of({commit_of(1, "i"), commit_of(2, "iu"), commit_of(3, "d")}) ==
        bytes_from_hex("01 10 01 30 09 01 10"));
}

TEST_CASE("nothing is assumed of puts in segments of older versions") {
  const std::vector<RawRecord> records = records_of(segment_of({commit_of(1, "i")}));
  const auto effects_in = [&records](std::uint16_t minor) {
    const std::string file = file_of(FileKind::segment, records, 1, minor);
    const Result<Segment> segment = decode_segment(file, 7);
    REQUIRE(segment.ok());
    return effects_text(segment->commits);
  };
  CHECK(effects_in(1) == "0:0 ");
  CHECK(effects_in(2) == "0:1 ");
  CHECK(effects_in(3) == "0:1 ");
}

TEST_CASE("random effects are read back") {
  constexpr std::uint64_t seed = 41;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<Commit> commits;
    for (std::uint64_t left = 1 + prng.below(6); left > 0; --left)
      commits.push_back(test::random_commit(prng, 5 + commits.size()));
    const std::string file = segment_of(commits);
    const Result<Segment> segment = decode_segment(file, 7);
    REQUIRE(segment.ok());
    REQUIRE(segment->commits == commits);
    REQUIRE(effects_text(segment->commits) == effects_text(commits));
  }
}

TEST_CASE("effects are validated") {
  CHECK(reason_of("02 10").empty());
  CHECK(reason_of("01 10 01 30 09").empty());
  const std::string count = "a run has the wrong number of commits";
  CHECK(reason_of("03 10") == count);
  CHECK(reason_of("00 10 02 10") == count);
  CHECK(reason_of("01 10") == "it is truncated");
  CHECK(reason_of("02 10 01 10") == "it has the wrong length");
  CHECK(reason_of("02 13").empty());
  CHECK(reason_of("02 14") == "an origin is unknown");
  CHECK(reason_of("02 40") == "the effect of puts is unknown");
  CHECK(reason_of("02 30 00") == "several commits whose puts differ are one run");
  CHECK(reason_of("01 10 01 30") == "it is truncated");
  const std::string codes = "the codes of a commit are invalid";
  CHECK(reason_of("01 10 01 30 03") == codes);
  CHECK(reason_of("01 10 01 30 0c") == codes);
  CHECK(reason_of("01 10 01 30 19") == codes);
}

TEST_CASE("a segment has one record of effects, after its commits") {
  const std::vector<RawRecord> good = records_of(segment_of({commit_of(1, "u")}));
  const auto reason = [&](std::vector<std::size_t> order) {
    std::vector<RawRecord> records;
    for (const std::size_t at : order) records.push_back(good[at]);
    const std::string file = file_of(FileKind::segment, records);
    const Result<Segment> segment = decode_segment(file, 7);
    return segment.ok() ? std::string()
                        : segment.error().message.substr(segment.error().message.find(':'));
  };
  CHECK(reason({0, 1, 2}).empty());
  CHECK(reason({0, 1, 2, 2}) == ": it is in the wrong place");
  CHECK(reason({0, 2, 1}) == ": it is in the wrong place");
}

TEST_CASE("a segment can be read without its effects, even if they are bad") {
  std::vector<RawRecord> records = records_of(segment_of({commit_of(1, "u"), commit_of(2, "iu")}));
  for (const bool is_bad : {false, true}) {
    if (is_bad) records.back().payload = bytes_from_hex("02 40");
    const std::string file = file_of(FileKind::segment, records);
    CHECK(decode_segment(file, 7).ok() != is_bad);
    const Result<Segment> segment = decode_segment_without_effects(file, 7);
    REQUIRE(segment.ok());
    CHECK(segment->commits.size() == 2);
    CHECK(effects_text(segment->commits) == "0:0 0:00 ");
  }
}

TEST_CASE("pending records keep the effects of their commits") {
  PendingRecords records;
  std::string codes;
  std::vector<Commit> commits = {commit_of(1, "i"), commit_of(2, "iuuui?", CommitOrigin::restore),
                                 commit_of(3, "u")};
  for (const Commit& commit : commits) {
    const std::size_t bytes = encode_commit(commit, records);
    records.add(commit.number, bytes, effects_of(commit, codes));
  }
  records.drop_after(2);
  std::size_t bytes = encode_commit(commits[2], records);
  records.add(3, bytes, effects_of(commits[2], codes));
  for (std::size_t i = 0; i < commits.size(); ++i) {
    CHECK(records[i] == encode_commit(commits[i]));
    Commit read = commits[i];
    for (Mutation& mutation : read.mutations) std::get<PutRow>(mutation).effect = {};
    CHECK(apply_effects(records.effects_at(i), read));
    CHECK(effects_text({read}) == effects_text({commits[i]}));
  }
}
