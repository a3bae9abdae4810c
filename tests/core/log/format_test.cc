// Checks that the format does not change: every build must open the stored fixtures. The example in
// FORMAT.md and the seeds of the fuzzers must match the code.
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "core/log/file_names.h"
#include "tests/support/catch.h"
#include "tests/support/log_checks.h"
#include "tests/support/log_samples.h"
#include "tests/support/snapshot_files.h"

using namespace entitable;
using namespace entitable::test;

namespace {

const std::string testdata = ENTITABLE_TESTDATA;
const std::string fixture = testdata + "/log/v1/";
const std::string fixture_of_minor_1 = testdata + "/log/v1.1/";
const std::string fixture_of_minor_2 = testdata + "/log/v1.2/";
const std::string fixture_of_minor_3 = testdata + "/log/v1.3/";
const std::string corpus = testdata + "/../fuzz/corpus/";

bool rewriting() {
  const char* rewrite = std::getenv("ENTITABLE_REWRITE");
  return rewrite != nullptr && std::string_view(rewrite) == "1";
}

// Returns a stored file, and checks that it equals `written_now`. With ENTITABLE_REWRITE=1 in the
// environment, writes the file first.
std::string stored(const std::string& path, const std::string& written_now) {
  if (rewriting()) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << written_now;
  }
  std::string bytes = read_file(path);
  CAPTURE(path);
  REQUIRE(!bytes.empty());
  CHECK((bytes == written_now));
  return bytes;
}

// Returns the bytes of the example in FORMAT.md. Its lines are "offset  hex hex hex ; comment",
// between the marks "<!-- example" and "<!-- end".
std::string documented_example() {
  std::istringstream text(read_file(testdata + "/../../core/log/FORMAT.md"));
  std::string bytes;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (line.find("<!-- example") != std::string::npos) inside = true;
    if (line.find("<!-- end") != std::string::npos) inside = false;
    const std::size_t comment = line.find(';');
    if (!inside || comment == std::string::npos) continue;
    CAPTURE(line);
    CHECK(std::stoul(line.substr(0, 8)) == bytes.size());
    bytes += bytes_from_hex(line.substr(8, comment - 8));
  }
  return bytes;
}

// Removes what manifests have since version 1.2.
void forget_feed(Manifest& manifest) {
  manifest.claims.reset();
  manifest.history.reset();
  manifest.readers.clear();
}

void check_part(const Result<Part>& part, const Part& expected) {
  REQUIRE(part.ok());
  CHECK(part->id == expected.id);
  CHECK(part->table == expected.table);
  CHECK(part->lower == expected.lower);
  CHECK(part->upper == expected.upper);
  CHECK(part->rows == expected.rows);
  CHECK(part->row_count == expected.rows.size());
}

}  // namespace

TEST_CASE("segments of version 1.0 open, without the effects of their commits") {
  const std::string bytes = read_file(fixture + segment_name(sample_sequence));
  const Result<Segment> segment = decode_segment(bytes, sample_sequence);
  REQUIRE(segment.ok());
  CHECK(*segment == sample_segment());
  CHECK(effects_text(segment->commits) == "0: 0:000 0:0 ");
}

TEST_CASE("segments of version 1.2 open") {
  const std::string bytes = read_file(fixture_of_minor_2 + segment_name(sample_sequence));
  const Result<Segment> segment = decode_segment(bytes, sample_sequence);
  REQUIRE(segment.ok());
  CHECK(*segment == sample_segment());
  CHECK(effects_text(segment->commits) == effects_text(sample_segment().commits));
}

TEST_CASE("segments of version 1.3 open") {
  const Segment expected = sample_segment_with_hidden_tables();
  const std::string bytes =
      stored(fixture_of_minor_3 + segment_name(sample_sequence), bytes_of(expected));
  const Result<Segment> segment = decode_segment(bytes, sample_sequence);
  REQUIRE(segment.ok());
  CHECK(*segment == expected);
  CHECK(effects_text(segment->commits) == effects_text(expected.commits));
  CHECK(uses_hidden_tables(segment->commits.back()));
  CHECK_FALSE(uses_hidden_tables(segment->commits.front()));
}

