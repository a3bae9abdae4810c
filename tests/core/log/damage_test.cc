// Checks that decoding reports every small damage to a file as an error.
#include "core/log/manifest_codec.h"
#include "core/log/part_codec.h"
#include "core/log/segment.h"
#include "tests/support/catch.h"
#include "tests/support/log_checks.h"
#include "tests/support/log_samples.h"

using namespace entitable;
using entitable::test::for_each_damage;

namespace {

// Checks that `decode` accepts the file and rejects every damaged variant of it.
template <typename Decode>
void check_damage(const std::string& file, Decode decode) {
  REQUIRE(decode(file).ok());
  std::size_t damages = 0;
  for_each_damage(file, [&](const std::string& what, const std::string& damaged) {
    const auto decoded = decode(damaged);
    ++damages;
    // Calling Catch2's macros for every variant would take most of the time.
    if (!decoded.ok() && decoded.error().code == ErrorCode::corrupted) return;
    CAPTURE(what);
    REQUIRE(!decoded.ok());
    REQUIRE(decoded.error().code == ErrorCode::corrupted);
  });
  CHECK(damages > file.size() * 10);
}

const auto as_segment = [](std::string_view file) {
  return decode_segment(file, test::sample_sequence);
};
const auto as_part = [](std::string_view file) { return decode_part(file); };
const auto as_manifest = [](std::string_view file) { return decode_manifest(file); };

}  // namespace

TEST_CASE("every damage to a segment is detected") {
  check_damage(test::bytes_of(test::sample_segment()), as_segment);
}

TEST_CASE("every damage to an epoch segment is detected") {
  check_damage(test::bytes_of(Segment{test::sample_sequence, 2, {}}), as_segment);
}

TEST_CASE("every damage to a segment of equal commits is detected") {
  Segment segment{test::sample_sequence, 1, {}};
  for (std::uint64_t number = 1; number <= 4; ++number) {
    segment.commits.push_back({number, 0, std::nullopt, {}});
  }
  check_damage(test::bytes_of(segment), as_segment);
}

TEST_CASE("every damage to a part is detected") {
  check_damage(test::bytes_of(test::sample_part()), as_part);
  check_damage(test::part_of(1, 1, {}), as_part);
}

TEST_CASE("every damage to a manifest is detected") {
  check_damage(encode_manifest(test::sample_manifest()), as_manifest);
  check_damage(encode_manifest(Manifest()), as_manifest);
}

TEST_CASE("every damage to a file with an unknown record is detected") {
  const std::string file = test::segment_with_unknown_record();
  check_damage(file, [](std::string_view bytes) {
    return decode_segment(bytes, test::sample_sequence + 2);
  });
}

namespace {

// Flips each bit of each payload in turn and recomputes the checksum. Returns how many of these
// files are decoded without error to other content.
template <typename Decode, typename Same>
std::size_t misread_under_right_checksums(FileKind kind, const std::string& file, Decode decode,
                                          Same same) {
  const auto content = decode(file);
  REQUIRE(content.ok());
  std::vector<test::RawRecord> records = test::records_of(file);
  REQUIRE(test::file_of(kind, records) == file);
  std::size_t misread = 0;
  for (test::RawRecord& record : records) {
    for (char& byte : record.payload) {
      for (int bit = 0; bit < 8; ++bit) {
        const char good = byte;
        byte = static_cast<char>(byte ^ (1 << bit));
        const std::string bytes = test::file_of(kind, records);
        const auto damaged = decode(bytes);
        if (damaged.ok() && !same(*damaged, *content)) ++misread;
        byte = good;
      }
    }
  }
  return misread;
}

const auto equal = [](const auto& a, const auto& b) { return a == b; };

}  // namespace

// A test of the tests above: without checksums, much damage would not be detected.
TEST_CASE("damage with matching checksums would be read, in every kind of file") {
  using test::bytes_of;
  CHECK(misread_under_right_checksums(FileKind::segment, bytes_of(test::sample_segment()),
                                      as_segment, equal) > 100);
  CHECK(misread_under_right_checksums(FileKind::part, bytes_of(test::sample_part()), as_part,
                                      [](const Part& a, const Part& b) {
                                        return a.id == b.id && a.lower == b.lower &&
                                               a.upper == b.upper && a.rows == b.rows;
                                      }) > 100);
  CHECK(misread_under_right_checksums(FileKind::manifest, encode_manifest(test::sample_manifest()),
                                      as_manifest, equal) > 100);
  const auto as_snapshot = [](std::string_view file) { return test::read_snapshot(file); };
  CHECK(misread_under_right_checksums(FileKind::snapshot, bytes_of(test::sample_snapshot()),
                                      as_snapshot, equal) > 100);
}

TEST_CASE("damage anywhere in a large part is detected") {
  constexpr std::uint64_t seed = 38;
  CAPTURE(seed);
  test::Prng prng(seed);
  const std::string file = test::part_of(1, 1, test::random_rows(prng, 400));
  for (int round = 0; round < 300; ++round) {
    std::string damaged = file;
    const std::size_t at = prng.below(file.size());
    switch (prng.below(3)) {
      case 0:
        damaged[at] = static_cast<char>(damaged[at] ^ (1 + prng.below(255)));
        break;
      case 1:
        damaged.resize(at);
        break;
      default: {
        // Zeros, as a file system may leave in a sector that was never written.
        const std::size_t length = std::min<std::size_t>(512, file.size() - at);
        damaged.replace(at, length, length, '\0');
      }
    }
    if (damaged == file) continue;
    CAPTURE(at);
    const auto part = decode_part(damaged);
    REQUIRE(!part.ok());
    REQUIRE(part.error().code == ErrorCode::corrupted);
  }
}

TEST_CASE("damaged payloads with matching checksums never crash, and intact ones are valid") {
  constexpr std::uint64_t seed = 39;
  CAPTURE(seed);
  test::Prng prng(seed);
  const std::pair<FileKind, std::string> files[] = {
      {FileKind::segment, test::bytes_of(test::sample_segment())},
      {FileKind::part, test::bytes_of(test::sample_part())},
      {FileKind::manifest, encode_manifest(test::sample_manifest())},
  };
  for (const auto& [kind, file] : files) {
    const std::vector<test::RawRecord> records = test::records_of(file);
    for (int round = 0; round < 3000; ++round) {
      std::vector<test::RawRecord> damaged = records;
      for (std::uint64_t i = 1 + prng.below(3); i > 0; --i) {
        std::string& payload = damaged[prng.below(damaged.size())].payload;
        if (payload.empty()) continue;
        const std::size_t at = prng.below(payload.size());
        switch (prng.below(4)) {
          case 0:
            payload[at] = static_cast<char>(payload[at] ^ (1 << prng.below(8)));
            break;
          case 1:
            payload[at] = static_cast<char>(prng.next());
            break;
          case 2:
            payload.erase(at, 1 + prng.below(3));
            break;
          default:
            payload.insert(at, payload, prng.below(payload.size()), 1 + prng.below(4));
        }
      }
      test::check_bytes(kind, test::file_of(kind, damaged));
    }
  }
}
