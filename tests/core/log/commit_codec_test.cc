#include "core/log/commit_codec.h"

#include <deque>

#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/log_files.h"

using namespace entitable;

namespace {

constexpr Ticks last = 1'000'000;

// Stores the bytes for the whole run, because the returned commit views them.
Result<Commit> decode(std::string_view payload, bool uses_hidden_tables = false) {
  static std::deque<std::string> payloads;
  static std::deque<PropertyViewArena> rows;
  ShapeDictionary shapes;
  return decode_commit(payloads.emplace_back(payload), shapes, rows.emplace_back(),
                       uses_hidden_tables);
}

std::string error_of(std::string_view payload, bool uses_hidden_tables = false) {
  const Result<Commit> commit = decode(payload, uses_hidden_tables);
  if (commit.ok()) return "";
  CHECK(commit.error().code == ErrorCode::corrupted);
  return commit.error().message;
}

// The bytes before the mutations: number 1, one shape {a: Int32}, last timestamp, no call.
std::string head(std::uint8_t mutations) {
  std::string out = test::bytes_from_hex("01 01 00 01 07 01 61");
  ByteWriter(out).u64(last);
  return out + '\0' + static_cast<char>(mutations);
}

// put: table 1, partition "p", row "r", ticks `last`, shape 1, value 5
const std::string put = test::bytes_from_hex("01 01 01 70 01 72 01 01 05000000");
// Another put, written relative to `put`: row "s", value 6
const std::string put_in_same_partition = test::bytes_from_hex("02 01 73 01 01 06000000");

Entity entity_of(std::string_view row, Ticks timestamp) {
  return Entity{EntityKey("p", row), timestamp, {{"a", Value::of_int32(5)}}};
}

}  // namespace

TEST_CASE("a commit has the layout of FORMAT.md") {
  Commit commit;
  commit.number = 1;
  commit.last_timestamp = last;
  commit.mutations = {test::put_row(1, entity_of("r", last))};
  CHECK(encode_commit(commit) == head(1) + put);
  commit.mutations.push_back(test::put_row(1, entity_of("s", last - 1)));
  CHECK(encode_commit(commit) == head(2) + put + test::bytes_from_hex("02 01 73 03 01 05000000"));
  commit.mutations.push_back(DeleteRow{1, EntityKey("p", "t")});
  commit.mutations.push_back(DeleteRow{2, EntityKey("p", "t")});
  commit.mutations.push_back(DeleteRow{2, EntityKey("", "t")});
  CHECK(encode_commit(commit) ==
        head(5) + put + test::bytes_from_hex("02 01 73 03 01 05000000 04 01 74 03 02 01 70 01 74") +
            test::bytes_from_hex("03 02 00 01 74"));
}

TEST_CASE("mutations other than rows have their layout too") {
  Commit commit;
  commit.number = 300;
  commit.last_timestamp = last;
  commit.call = ClientCall{ClientId{1, 2}, 9, {0, last, last - 2}};
  commit.mutations = {CreateTable{1, "Abc"}, DropTable{2}, SetTableAcl{3, {}},
                      SetServiceProperties{"<x/>"}};
  std::string expected = test::bytes_from_hex("ac02 00");
  ByteWriter(expected).u64(last);
  expected += test::bytes_from_hex("01 0102") + std::string(14, '\0') +
              test::bytes_from_hex("09 03 00 01 05");
  expected += test::bytes_from_hex("04 05 01 03 416263 06 02 07 03 00 08 04") + "<x/>";
  CHECK(encode_commit(commit) == expected);
  const Result<Commit> read = decode(expected);
  REQUIRE(read.ok());
  CHECK(*read == commit);
}

TEST_CASE("random commits are read back, and equal commits have equal bytes") {
  constexpr std::uint64_t seed = 33;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (std::uint64_t round = 1; round <= 1000; ++round) {
    const Commit commit = test::random_commit(prng, round);
    const std::string bytes = encode_commit(commit);
    CHECK(encode_commit(Commit(commit)) == bytes);
    CHECK(commit_number(bytes) == round);
    const Result<Commit> read = decode(bytes, uses_hidden_tables(commit));
    REQUIRE(read.ok());
    REQUIRE(*read == commit);
  }
}

TEST_CASE("a commit may have no mutations") {
  Commit commit;
  commit.number = 1;
  const Result<Commit> read = decode(encode_commit(commit));
  REQUIRE(read.ok());
  CHECK(*read == commit);
}

TEST_CASE("the largest entity and the longest keys are read back") {
  Commit commit;
  commit.number = counter_max;
  commit.last_timestamp = limits::date_time_ticks_max;
  Entity entity;
  entity.key = EntityKey(std::string(limits::key_units_max, 'p'), std::string());
  entity.timestamp = limits::date_time_ticks_max;
  for (int i = 0; i < 15; ++i) {
    entity.properties.push_back(
        {"s" + std::to_string(i), Value::of_string(std::string(limits::string_units_max, 'x'))});
  }
  for (std::size_t i = entity.properties.size(); i < limits::custom_properties_max; ++i) {
    entity.properties.push_back({"p" + std::to_string(i), Value::of_boolean(true)});
  }
  REQUIRE(check_entity(entity).ok());
  commit.mutations = {test::put_row(table_id_max, entity)};
  const Result<Commit> read = decode(encode_commit(commit));
  REQUIRE(read.ok());
  CHECK(*read == commit);
}

