#include "core/log/part_codec.h"

#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/log_files.h"

using namespace entitable;
using entitable::test::bytes_from_hex;
using entitable::test::file_of;
using entitable::test::RawRecord;

namespace {

Error part_error(std::string_view file) {
  const Result<Part> part = decode_part(file);
  REQUIRE(!part.ok());
  return part.error();
}

// Part 12 of table 3, from ("p", "b") to ("q", "").
const std::string header = bytes_from_hex("0c 03 01 70 01 62 01 01 71 00");

std::string part_file(const std::string& rows, const std::string& header_payload = header) {
  return file_of(FileKind::part,
                 {{RecordType::part_header, header_payload}, {RecordType::part_rows, rows}});
}

std::string rows_error(std::string_view hex) {
  const std::string place = "record 2 (part rows) at byte 36: ";
  const Error error = part_error(part_file(bytes_from_hex(hex)));
  CHECK(error.code == ErrorCode::corrupted);
  REQUIRE(error.message.substr(0, place.size()) == place);
  return error.message.substr(place.size());
}

std::string header_error(std::string_view hex) {
  const std::string place = "record 1 (part header) at byte 16: ";
  const Error error = part_error(part_file(bytes_from_hex("00000000"), bytes_from_hex(hex)));
  CHECK(error.code == ErrorCode::corrupted);
  REQUIRE(error.message.substr(0, place.size()) == place);
  return error.message.substr(place.size());
}

Entity row_of(std::string_view partition, std::string_view row, Ticks timestamp) {
  return Entity{EntityKey(partition, row), timestamp, {{"a", Value::of_boolean(true)}}};
}

}  // namespace

TEST_CASE("a part has the layout of FORMAT.md") {
  PartWriter writer(12, 3, KeyView{"p", "b"}, KeyView{"q", ""});
  test::write_row(writer, row_of("p", "b", 1));
  test::write_row(writer, row_of("p", "c", 1));
  test::write_row(writer, row_of("pp", "a", 2));
  CHECK(writer.row_count() == 3);
  const std::string file = std::move(writer).finish();
  CHECK(file == part_file(bytes_from_hex("03000000  01 01 03 01 61  01 70 01 62  02 01"
                                         "02 01 63 01 01  03 02 7070 01 61 02 01")));
}

TEST_CASE("a part is read back with its header") {
  const std::vector<Entity> rows = {row_of("p", "b", 1), row_of("p", "c", 9), row_of("pp", "a", 2)};
  PartWriter writer(12, 3, KeyView{"p", "b"}, KeyView{"q", ""});
  for (const Entity& row : rows) test::write_row(writer, row);
  const std::string file = std::move(writer).finish();
  const Result<Part> part = decode_part(file);
  REQUIRE(part.ok());
  CHECK(part->id == 12);
  CHECK(part->table == 3);
  CHECK(part->lower == EntityKey("p", "b"));
  CHECK(part->upper == EntityKey("q", ""));
  CHECK(part->row_count == 3);
  CHECK(part->checksum == part_checksum(file));
  CHECK(part->rows == rows);
}

TEST_CASE("a part may have no rows, and no upper bound") {
  const Result<Part> part = decode_part(test::part_of(1, table_id_max, {}));
  REQUIRE(part.ok());
  CHECK(part->rows.empty());
  CHECK(part->table == table_id_max);
  CHECK(part->lower == EntityKey());
  CHECK(!part->upper.has_value());
}

TEST_CASE("random parts are read back, and equal rows give equal bytes") {
  constexpr std::uint64_t seed = 35;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 100; ++round) {
    const std::vector<Entity> rows = test::random_rows(prng, 60);
    const std::string file = test::part_of(4, 5, rows);
    CHECK(test::part_of(4, 5, rows) == file);
    const Result<Part> part = decode_part(file);
    REQUIRE(part.ok());
    REQUIRE(part->rows == rows);
  }
}

TEST_CASE("a part is read row by row without entities") {
  constexpr std::uint64_t seed = 36;
  CAPTURE(seed);
  test::Prng prng(seed);
  const std::vector<Entity> rows = test::random_rows(prng, 300);
  const std::string file = test::part_of(4, 5, rows);
  auto reader = PartReader::open(file);
  REQUIRE(reader.ok());
  CHECK(reader->header().row_count == rows.size());
  for (const Entity& row : rows) {
    const Result<bool> more = reader->next();
    REQUIRE(more.ok());
    REQUIRE(*more);
    CHECK(compare(reader->key(), row.key.view()) == 0);
    CHECK(reader->timestamp() == row.timestamp);
    REQUIRE(reader->properties().size() == row.properties.size());
    for (std::size_t i = 0; i < row.properties.size(); ++i) {
      CHECK(reader->properties()[i].name == row.properties[i].name);
      CHECK(reader->properties()[i].value == row.properties[i].value.view());
    }
  }
  const Result<bool> more = reader->next();
  REQUIRE(more.ok());
  CHECK(!*more);
}