TEST_CASE("segments of an epoch open") {
  const Segment epoch{sample_sequence + 1, 4, {}};
  const std::string bytes_1_0 = read_file(fixture + segment_name(epoch.sequence));
  const std::string bytes_1_2 = read_file(fixture_of_minor_2 + segment_name(epoch.sequence));
  const std::string bytes =
      stored(fixture_of_minor_3 + segment_name(epoch.sequence), bytes_of(epoch));
  for (const std::string& file : {bytes_1_0, bytes_1_2, bytes}) {
    const Result<Segment> segment = decode_segment(file, epoch.sequence);
    REQUIRE(segment.ok());
    CHECK(*segment == epoch);
  }
}

TEST_CASE("segments of a later minor version open") {
  const std::string bytes_1_0 = read_file(fixture + segment_name(sample_sequence + 2));
  const std::string bytes_1_2 = read_file(fixture_of_minor_2 + segment_name(sample_sequence + 2));
  const std::string bytes =
      stored(fixture_of_minor_3 + segment_name(sample_sequence + 2), segment_with_unknown_record());
  for (const std::string& file : {bytes_1_0, bytes_1_2, bytes}) {
    const Result<Segment> segment = decode_segment(file, sample_sequence + 2);
    REQUIRE(segment.ok());
    CHECK(segment->commits == sample_segment().commits);
  }
}

TEST_CASE("parts of version 1 open") {
  const Part expected = sample_part();
  const std::string bytes = stored(fixture + part_name(expected.id), bytes_of(expected));
  check_part(decode_part(bytes), expected);
}

TEST_CASE("parts of hidden tables of version 1.3 open") {
  const Part expected = sample_hidden_part();
  const std::string bytes = stored(fixture_of_minor_3 + part_name(expected.id), bytes_of(expected));
  check_part(decode_part(bytes), expected);
}

TEST_CASE("manifests of version 1.0 open") {
  const Result<Manifest> manifest = decode_manifest(read_file(fixture + manifest_name));
  REQUIRE(manifest.ok());
  Manifest expected = sample_manifest();
  expected.call_commits.reset();
  forget_feed(expected);
  CHECK(*manifest == expected);
}

TEST_CASE("manifests of version 1.1 open") {
  const Result<Manifest> manifest = decode_manifest(read_file(fixture_of_minor_1 + manifest_name));
  REQUIRE(manifest.ok());
  Manifest expected = sample_manifest();
  forget_feed(expected);
  CHECK(*manifest == expected);
}

TEST_CASE("manifests of version 1.2 open") {
  const Result<Manifest> manifest = decode_manifest(read_file(fixture_of_minor_2 + manifest_name));
  REQUIRE(manifest.ok());
  CHECK(*manifest == sample_manifest());
}

TEST_CASE("manifests of version 1.3 open") {
  const Manifest expected = sample_manifest_with_hidden_tables();
  const std::string bytes = stored(fixture_of_minor_3 + manifest_name, encode_manifest(expected));
  const Result<Manifest> manifest = decode_manifest(bytes);
  REQUIRE(manifest.ok());
  CHECK(*manifest == expected);
}

TEST_CASE("snapshots of version 1 open") {
  const std::string bytes = stored(fixture + "snapshot", bytes_of(sample_snapshot()));
  const Result<SnapshotContent> content = read_snapshot(bytes);
  REQUIRE(content.ok());
  CHECK((*content == sample_snapshot()));
}

TEST_CASE("the samples hold every mutation and every type") {
  std::vector<bool> mutations(std::variant_size_v<Mutation>);
  std::vector<bool> types(edm_type_last + 1u);
  for (const Commit& commit : sample_segment_with_hidden_tables().commits) {
    for (const Mutation& mutation : commit.mutations) mutations[mutation.index()] = true;
  }
  for (const Entity& row : sample_part().rows) {
    for (const Property& p : row.properties) types[static_cast<std::size_t>(p.value.type())] = true;
  }
  CHECK(mutations == std::vector<bool>(mutations.size(), true));
  types[0] = true;
  CHECK(types == std::vector<bool>(types.size(), true));
}

