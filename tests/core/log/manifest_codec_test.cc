#include "core/log/manifest_codec.h"

#include "core/log/field_codec.h"
#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/log_files.h"

using namespace entitable;
using entitable::test::bytes_from_hex;
using entitable::test::file_of;
using entitable::test::RawRecord;
using entitable::test::records_of;

namespace {

// Epoch 1, first live sequence 1, last commit 0, last timestamp 1000, next table 9, next part 9.
const RawRecord state{RecordType::manifest_state,
                      bytes_from_hex("01 01 00 e803000000000000 09 09")};
const RawRecord options{RecordType::manifest_options, bytes_from_hex("00")};
const RawRecord service{RecordType::manifest_service, bytes_from_hex("00")};
const RawRecord calls{RecordType::manifest_calls, bytes_from_hex("00")};

RawRecord table(std::string_view hex) {
  return {RecordType::manifest_table, bytes_from_hex(hex)};
}

std::string manifest_file(const std::vector<RawRecord>& tables) {
  std::vector<RawRecord> records = {state, options, service, calls};
  records.insert(records.end(), tables.begin(), tables.end());
  return file_of(FileKind::manifest, records);
}

std::string manifest_error(std::string_view file) {
  const Result<Manifest> manifest = decode_manifest(file);
  if (manifest.ok()) return "";
  CHECK(manifest.error().code == ErrorCode::corrupted);
  return manifest.error().message;
}

// The error message without the place that it begins with.
std::string manifest_reason(std::string_view file) {
  const std::string message = manifest_error(file);
  const std::size_t at = message.find(": ");
  return at == std::string::npos ? message : message.substr(at + 2);
}

std::string manifest_reason(const RawRecord& s, const RawRecord& o, const RawRecord& v,
                            const RawRecord& c) {
  return manifest_reason(file_of(FileKind::manifest, {s, o, v, c}));
}

}  // namespace

TEST_CASE("a manifest has the layout of FORMAT.md") {
  Manifest manifest;
  manifest.last_timestamp = 1000;
  manifest.next_table = 9;
  manifest.next_part = 9;
  manifest.tables = {{1, "abc", {}, {{EntityKey("p", "r"), 2, 3, 4, 5}}}};
  CHECK(encode_manifest(manifest) ==
        manifest_file({table("01 03 616263 00 01 01 70 01 72 02 03 04 05000000")}));
  manifest.epoch = 2;
  manifest.first_live_sequence = 300;
  manifest.last_commit = 5;
  manifest.service_properties = "<x/>";
  manifest.options = {{"a", "1"}, {"b", ""}};
  manifest.calls = {{ClientId{7}, 3, {1000}}};
  manifest.tables.clear();
  CHECK(encode_manifest(manifest) ==
        file_of(FileKind::manifest,
                {{RecordType::manifest_state, bytes_from_hex("02 ac02 05 e803000000000000 09 09")},
                 {RecordType::manifest_options, bytes_from_hex("02 01 61 01 31 01 62 00")},
                 {RecordType::manifest_service, bytes_from_hex("04 3c782f3e")},
                 {RecordType::manifest_calls,
                  bytes_from_hex("01 07") + std::string(15, '\0') + bytes_from_hex("03 01 01")}}));
  manifest = Manifest();
  manifest.call_commits = CallCommits{300, {}};
  const RawRecord commits = records_of(encode_manifest(manifest)).back();
  CHECK(commits.type == 37);
  CHECK(commits.flags == record_flag_skippable);
  CHECK(commits.payload == bytes_from_hex("ac02 00"));
  manifest.epoch = 9;
  manifest.claims = ManifestClaims{3, {{5, 300}, {9, 301}}};
  const RawRecord claims = records_of(encode_manifest(manifest)).back();
  CHECK(claims.type == 38);
  CHECK(claims.flags == record_flag_skippable);
  CHECK(claims.payload == bytes_from_hex("03 02 05 ac02 09 ad02"));
  manifest.last_timestamp = 1000;
  manifest.last_commit = 300;
  manifest.first_live_sequence = 9;
  manifest.next_table = 6;
  manifest.history =
      ManifestHistory{4, 200, {{2, 0, 68, 0}, {3, 101, 300, 999}}, {{5, "abc", 300}}};
  const RawRecord history = records_of(encode_manifest(manifest)).back();
  CHECK(history.type == 39);
  CHECK(history.flags == record_flag_skippable);
  CHECK(history.payload ==
        bytes_from_hex("04 c801 02 02 00 44 00 03 65 ac02 03 01 05 03 616263 ac02"));
  manifest.readers = {{"a", {{2, 300}, 1000}}, {"b", {}}};
  const RawRecord readers = records_of(encode_manifest(manifest)).back();
  CHECK(readers.type == 40);
  CHECK(readers.flags == record_flag_skippable);
  CHECK(readers.payload == bytes_from_hex("02 01 61 02 ac02 e803000000000000"
                                          "   01 62 00 00 0000000000000000"));
}