TEST_CASE("a part's size is known while it is written") {
  PartWriter writer(1, 1);
  const std::size_t before = writer.size();
  test::write_row(writer, row_of("p", "b", 1));
  CHECK(writer.size() > before);
  const std::size_t after = writer.size();
  const std::size_t ends = record_layout::checksum_bytes + record_layout::end_bytes;
  CHECK(std::move(writer).finish().size() == after + ends);
}

TEST_CASE("many shapes are not confused") {
  std::vector<Entity> rows;
  for (int i = 0; i < 600; ++i) {
    Entity row{EntityKey("p", std::to_string(1000 + i)), 5 + i, {}};
    const int shape = i % 3 == 0 ? 0 : i % 200;
    row.properties.push_back({"n" + std::to_string(shape), Value::of_int32(i)});
    row.properties.push_back({"m", shape % 2 == 0 ? Value::of_int64(i) : Value::of_string("x")});
    rows.push_back(std::move(row));
  }
  const Result<Part> part = decode_part(test::part_of(1, 1, rows));
  REQUIRE(part.ok());
  CHECK(part->rows == rows);
}

TEST_CASE("a part's checksum depends on its content") {
  CHECK(part_checksum(test::part_of(1, 1, {})) != part_checksum(test::part_of(2, 1, {})));
  CHECK(part_checksum(test::part_of(1, 1, {row_of("p", "r", 1)})) !=
        part_checksum(test::part_of(1, 1, {row_of("p", "r", 2)})));
}

TEST_CASE("the header of a part is validated") {
  CHECK(header_error("00 03 00 00 00") == "the part id is 0");
  CHECK(header_error("8080808080808010 03 00 00 00") == "the part id is out of range");
  CHECK(PartReader::open(
            part_file(bytes_from_hex("00000000"), bytes_from_hex("ffffffffffffff0f 03 00 00 00")))
            .ok());
  CHECK(header_error("0c 00 00 00 00") == "a table id is out of range");
  CHECK(header_error("0c 03 00 00 02") == "the range has an invalid end flag");
  CHECK(header_error("0c 03 00 00") == "it has the wrong length");
  CHECK(header_error("0c 03 00 00 00 00") == "it has the wrong length");
  CHECK(header_error("0c 03 00 00 01 01 61") == "it has the wrong length");
  CHECK(header_error("0c 03 01 2f 00 00") == "a key is not allowed");
  CHECK(header_error("0c 03 00 01 ff 00") == "a key is not valid text");
  CHECK(header_error("0c 03 00 00 01 01 2f 00") == "a key is not allowed");
  CHECK(header_error("0c 03 01 61 00 01 01 61 00") == "the range is empty");
  CHECK(header_error("0c 03 01 62 00 01 01 61 00") == "the range is empty");
}

TEST_CASE("rows are validated") {
  REQUIRE(decode_part(part_file(bytes_from_hex("01000000 01 01 03 01 61 01 70 01 62 02 01"))).ok());
  CHECK(rows_error("00") == "it is truncated");
  CHECK(rows_error("00000000 00") == "bytes follow its last row");
  CHECK(rows_error("01000000") == "row 1: it is truncated");
  CHECK(rows_error("ffffffff 01 00 01 70 01 62 02") == "row 2: it is truncated");
  CHECK(rows_error("01000000 03 01 70 01 62 02 01") == "row 1: it has an undefined shape");
  CHECK(rows_error("01000000 00 00 01 62 02") == "row 1: it has no partition");
  CHECK(rows_error("01000000 01 00 01 ff 01 62 02") == "row 1: a key is not valid text");
  CHECK(rows_error("01000000 01 00 01 70 01 7f 03") == "row 1: a key is not allowed");
  CHECK(rows_error("01000000 01 00 01 70 01 62 00") == "row 1: it has no timestamp");
  CHECK(rows_error("01000000 01 00 01 70 01 62 03") == "row 1: a timestamp is out of range");
  CHECK(rows_error("01000000 01 01 03 01 61 01 70 01 62 02 02") ==
        "row 1: a Boolean is neither true nor false");
  CHECK(rows_error("02000000 01 00 01 70 01 62 02 02 01 ff 01") ==
        "row 2: a key is not valid text");
  CHECK(rows_error("01000000 01 01 00 01 61 01 70 01 62 02") ==
        "row 1: a property has an unknown type");
}