TEST_CASE("the example of FORMAT.md equals the written file") {
  Commit commit;
  commit.number = 1;
  commit.last_timestamp = sample_time;
  commit.mutations = {
      put_row(1, {EntityKey("CH", "Bern"), sample_time - 1, {{"Pop", Value::of_int32(133'883)}}}),
      put_row(1, {EntityKey("CH", "Chur"), sample_time, {{"Pop", Value::of_int32(37'106)}}})};
  for (Mutation& put : commit.mutations) std::get<PutRow>(put).effect = PutEffect::insert;
  const std::string written = bytes_of(Segment{1, 1, {commit}});
  const std::string documented = documented_example();
  CHECK(documented.size() == written.size());
  CHECK((documented == written));
  const Result<Segment> segment = decode_segment(documented, 1);
  REQUIRE(segment.ok());
  CHECK(segment->commits == std::vector<Commit>{commit});
}

TEST_CASE("the fuzzers' seeds are the samples") {
  const auto seed = [](const std::string& name, FileKind kind, const std::string& file) {
    for (const std::string& input : {"f" + file, fuzz_input(records_of(file))}) {
      const std::string form = input[0] == 'f' ? "-file" : "-records";
      stored(corpus + name + form, input);
      check_fuzz_input(kind, input);
    }
  };
  seed("segment/sample", FileKind::segment, bytes_of(sample_segment()));
  seed("segment/hidden", FileKind::segment, bytes_of(sample_segment_with_hidden_tables()));
  seed("synced/malformed", FileKind::segment, bytes_of(sample_segment_of_malformed_rows()));
  seed("segment/epoch", FileKind::segment, bytes_of(Segment{sample_sequence, 2, {}}));
  seed("segment/unknown", FileKind::segment, segment_with_unknown_record());
  seed("part/sample", FileKind::part, bytes_of(sample_part()));
  seed("part/hidden", FileKind::part, bytes_of(sample_hidden_part()));
  seed("part/empty", FileKind::part, part_of(1, 1, {}));
  seed("manifest/sample", FileKind::manifest, encode_manifest(sample_manifest()));
  seed("snapshot/sample", FileKind::snapshot, bytes_of(sample_snapshot()));
  seed("snapshot/empty", FileKind::snapshot, bytes_of(SnapshotContent()));
  seed("manifest/hidden", FileKind::manifest,
       encode_manifest(sample_manifest_with_hidden_tables()));
  seed("manifest/empty", FileKind::manifest, encode_manifest(Manifest()));
  // Crafted files: right checksums around fields that no entry point accepts.
  SnapshotContent policies;
  policies.header.tables = 1;
  policies.tables = {{{"abc",
                       {{"a", std::nullopt, std::nullopt, "zzz"},
                        {"a", std::nullopt, std::nullopt, std::nullopt},
                        {std::string(100, 'i'), std::nullopt, std::nullopt, std::nullopt},
                        {"", std::nullopt, std::nullopt, std::nullopt}},
                       0},
                      {}}};
  seed("snapshot/crafted", FileKind::snapshot, bytes_of(policies));
  std::vector<RawRecord> largest = records_of(encode_manifest(Manifest()));
  largest[0].payload = bytes_from_hex(
      "ffffffffffffffffff01 ffffffffffffffffff01 ffffffffffffffffff01 ff3f37f47528ca2b ffffffff0f "
      "ffffffffffffffffff01");
  seed("manifest/crafted", FileKind::manifest, file_of(FileKind::manifest, largest));
  seed("segment/crafted", FileKind::segment,
       file_of(FileKind::segment,
               {{RecordType::segment_header, bytes_from_hex("0700000000000000 01 01")},
                {RecordType::commit,
                 bytes_from_hex("01 00 0000000000000000 00 01 07 01 01 01 61 04 03 7a7a7a")}}));
}
