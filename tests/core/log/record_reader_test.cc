#include "core/log/record_reader.h"

#include "tests/support/catch.h"
#include "tests/support/log_files.h"

using namespace entitable;
using entitable::test::file_of;
using entitable::test::RawRecord;

namespace {

struct Read {
  std::vector<std::string> payloads;
  std::optional<Error> error;
};

Read read_all(std::string_view file, FileKind kind = FileKind::segment) {
  Read read;
  auto reader = RecordReader::open(file, kind);
  if (!reader.ok()) return {{}, reader.error()};
  while (true) {
    const auto record = reader->next();
    if (!record.ok()) {
      read.error = record.error();
      return read;
    }
    if (!*record) return read;
    read.payloads.emplace_back((*record)->payload);
  }
}

Error error_of(std::string_view file, FileKind kind = FileKind::segment) {
  const Read read = read_all(file, kind);
  REQUIRE(read.error.has_value());
  return *read.error;
}

constexpr std::uint8_t unknown_type = 99;

}  // namespace

TEST_CASE("records are read back in order") {
  const std::string file =
      file_of(FileKind::segment, {{RecordType::commit, "one"}, {RecordType::commit, ""}});
  const Read read = read_all(file);
  CHECK(!read.error.has_value());
  CHECK(read.payloads == std::vector<std::string>{"one", ""});
}

TEST_CASE("records know their offsets") {
  const std::string file =
      file_of(FileKind::segment, {{RecordType::commit, "one"}, {RecordType::part_rows, "two"}});
  auto reader = RecordReader::open(file, FileKind::segment);
  REQUIRE(reader.ok());
  REQUIRE(reader->next().ok());
  const auto second = reader->next();
  REQUIRE(second.ok());
  CHECK((*second)->type == RecordType::part_rows);
  CHECK(record_location_text(**second) == "record 2 (part rows) at byte 29");
  CHECK(invalid_payload_error(**second, "it is bad") ==
        Error(ErrorCode::corrupted, "record 2 (part rows) at byte 29: it is bad"));
  REQUIRE(reader->next().ok());
  CHECK(reader->file_checksum() == part_checksum(file));
}

TEST_CASE("a file of another kind is corrupted") {
  const std::string file = file_of(FileKind::part, {});
  CHECK(error_of(file) == Error(ErrorCode::corrupted, "header: this is not a segment file"));
  CHECK(error_of("manifest manifest", FileKind::manifest) ==
        Error(ErrorCode::corrupted, "header: this is not a manifest file"));
  CHECK(error_of(file, FileKind::manifest).message == "header: this is not a manifest file");
  CHECK(error_of(file_of(FileKind::segment, {}), FileKind::part).message ==
        "header: this is not a part file");
}

TEST_CASE("a file without a complete header is corrupted") {
  CHECK(error_of("") == Error(ErrorCode::corrupted, "header: the file is truncated"));
  CHECK(error_of(file_of(FileKind::segment, {}).substr(0, 15)).message ==
        "header: the file is truncated");
}

TEST_CASE("a newer major version is rejected, a newer minor version is not") {
  const std::vector<RawRecord> records = {{RecordType::commit, "x"}};
  CHECK(error_of(file_of(FileKind::segment, records, 2, 0)) ==
        Error(ErrorCode::format_too_new,
              "header: the format is version 2, this program reads up to 1"));
  CHECK(!read_all(file_of(FileKind::segment, records, 1, 7)).error.has_value());
  CHECK(error_of(file_of(FileKind::segment, records, 0, 9)) ==
        Error(ErrorCode::corrupted, "header: the format version is invalid"));
}

TEST_CASE("a damaged version number is damage and not a newer version") {
  std::string file = file_of(FileKind::segment, {});
  file[8] = 2;
  CHECK(error_of(file) == Error(ErrorCode::corrupted, "header: the checksum is wrong"));
}

TEST_CASE("unknown records are skipped only if they are marked as skippable") {
  const auto file = [](std::uint8_t flags) {
    return file_of(
        FileKind::segment,
        {{RecordType::commit, "a"}, {unknown_type, "?", flags}, {RecordType::commit, "b"}});
  };
  CHECK(read_all(file(record_flag_skippable)).payloads == std::vector<std::string>{"a", "b"});
  CHECK(!read_all(file(record_flag_skippable)).error.has_value());
  CHECK(!read_all(file(0x80 | record_flag_skippable)).error.has_value());
  const Read read = read_all(file(0));
  CHECK(read.payloads == std::vector<std::string>{"a"});
  CHECK(read.error ==
        Error(ErrorCode::format_too_new,
              "record 2 (type 99) at byte 27: this program does not know such records"));
}

TEST_CASE("unknown flags of a known record mean a newer format") {
  CHECK(error_of(file_of(FileKind::segment,
                         {{static_cast<std::uint8_t>(RecordType::commit), "a", 2}})) ==
        Error(ErrorCode::format_too_new,
              "record 1 (commit) at byte 16: this program does not know its flags"));
  CHECK(!read_all(file_of(FileKind::segment, {{static_cast<std::uint8_t>(RecordType::commit), "a",
                                               record_flag_skippable}}))
             .error.has_value());
}

TEST_CASE("damage is reported with its offset") {
  const std::string file = file_of(FileKind::segment, {{RecordType::commit, "abc"}});
  const auto damaged = [&](std::size_t at, char byte) {
    std::string bytes = file;
    bytes[at] = byte;
    return error_of(bytes);
  };
  CHECK(damaged(22, 'x') ==
        Error(ErrorCode::corrupted, "record 1 (commit) at byte 16: the checksum is wrong"));
  CHECK(damaged(20, 1).message == "record 1 (commit) at byte 16: it runs past the end of the file");
  CHECK(error_of(file.substr(0, 29)) ==
        Error(ErrorCode::corrupted,
              "byte 29: the file ends without its end record; it is truncated"));
  CHECK(error_of(file.substr(0, 33)).message ==
        "record 2 (end) at byte 29: it runs past the end of the file");
  CHECK(error_of(file + '\0').message == "record 2 (end) at byte 29: the file continues after it");
  CHECK(error_of(file + file).message == "record 2 (end) at byte 29: the file continues after it");
}

TEST_CASE("complete records that are lost or moved are detected") {
  const std::vector<RawRecord> records = {
      {RecordType::commit, "a"}, {RecordType::commit, "b"}, {RecordType::commit, "a"}};
  const std::string file = file_of(FileKind::segment, records);
  constexpr std::size_t record_bytes = 11;
  CHECK(error_of(std::string(file).erase(16, record_bytes)) ==
        Error(ErrorCode::corrupted, "record 3 (end) at byte 38: it counts 3 records, there are 2"));
  const std::string swapped =
      file.substr(0, 16) + file.substr(27, 11) + file.substr(16, 11) + file.substr(38);
  CHECK(error_of(swapped) ==
        Error(ErrorCode::corrupted,
              "record 4 (end) at byte 49: the records are not those that were written"));
}

TEST_CASE("an end record of the wrong length is invalid") {
  std::string file = file_of(FileKind::segment, {});
  file.resize(record_layout::header_bytes);
  const std::string end = test::bytes_from_hex("7f 00 04000000 00000000");
  ByteWriter(file).raw(end);
  ByteWriter(file).u32(masked_crc32c(end));
  CHECK(error_of(file).message == "record 1 (end) at byte 16: it has the wrong length");
}