TEST_CASE("a row owned elsewhere is written like a row that the commit owns") {
  const Entity entity = entity_of("r", last);
  const std::vector<PropertyView> properties = property_views(entity.properties);
  Commit commit;
  commit.number = 1;
  commit.last_timestamp = last;
  commit.mutations = {test::put_row(1, entity)};
  const std::string owning = encode_commit(commit);
  commit.mutations = {PutRow{1, entity.key.view(), last, properties}};
  CHECK(encode_commit(commit) == owning);
}

TEST_CASE("a cached definition and earlier records do not change the bytes") {
  const auto single = [](std::uint64_t number, const std::string& text) {
    Commit commit;
    commit.number = number;
    commit.last_timestamp = last;
    commit.mutations = {
        test::put_row(1, {EntityKey("p", "r"), last, {{"text", Value::of_string(text)}}})};
    return commit;
  };
  PendingRecords records;
  const auto encode_behind = [&](const Commit& commit) {
    records.add(records.size() + 1, encode_commit(commit, records));
    return records[records.size() - 1];
  };
  std::uint64_t number = 0;
  for (const std::size_t size : {10, 1000, 0, 200, 1}) {
    Commit commit = single(++number, std::string(size, 'x'));
    const std::string plain = encode_commit(commit);
    CHECK(encode_behind(commit) == plain);
    auto& row = std::get<PutRow>(commit.mutations[0]);
    std::string definition;
    append_definition(row.properties, definition);
    row.encoded_definition = definition;
    CHECK(encode_behind(commit) == plain);
    commit.call = ClientCall{{1, 2, 3}, 4, {last}};
    const Result<Commit> read = decode(encode_behind(commit));
    REQUIRE(read.ok());
    CHECK(*read == commit);
  }
}

TEST_CASE("rows of equal shape are written like any others, and recognised when they are read") {
  const std::vector<Property> a = {{"a", Value::of_int32(1)}};
  const std::vector<Property> b = {{"b", Value::of_int32(1)}};
  Commit commit;
  commit.number = 1;
  commit.last_timestamp = last;
  for (const auto& [row, properties] : {std::pair("1", a), {"2", a}, {"3", b}, {"4", b}}) {
    commit.mutations.push_back(test::put_row(1, {EntityKey("p", row), last, properties}));
  }
  const std::string plain = encode_commit(commit);
  std::get<PutRow>(commit.mutations[1]).same_shape_as_previous = true;
  std::get<PutRow>(commit.mutations[3]).same_shape_as_previous = true;
  CHECK(encode_commit(commit) == plain);
  ShapeDictionary shapes;
  PropertyViewArena rows;
  const Result<Commit> read = decode_commit(plain, shapes, rows);
  REQUIRE(read.ok());
  std::vector<bool> same_shape_as_previous;
  for (const Mutation& row : read->mutations)
    same_shape_as_previous.push_back(std::get<PutRow>(row).same_shape_as_previous);
  CHECK(same_shape_as_previous == std::vector<bool>{false, true, false, true});
}

TEST_CASE("shapes that the segment has are not written again") {
  Commit commit;
  commit.number = 1;
  commit.last_timestamp = last;
  commit.mutations = {test::put_row(1, entity_of("r", last))};
  const std::string standalone = encode_commit(commit);
  ShapeNumbers numbers;
  std::string first;
  append_commit_payload(standalone, numbers, first);
  CHECK(first == standalone);
  std::string second = "kept";
  append_commit_payload(standalone, numbers, second);
  CHECK(second == "kept" + test::bytes_from_hex("01 01 01") + standalone.substr(7));

  ShapeDictionary shapes;
  PropertyViewArena rows;
  CHECK(decode_commit(first, shapes, rows).ok());
  const auto read = decode_commit(std::string_view(second).substr(4), shapes, rows);
  REQUIRE(read.ok());
  CHECK(*read == commit);
  CHECK(error_of(std::string_view(second).substr(4)) == "a row has an undefined shape");
}

TEST_CASE("a truncated or overlong commit is invalid") {
  const std::string good = head(2) + put + put_in_same_partition;
  REQUIRE(error_of(good).empty());
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK(!error_of(good.substr(0, size)).empty());
  }
  CHECK(error_of(good + '\0') == "bytes follow its last mutation");
  CHECK(error_of(head(1) + put + put_in_same_partition) == "bytes follow its last mutation");
  CHECK(error_of(head(3) + put + put_in_same_partition) == "mutation 3: it is truncated");
  CHECK(error_of(head(100) + put) == "it has fewer mutations than its count");
}