TEST_CASE("an empty manifest is read back") {
  const Result<Manifest> manifest = decode_manifest(encode_manifest(Manifest()));
  REQUIRE(manifest.ok());
  CHECK(*manifest == Manifest());
}

TEST_CASE("random manifests are read back, and equal ones have equal bytes") {
  constexpr std::uint64_t seed = 37;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 500; ++round) {
    const Manifest manifest = test::random_manifest(prng);
    const std::string file = encode_manifest(manifest);
    CHECK(encode_manifest(Manifest(manifest)) == file);
    const Result<Manifest> read = decode_manifest(file);
    REQUIRE(read.ok());
    REQUIRE(*read == manifest);
  }
}

TEST_CASE("ids may have their largest values") {
  Manifest manifest;
  manifest.epoch = manifest.first_live_sequence = manifest.last_commit = counter_max;
  manifest.last_timestamp = limits::date_time_ticks_max;
  manifest.next_table = table_id_max + 1;
  manifest.next_part = counter_max;
  manifest.tables = {
      {table_id_max, "abc", {}, {{EntityKey(), counter_max - 1, 0xFFFF'FFFF, counter_max, ~0u}}}};
  const Result<Manifest> read = decode_manifest(encode_manifest(manifest));
  REQUIRE(read.ok());
  CHECK(*read == manifest);
}

TEST_CASE("the state is validated") {
  const auto reason = [](std::string_view hex) {
    return manifest_reason({RecordType::manifest_state, bytes_from_hex(hex)}, options, service,
                           calls);
  };
  const std::string largest = "ffffffffffffff0f";  // 2^53 - 1
  const std::string too_large = "8080808080808010";
  const std::string counter =
      "the epoch, the first live sequence or the last commit is out of range";
  CHECK(reason(largest + " 01 00 0000000000000000 01 01").empty());
  CHECK(reason(too_large + " 01 00 0000000000000000 01 01") == counter);
  CHECK(reason("01 " + largest + " 00 0000000000000000 01 01").empty());
  CHECK(reason("01 " + too_large + " 00 0000000000000000 01 01") == counter);
  CHECK(reason("01 01 " + largest + " 0000000000000000 01 01").empty());
  CHECK(reason("01 01 " + too_large + " 0000000000000000 01 01") == counter);
  CHECK(reason("01 01 00 0000000000000000 01 " + largest).empty());
  CHECK(reason("01 01 00 0000000000000000 01 " + too_large) ==
        "the next table or part id is out of range");
  REQUIRE(reason("01 01 00 0000000000000000 01 01").empty());
  CHECK(reason("00 01 00 0000000000000000 01 01") == "the epoch or the first live sequence is 0");
  CHECK(reason("01 00 00 0000000000000000 01 01") == "the epoch or the first live sequence is 0");
  const std::string bad_next = "the next table or part id is out of range";
  CHECK(reason("01 01 00 0000000000000000 00 01") == bad_next);
  CHECK(reason("01 01 00 0000000000000000 01 00") == bad_next);
  CHECK(reason("01 01 00 0000000000000000 8080808008 01").empty());
  CHECK(reason("01 01 00 0000000000000000 8180808008 01") == bad_next);
  CHECK(reason("01 01 00 ff3f37f4 7528ca2b 01 01").empty());
  CHECK(reason("01 01 00 00 40 37f4 7528ca2b 01 01") == "the last timestamp is out of range");
  CHECK(reason("01 01 00 ffffffffffffffff 01 01") == "the last timestamp is out of range");
  CHECK(reason("01 01 00 0000000000000000 01") == "it has the wrong length");
  CHECK(reason("01 01 00 0000000000000000 01 01 00") == "it has the wrong length");
}

TEST_CASE("options are text, ordered by their keys") {
  const auto reason = [](std::string_view hex) {
    return manifest_reason(state, {RecordType::manifest_options, bytes_from_hex(hex)}, service,
                           calls);
  };
  REQUIRE(reason("02 01 61 01 31 01 62 00").empty());
  CHECK(reason("02 01 62 01 31 01 61 00") == "the options are not in order");
  CHECK(reason("02 01 61 01 31 01 61 00") == "the options are not in order");
  CHECK(reason("01 01 ff 00") == "an option is not valid text");
  CHECK(reason("01 00 01 ff") == "an option is not valid text");
  CHECK(reason("02 01 61 01 31 01 62") == "it is truncated");
  CHECK(reason("09 01 61 01 31 01 62 00") == "it has the wrong length");
  CHECK(reason("01 01 61 01 31 00") == "it has the wrong length");
}

TEST_CASE("service properties and calls have their length") {
  CHECK(manifest_reason(state, options, {RecordType::manifest_service, bytes_from_hex("02 61")},
                        calls) == "it has the wrong length");
  CHECK(manifest_reason(state, options, {RecordType::manifest_service, bytes_from_hex("00 61")},
                        calls) == "it has the wrong length");
  CHECK(manifest_reason(state, options, {RecordType::manifest_service, bytes_from_hex("01 ff")},
                        calls) == "the service properties are not valid text");
  const std::string call = std::string(16, 'c') + bytes_from_hex("05 01");
  const auto reason = [&](const std::string& payload) {
    return manifest_reason(state, options, service, {RecordType::manifest_calls, payload});
  };
  CHECK(reason('\1' + call + '\1').empty());
  CHECK(reason('\1' + call + '\2') == "a result is newer than the last timestamp");
  CHECK(reason('\1' + call) == "it is truncated");
  CHECK(reason('\2' + call + '\1') == "it has the wrong length");
  CHECK(reason('\1' + call + "\1\1") == "it has the wrong length");
}

TEST_CASE("the commits of calls are validated") {
  const std::string call = bytes_from_hex("05 00");  // number 5, no timestamps
  const RawRecord two_clients{RecordType::manifest_calls, '\3' + std::string(16, 'a') + call +
                                                              std::string(16, 'b') + call +
                                                              std::string(16, 'a') + call};
  const auto decode = [&](const std::string& hex, std::uint8_t flags = record_flag_skippable) {
    const RawRecord commits{static_cast<std::uint8_t>(RecordType::manifest_call_commits),
                            bytes_from_hex(hex), flags};
    return file_of(FileKind::manifest, {state, options, service, two_clients, commits});
  };
  const auto manifest = decode_manifest(decode("07 02 09 08"));
  REQUIRE(manifest.ok());
  CHECK(manifest->call_commits == CallCommits{7, {9, 8}});
  CHECK(decode_manifest(decode("07 02 09 08", 0)).ok());
  const std::string wrong_count = "it does not have one commit for each client";
  CHECK(manifest_reason(decode("07 01 09")) == wrong_count);
  CHECK(manifest_reason(decode("07 03 09 08 07")) == wrong_count);
  const std::string largest = "ffffffffffffff0f";
  const std::string too_large = "8080808080808010";
  CHECK(manifest_reason(decode(largest + " 02 " + largest + " 00")).empty());
  const std::string range = "a commit is out of range";
  CHECK(manifest_reason(decode(too_large + " 02 09 08")) == range);
  CHECK(manifest_reason(decode("07 02 09 " + too_large)) == range);
  CHECK(manifest_reason(decode("07 02 09")) == "it has the wrong length");
  CHECK(manifest_reason(decode("07 02 09 08 00")) == "it has the wrong length");
  const RawRecord none{static_cast<std::uint8_t>(RecordType::manifest_call_commits),
                       bytes_from_hex("00 00"), record_flag_skippable};
  REQUIRE(manifest_reason(manifest_file({none, table("01 03 616263 00 00")})).empty());
  CHECK(manifest_reason(manifest_file({none, none})) == "it is in the wrong place");
  CHECK(manifest_reason(manifest_file({table("01 03 616263 00 00"), none})) ==
        "it is in the wrong place");
}

TEST_CASE("claims are validated") {
  const RawRecord epoch_9{RecordType::manifest_state,
                          bytes_from_hex("09 01 00 e803000000000000 09 09")};
  const auto reason = [&](const std::string& hex) {
    const RawRecord claims{static_cast<std::uint8_t>(RecordType::manifest_claims),
                           bytes_from_hex(hex), record_flag_skippable};
    return manifest_reason(file_of(FileKind::manifest, {epoch_9, options, service, calls, claims,
                                                        table("01 03 616263 00 00")}));
  };
  CHECK(reason("01 00").empty());
  CHECK(reason("09 00").empty());
  CHECK(reason("03 02 05 07 09 06").empty());
  const std::string range = "the epoch of a claim is out of range";
  CHECK(reason("00 00") == range);
  CHECK(reason("0a 00") == range);
  CHECK(reason("03 01 0a 07") == range);
  const std::string order = "the epochs of claims are not in order";
  CHECK(reason("03 01 03 07") == order);
  CHECK(reason("03 02 05 07 05 07") == order);
  CHECK(reason("03 01 05 ffffffffffffff0f").empty());
  CHECK(reason("03 01 05 8080808080808010") == "the last commit of a claim is out of range");
  CHECK(reason("03 02 05 07 06 80") == "it is truncated");
  CHECK(reason("03 01 05 07 06") == "it has the wrong length");
  CHECK(reason("03 07 05 07") == "it has the wrong length");
}

TEST_CASE("the history is validated") {
  // First live sequence 9, last commit 20.
  const RawRecord live_9{RecordType::manifest_state,
                         bytes_from_hex("01 09 14 e803000000000000 09 09")};
  const auto reason = [&](const std::string& hex) {
    const RawRecord history{static_cast<std::uint8_t>(RecordType::manifest_history),
                            bytes_from_hex(hex), record_flag_skippable};
    return manifest_reason(file_of(FileKind::manifest, {live_9, options, service, calls, history}));
  };
  REQUIRE(reason("04 05 02 02 00 44 00 03 07 44 01 00").empty());
  const std::string first = "the first segment or commit of the history is out of range";
  CHECK(reason("00 05 01 09 00 44 00 00") == first);
  CHECK(reason("04 00 01 05 00 44 00 00") == first);
  CHECK(reason("8080808080808010 05 01 05 00 44 00 00") == first);
  CHECK(reason("04 8080808080808010 01 05 00 44 00 00") == first);
  const std::string stretch = "a stretch of the history is out of range";
  CHECK(reason("04 05 01 00 00 44 00 00") == stretch);
  CHECK(reason("04 05 01 06 00 44 00 00") == stretch);
  CHECK(reason("04 05 01 05 ffffffffffffff0f 44 00 00") == stretch);
  CHECK(reason("04 01 01 05 ffffffffffffff0f 44 00 00").empty());
  CHECK(reason("04 05 01 05 00 8080808080808010 00 00") == stretch);
  CHECK(reason("04 05 01 05 00 44 ff0f 00") == "a timestamp is out of range");
  // Three segments of 4096 bytes more than their size, and two such.
  CHECK(reason("04 05 02 03 00 80e0feffffffff0f 00 02 00 00 00 00") == stretch);
  CHECK(reason("04 05 02 03 00 ffdffeffffffff0f 00 02 00 00 00 00").empty());
  const std::string end = "the history does not end at the first live sequence";
  CHECK(reason("04 05 01 04 00 44 00 00") == end);
  CHECK(reason("08 05 00 00") == end);
  CHECK(reason("09 05 00 00").empty());
  CHECK(reason("09 05 00 01 08 03 616263 14").empty());
  CHECK(reason("04 05 01 05 00 44 00 01 08 03 616263 14").empty());
  CHECK(reason("04 05 01 05 00 44 00 01 09 03 616263 14") == "a table id is out of range");
  CHECK(reason("04 05 01 05 00 44 00 01 08 02 6162 14") ==
        "a table has a name that is not allowed");
  CHECK(reason("04 05 01 05 00 44 00 01 08 03 616263 15") ==
        "the commit that dropped a table is out of range");
  const std::string order = "the dropped tables are not in order";
  CHECK(reason("04 05 01 05 00 44 00 01 08 03 616263 04") == order);
  CHECK(reason("04 05 01 05 00 44 00 02 08 03 616263 07 07 03 616263 06") == order);
  CHECK(reason("04 05 01 05 00 44 00 02 08 03 616263 07 07 03 616263 07").empty());
  CHECK(reason("04 05 01 05 00 44 00 00 00") == "it has the wrong length");
  CHECK(reason("04 05 01 05 00 44 00 07") == "it has the wrong length");
}

TEST_CASE("hidden tables are validated") {
  const auto hidden = [](TableId id, const std::string& parts = "00") {
    return RawRecord{RecordType::manifest_hidden_table,
                     test::varint_bytes(id) + bytes_from_hex(parts)};
  };
  const auto synced = [](const std::string& hex) {
    return RawRecord{RecordType::manifest_synced_tables, bytes_from_hex(hex)};
  };
  const auto some_of = [&](TableId owner) {
    std::vector<RawRecord> records;
    for (const HiddenTable kind : {HiddenTable::bases, HiddenTable::outbox, HiddenTable{31}})
      records.push_back(hidden(hidden_table_of(owner, kind)));
    return records;
  };
  const RawRecord abc = table("01 03 616263 00 00");
  const auto reason = [&](std::vector<RawRecord> records, const std::vector<RawRecord>& more) {
    records.insert(records.end(), more.begin(), more.end());
    return manifest_reason(manifest_file(std::move(records)));
  };
  const RawRecord abd = table("02 03 616264 00 00");
  CHECK(reason({abc, abd, synced("01 01")}, some_of(1)).empty());
  CHECK(reason({abc, abd, synced("02 01 02")}, some_of(1)).empty());
  CHECK(reason({abc, abd, synced("01 02")}, {}).empty());
  CHECK(reason({abc}, {synced("00")}).empty());
  const std::string no_owner = "a hidden table belongs to no synced table";
  CHECK(reason({}, some_of(1)) == no_owner);
  CHECK(reason({abc}, some_of(1)) == no_owner);
  CHECK(reason({abc, abd, synced("01 02")}, some_of(1)) == no_owner);
  CHECK(reason({abc, abd, synced("02 01 02")}, some_of(3)) == no_owner);
  const std::string bad_synced = "a synced table is not there, or is not in order";
  CHECK(reason({abc, abd}, {synced("02 02 01")}) == bad_synced);
  CHECK(reason({abc, abd}, {synced("02 01 01")}) == bad_synced);
  CHECK(reason({abc, abd}, {synced("01 03")}) == bad_synced);
  CHECK(reason({abc, abd}, {synced("01 00")}) == "a table id is out of range");
  CHECK(reason({abc, abd}, {synced("01 01 00")}) == "it has the wrong length");
  CHECK(reason({abc}, {synced("01 01"), abd}) == "it is in the wrong place");
  CHECK(reason({abc}, {synced("01 01"), synced("01 01")}) == "it is in the wrong place");
  std::vector<RawRecord> records = some_of(1);
  std::swap(records[1], records[2]);
  CHECK(reason({abc, synced("01 01")}, records) == "the tables are not in order");
  CHECK(reason({abc}, {hidden(1)}) == "the id of a hidden table is out of range");
  CHECK(reason({abc}, {hidden(hidden_table_bit)}) == "a table id is out of range");
  CHECK(reason({}, {table("8080808008 03 616263 00 00")}) == "a table id is out of range");
  records = some_of(1);
  records.push_back(abd);
  CHECK(reason({abc, synced("01 01")}, records) == "it is in the wrong place");
  records = {hidden(hidden_table_of(1, HiddenTable::state), "00 00")};
  CHECK(reason({abc, synced("01 01")}, records) == "it has the wrong length");
}

TEST_CASE("durable readers are validated") {
  const auto reason = [&](const std::string& hex) {
    const RawRecord readers{static_cast<std::uint8_t>(RecordType::manifest_readers),
                            bytes_from_hex(hex), record_flag_skippable};
    return manifest_reason(manifest_file({readers}));
  };
  const std::string time = " 0000000000000000";
  REQUIRE(reason("02 01 61 02 07" + time + " 01 62 00 00" + time).empty());
  CHECK(reason("00").empty());
  const std::string order = "the readers are not in order";
  CHECK(reason("02 01 62 02 07" + time + " 01 61 00 00" + time) == order);
  CHECK(reason("02 01 61 02 07" + time + " 01 61 00 00" + time) == order);
  const std::string name = "the name of a reader is not allowed";
  CHECK(reason("01 00 0202" + time) == name);
  CHECK(reason("01 01 ff 02 02" + time) == name);
  const std::string largest = "ffffffffffffff0f";
  const std::string too_large = "8080808080808010";
  CHECK(reason("01 01 61 " + largest + largest + time).empty());
  const std::string position = "the position of a reader is out of range";
  CHECK(reason("01 01 61 " + too_large + " 00" + time) == position);
  CHECK(reason("01 01 61 00 " + too_large + time) == position);
  CHECK(reason("01 01 61 00 00 ff3f37f47528ca2b").empty());
  CHECK(reason("01 01 61 00 00 0040 37f47528ca2b") == "the time of a reader is out of range");
  CHECK(reason("01 01 61 00 00" + time + " 00") == "it has the wrong length");
  CHECK(reason("01 01 61 8000 00 00000000000000") == "it is truncated");
}

TEST_CASE("the names of readers have a length") {
  CHECK_FALSE(is_feed_reader_name(""));
  CHECK(is_feed_reader_name(std::string(feed_reader_name_bytes_max, 'a')));
  CHECK_FALSE(is_feed_reader_name(std::string(feed_reader_name_bytes_max + 1, 'a')));
}

TEST_CASE("the optional records of a manifest have one order") {
  const RawRecord commits{static_cast<std::uint8_t>(RecordType::manifest_call_commits),
                          bytes_from_hex("00 00"), record_flag_skippable};
  const RawRecord claims{static_cast<std::uint8_t>(RecordType::manifest_claims),
                         bytes_from_hex("01 00"), record_flag_skippable};
  const RawRecord a_table = table("01 03 616263 00 00");
  CHECK(manifest_reason(manifest_file({commits, claims, a_table})).empty());
  CHECK(manifest_reason(manifest_file({claims, a_table})).empty());
  const std::string wrong = "it is in the wrong place";
  CHECK(manifest_reason(manifest_file({claims, commits, a_table})) == wrong);
  CHECK(manifest_reason(manifest_file({claims, claims})) == wrong);
  CHECK(manifest_reason(manifest_file({a_table, claims})) == wrong);
  CHECK(manifest_reason(file_of(FileKind::manifest, {state, claims, options, service, calls})) ==
        wrong);
}

TEST_CASE("tables are validated") {
  const auto reason = [](const std::vector<RawRecord>& tables) {
    return manifest_reason(manifest_file(tables));
  };
  REQUIRE(reason({table("01 03 616263 00 00"), table("08 03 616264 00 00")}).empty());
  CHECK(reason({table("00 03 616263 00 00")}) == "a table id is out of range");
  CHECK(reason({table("09 03 616263 00 00")}) == "a table id is out of range");
  CHECK(reason({table("02 03 616263 00 00"), table("01 03 616264 00 00")}) ==
        "the tables are not in order");
  CHECK(reason({table("01 03 616263 00 00"), table("01 03 616264 00 00")}) ==
        "the tables are not in order");
  CHECK(reason({table("01 03 616263 00 00"), table("02 03 414243 00 00")}) ==
        "two tables have the same name");
  CHECK(reason({table("01 02 6162 00 00")}) == "a table has a name that is not allowed");
  CHECK(reason({table("01 03 616263 01 01 61 08 00")}) == "an access policy has unknown fields");
  CHECK(reason({table("01 03 616263 01 01 61 04 03 7a7a7a 00")}) ==
        "the permission of an access policy is not allowed");
  CHECK(reason({table("01 03 616263 02 01 61 00 01 61 00 00")}) ==
        "two access policies have the same id");
  CHECK(reason({table("01 03 616263 00")}) == "it has the wrong length");
  CHECK(reason({table("01 03 616263 00 00 00")}) == "it has the wrong length");
  CHECK(reason({table("01 03 6162")}) == "it is truncated");
}

TEST_CASE("parts are validated") {
  const std::string head = "01 03 616263 00";
  const auto reason = [&](const std::string& hex) {
    return manifest_reason(manifest_file({table(head + hex)}));
  };
  REQUIRE(reason("02 00 00 01 01 01 00000000 01 61 00 02 01 01 00000000").empty());
  const std::string not_in_order = "the parts are not in order";
  CHECK(reason("02 01 61 00 01 01 01 00000000 01 61 00 02 01 01 00000000") == not_in_order);
  CHECK(reason("02 01 61 01 61 01 01 01 00000000 01 61 00 02 01 01 00000000") == not_in_order);
  CHECK(reason("01 00 00 00 01 01 00000000") == "a part id is out of range");
  CHECK(reason("01 00 00 08 01 01 00000000").empty());
  CHECK(reason("01 00 00 09 01 01 00000000") == "a part id is out of range");
  CHECK(reason("02 00 00 01 01 01 00000000 01 61 00 01 01 01 00000000") ==
        "a part is listed twice");
  CHECK(reason("01 00 00 01 ffffffff0f ffffffffffffff0f 00000000").empty());
  const std::string size = "the number of rows or bytes of a part is out of range";
  CHECK(reason("01 00 00 01 8080808010 01 00000000") == size);
  CHECK(reason("01 00 00 01 01 8080808080808010 00000000") == size);
  CHECK(reason("01 01 2f 00 01 01 01 00000000") == "a key is not allowed");
  CHECK(reason("01 00 01 ff 01 01 01 00000000") == "a key is not valid text");
  CHECK(reason("02 00 00 01 01 01 00000000 01 61 00 02 01 01 000000") == "it is truncated");
  CHECK(reason("ff7f 00 00 01 01 01 00000000") == "it has the wrong length");
  const std::string other = "02 03 616264 00 01 00 00 01 01 01 00000000";
  CHECK(manifest_reason(manifest_file({table(head + "01 00 00 01 01 01 00000000"),
                                       table(other)})) == "a part is listed twice");
}

TEST_CASE("the records of a manifest have one order") {
  const std::vector<RawRecord> good = {state, options, service, calls};
  REQUIRE(manifest_error(file_of(FileKind::manifest, good)).empty());
  for (std::size_t count = 0; count < good.size(); ++count) {
    const std::vector<RawRecord> fewer(good.begin(), good.begin() + static_cast<long>(count));
    CHECK(manifest_error(file_of(FileKind::manifest, fewer)) == "the manifest lacks records");
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<RawRecord> wrong = good;
    wrong.insert(wrong.begin() + static_cast<long>(i), good[i]);
    CHECK(manifest_reason(file_of(FileKind::manifest, wrong)) == "it is in the wrong place");
  }
  CHECK(manifest_error(file_of(FileKind::manifest, {options, state, service, calls})) ==
        "record 1 (manifest options) at byte 16: it is in the wrong place");
  CHECK(manifest_reason(manifest_file({{RecordType::commit, "x"}})) == "it is in the wrong place");
}

TEST_CASE("additions of newer versions to a manifest are skipped or rejected") {
  const RawRecord skippable{200, "whatever", record_flag_skippable};
  std::vector<RawRecord> records = {skippable, state, skippable, options,
                                    service,   calls, skippable};
  CHECK(manifest_error(file_of(FileKind::manifest, records)).empty());
  records.push_back({200, "whatever"});
  const auto needed = decode_manifest(file_of(FileKind::manifest, records));
  REQUIRE(!needed.ok());
  CHECK(needed.error().code == ErrorCode::format_too_new);
  const auto newer = decode_manifest(file_of(FileKind::manifest, {}, format_major + 1));
  REQUIRE(!newer.ok());
  CHECK(newer.error().code == ErrorCode::format_too_new);
}