TEST_CASE("rows are in order, each once, inside the range") {
  REQUIRE(decode_part(part_file(bytes_from_hex("02000000 01 00 01 70 01 62 02 02 01 63 01"))).ok());
  const std::string not_above = "row 2: its key is not above that of the row before";
  CHECK(rows_error("02000000 01 00 01 70 01 63 02 02 01 63 01") == not_above);
  CHECK(rows_error("02000000 01 00 01 70 01 63 02 02 01 62 01") == not_above);
  CHECK(rows_error("02000000 01 00 02 7062 01 63 02 03 02 7061 01 63 01") == not_above);
  CHECK(rows_error("02000000 01 00 01 70 01 63 02 03 01 70 01 64 01") ==
        "row 2: it repeats the partition of the row before");
  CHECK(rows_error("01000000 01 00 01 70 01 61 02") == "row 1: it is below the range of the part");
  CHECK(rows_error("01000000 01 00 01 71 00 02") == "row 1: it is above the range of the part");
  REQUIRE(decode_part(part_file(bytes_from_hex("01000000 01 00 02 7070 00 02"))).ok());
}

TEST_CASE("the order is that of UTF-16 units") {
  // U+10000 (D800 DC00) is below U+E000, although its bytes are above.
  const std::vector<Entity> rows = {row_of("p", "\xF0\x90\x80\x80", 1),
                                    row_of("p", "\xEE\x80\x80", 1)};
  CHECK(decode_part(test::part_of(1, 1, rows)).ok());
  CHECK(part_error(file_of(FileKind::part,
                           {{RecordType::part_header, bytes_from_hex("01 01 00 00 00")},
                            {RecordType::part_rows,
                             bytes_from_hex("02000000 01 00 00 03 ee8080 02 02 04 f0908080 01")}}))
            .message.find("row 2: its key is not above") != std::string::npos);
}

TEST_CASE("a part of a hidden table has a header of another type") {
  const std::string hidden_id = "ff80808008";  // 2^31 + 127: kind 31 of table 3
  const TableId table = hidden_table_of(3, HiddenTable{31});
  PartWriter writer(12, table, KeyView{"p", "b"}, KeyView{"q", ""});
  const std::string file = std::move(writer).finish();
  const std::string payload = bytes_from_hex("0c " + hidden_id + " 01 70 01 62 01 01 71 00");
  const RawRecord rows{RecordType::part_rows, bytes_from_hex("00000000")};
  CHECK(file == file_of(FileKind::part, {{RecordType::hidden_part_header, payload}, rows},
                        format_major, minor_of_hidden_parts));
  REQUIRE(decode_part(file).ok());
  CHECK(decode_part(file)->table == table);
  // Neither type may have the other's tables.
  CHECK(part_error(part_file("00000000", payload)).message.find("table id") != std::string::npos);
  CHECK(part_error(file_of(FileKind::part, {{RecordType::hidden_part_header, header}, rows}))
            .message.find("hidden table") != std::string::npos);
}

TEST_CASE("the records of a part are a header and rows") {
  const RawRecord head{RecordType::part_header, header};
  const RawRecord rows{RecordType::part_rows, bytes_from_hex("00000000")};
  REQUIRE(decode_part(file_of(FileKind::part, {head, rows})).ok());
  CHECK(part_error(file_of(FileKind::part, {})).message == "the part has no header or no rows");
  CHECK(part_error(file_of(FileKind::part, {head})).message == "the part has no header or no rows");
  CHECK(part_error(file_of(FileKind::part, {rows, head})).message ==
        "record 1 (part rows) at byte 16: it is in the wrong place");
  CHECK(part_error(file_of(FileKind::part, {head, head})).message ==
        "record 2 (part header) at byte 36: it is in the wrong place");
  CHECK(part_error(file_of(FileKind::part, {head, rows, rows})).message ==
        "record 3 (part rows) at byte 50: it is in the wrong place");
}

TEST_CASE("additions of newer versions to a part are skipped or rejected") {
  const RawRecord head{RecordType::part_header, header};
  const RawRecord rows{RecordType::part_rows, bytes_from_hex("00000000")};
  const RawRecord skippable{200, "whatever", record_flag_skippable};
  CHECK(decode_part(file_of(FileKind::part, {skippable, head, skippable, rows, skippable})).ok());
  CHECK(part_error(file_of(FileKind::part, {head, {200, "whatever"}, rows})).code ==
        ErrorCode::format_too_new);
  CHECK(part_error(file_of(FileKind::part, {head, rows}, format_major + 1)).code ==
        ErrorCode::format_too_new);
}