TEST_CASE("the head of a commit is checked") {
  std::string bytes = head(0);
  REQUIRE(error_of(bytes).empty());
  bytes[0] = 0;
  CHECK(error_of(bytes) == "a commit has the number 0");

  const std::string start = test::bytes_from_hex("01 00");
  const auto with_last = [&](Ticks ticks) {
    std::string out = start;
    ByteWriter(out).u64(static_cast<std::uint64_t>(ticks));
    return out + test::bytes_from_hex("00 00");
  };
  CHECK(error_of(with_last(0)).empty());
  CHECK(error_of(with_last(limits::date_time_ticks_max)).empty());
  CHECK(error_of(with_last(limits::date_time_ticks_max + 1)) ==
        "the last timestamp is out of range");
  CHECK(error_of(with_last(-1)) == "the last timestamp is out of range");
  bytes = with_last(0);
  bytes[10] = 2;
  CHECK(error_of(bytes) == "it has an invalid call flag");
  CHECK(error_of(test::bytes_from_hex("01 01 01")) == "a row has an undefined shape");
  CHECK(error_of(test::bytes_from_hex("01 ff7f")) == "it is truncated");
}

TEST_CASE("mutations are checked") {
  const auto error = [](std::string_view hex) {
    return error_of(head(2) + put + test::bytes_from_hex(hex));
  };
  REQUIRE(error("04 01 73").empty());
  CHECK(error("00 00") == "mutation 2: the kind of mutation is unknown");
  CHECK(error("09 00") == "mutation 2: the kind of mutation is unknown");
  CHECK(error("01 00 01 70 01 73 01 01 00000000") == "mutation 2: a table id is out of range");
  CHECK(error("02 01 2f 01 01 00000000") == "mutation 2: a key is not allowed");
  CHECK(error("02 01 ff 01 01 00000000") == "mutation 2: a key is not valid text");
  CHECK(error("04 01 2f") == "mutation 2: a key is not allowed");
  CHECK(error("02 01 73 00 01 00000000") == "mutation 2: a row has no timestamp");
  CHECK(error("02 01 73 02 01 00000000") == "mutation 2: a row is newer than the last timestamp");
  CHECK(error("02 01 73 01 00 00000000") == "mutation 2: a row has an undefined shape");
  CHECK(error("02 01 73 01 02 00000000") == "mutation 2: a row has an undefined shape");
  CHECK(error("02 01 73 01 01 000000") == "mutation 2: it is truncated");
  CHECK(error("05 01 02 4142") == "mutation 2: a table has a name that is not allowed");
  CHECK(error("05 01 06 7461626c6573") == "mutation 2: a table has a name that is not allowed");
  CHECK(error("05 01 03 41ff42") == "mutation 2: a table has a name that is not allowed");
  CHECK(error("05 00 03 414243") == "mutation 2: a table id is out of range");
  CHECK(error("06 00") == "mutation 2: a table id is out of range");
  CHECK(error("07 01 01 01 61 08") == "mutation 2: an access policy has unknown fields");
  CHECK(error("08 05 00") == "mutation 2: it is truncated");
}

TEST_CASE("only a commit with hidden tables can change them") {
  const auto error = [](const std::string& mutation, bool uses_hidden_tables) {
    return error_of(head(2) + put + mutation, uses_hidden_tables);
  };
  const std::string rest = test::bytes_from_hex("01 70 01 73");
  const auto erase = [&](TableId table) { return "\3" + test::varint_bytes(table) + rest; };
  const std::string range = "mutation 2: a table id is out of range";
  for (const TableId owner : {TableId{1}, synced_table_id_max}) {
    const TableId last_kind =
        hidden_table_of(owner, static_cast<HiddenTable>(hidden_table_kind_mask));
    for (const TableId id : {hidden_table_of(owner, HiddenTable::bases), last_kind}) {
      CHECK(error(erase(id), true).empty());
      CHECK(error(erase(id), false) == range);
    }
    if (owner == synced_table_id_max) CHECK(last_kind == 0xFFFF'FFFF);
    const std::string set = "\11" + test::varint_bytes(owner);
    CHECK(error(set + '\1', true).empty());
    CHECK(error(set + '\0', true).empty());
    CHECK(error(set + '\2', true) == "mutation 2: it has an invalid flag");
    CHECK(error(set, true) == "mutation 2: it is truncated");
    CHECK(error(set + '\1', false) == "mutation 2: the kind of mutation is unknown");
  }
  CHECK(error(erase(hidden_table_bit), true) == range);
  CHECK(error(erase(table_id_max), false).empty());
  CHECK(error("\11" + test::varint_bytes(synced_table_id_max + 1) + '\1', true) == range);
  const TableId hidden = hidden_table_of(1, HiddenTable::marks);
  for (const char* const kind : {"\5", "\6", "\7", "\11"})
    CHECK(error(kind + test::varint_bytes(hidden) + '\0', true) == range);
}

TEST_CASE("a row written relative to the previous row needs a previous row") {
  CHECK(error_of(head(1) + put_in_same_partition) == "mutation 1: no entity mutation precedes it");
  CHECK(error_of(head(2) + test::bytes_from_hex("06 01 04 01 72")) ==
        "mutation 2: no entity mutation precedes it");
  CHECK(error_of(head(3) + put + test::bytes_from_hex("06 01") + put_in_same_partition).empty());
}
