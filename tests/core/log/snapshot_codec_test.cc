#include "core/log/snapshot_codec.h"

#include "tests/support/catch.h"
#include "tests/support/snapshot_files.h"

using namespace entitable;
using namespace entitable::test;

namespace {

std::string message_of_bad(const std::vector<RawRecord>& records) {
  const auto content = read_snapshot(file_of(FileKind::snapshot, records));
  REQUIRE(!content.ok());
  CHECK(content.error().code == ErrorCode::corrupted);
  return content.error().message;
}

bool says(const std::string& message, std::string_view words) {
  CAPTURE(message);
  return message.find(words) != std::string::npos;
}

// Returns two megabytes of rows, which take several parts.
SnapshotContent large_snapshot() {
  SnapshotContent content;
  content.header = {1, 40, ""};
  content.tables = {{{"big", {}, 40}, {}}};
  for (int i = 0; i < 40; ++i) {
    content.tables[0].rows.push_back(
        {EntityKey("p", "r" + std::to_string(10 + i)),
         sample_time + i,
         {{"bytes", Value::of_binary(std::string(60'000, static_cast<char>(i)))}}});
  }
  return content;
}

}  // namespace

TEST_CASE("a snapshot is read back as it was written, in chunks of any size") {
  const SnapshotContent content = sample_snapshot();
  const std::string file = bytes_of(content);
  for (std::size_t chunk = 1; chunk <= file.size(); chunk += chunk < 64 ? 1 : 61) {
    CAPTURE(chunk);
    const auto read = read_snapshot(file, chunk);
    REQUIRE(read.ok());
    REQUIRE((*read == content));
  }
}

TEST_CASE("an empty store is a snapshot too") {
  const auto read = read_snapshot(bytes_of(SnapshotContent()));
  REQUIRE(read.ok());
  CHECK((*read == SnapshotContent()));
}

TEST_CASE("rows are cut into parts of bounded size") {
  const SnapshotContent content = large_snapshot();
  const std::string file = bytes_of(content);
  std::size_t parts = 0;
  for (const RawRecord& record : records_of(file)) {
    if (record.type != static_cast<std::uint8_t>(RecordType::snapshot_part)) continue;
    ++parts;
    CHECK(record.payload.size() < snapshot_part_bytes + 61'000);
  }
  CHECK(parts > 2);
  CHECK(parts <= file.size() / snapshot_part_bytes + 1);
  for (const std::size_t chunk : {std::size_t{4096}, file.size()}) {
    const auto read = read_snapshot(file, chunk);
    REQUIRE(read.ok());
    CHECK((*read == content));
  }
}

TEST_CASE("the order in which properties were written does not matter") {
  SnapshotContent content = sample_snapshot();
  const std::string file = bytes_of(content);
  for (auto& table : content.tables) {
    for (Entity& row : table.rows) std::reverse(row.properties.begin(), row.properties.end());
  }
  CHECK((bytes_of(content) == file));
}

TEST_CASE("every damage to a snapshot is detected") {
  const std::string file = bytes_of(sample_snapshot());
  for_each_damage(file, [&](const std::string& what, const std::string& damaged) {
    const auto read = read_snapshot(damaged);
    if (!read.ok() && read.error().code == ErrorCode::corrupted) return;
    CAPTURE(what);
    REQUIRE(!read.ok());
    REQUIRE(read.error().code == ErrorCode::corrupted);
  });
}

TEST_CASE("a snapshot truncated at any byte is invalid, in whatever chunks it arrives") {
  const std::string file = bytes_of(sample_snapshot());
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto read = read_snapshot(std::string_view(file).substr(0, size), 100);
    CAPTURE(size);
    REQUIRE(!read.ok());
    REQUIRE(read.error().code == ErrorCode::corrupted);
  }
}

TEST_CASE("bytes after the end of a snapshot are rejected when they arrive") {
  const std::string file = bytes_of(SnapshotContent());
  const std::string_view reason = "the end: the file continues after it";
  SnapshotReader reader;
  reader.add_chunk(file);
  for (int i = 0; i < 2; ++i) {
    const auto end = reader.next();
    REQUIRE(end.ok());
    CHECK(*end == SnapshotReader::Step::end);
    CHECK(reader.check_complete().ok());
    reader.add_chunk("");
  }
  reader.add_chunk("x");
  const auto after = reader.next();
  REQUIRE(!after.ok());
  CHECK(after.error().code == ErrorCode::corrupted);
  CHECK(after.error().message == reason);
  SnapshotReader whole;
  whole.add_chunk(file + "x");
  CHECK(whole.next().error().message == reason);
}

TEST_CASE("a newer snapshot is rejected, and one with skippable records is read") {
  const auto records = records_of(bytes_of(sample_snapshot()));
  const auto newer = read_snapshot(file_of(FileKind::snapshot, records, format_major + 1, 0));
  REQUIRE(!newer.ok());
  CHECK(newer.error().code == ErrorCode::format_too_new);
  auto extended = records;
  extended.insert(extended.begin() + 1, RawRecord(200, "new", record_flag_skippable));
  extended.push_back(RawRecord(201, "new", record_flag_skippable));
  const auto read = read_snapshot(file_of(FileKind::snapshot, extended, format_major, 1), 7);
  REQUIRE(read.ok());
  CHECK((*read == sample_snapshot()));
  extended[1].flags = 0;
  const auto unknown = read_snapshot(file_of(FileKind::snapshot, extended, format_major, 1));
  REQUIRE(!unknown.ok());
  CHECK(unknown.error().code == ErrorCode::format_too_new);
}

TEST_CASE("invalid records are rejected, with the reason") {
  // The records: header, table Cities, its part, table empty, table People, its part
  const auto good = records_of(bytes_of(sample_snapshot()));
  REQUIRE(good.size() == 6);
  auto bad = good;
  std::swap(bad[0], bad[1]);
  CHECK(says(message_of_bad(bad), "a snapshot does not start with this record"));
  bad = good;
  bad.insert(bad.begin(), good[0]);
  CHECK(says(message_of_bad(bad), "it is in the wrong place"));
  bad = good;
  bad.erase(bad.begin() + 2);
  CHECK(says(message_of_bad(bad), "the previous table lacks rows"));
  bad = good;
  bad.pop_back();
  CHECK(says(message_of_bad(bad), "has not all of its tables and rows"));
  bad = good;
  bad.erase(bad.begin() + 3);
  CHECK(says(message_of_bad(bad), "the part is in the wrong place"));
  bad = good;
  bad.insert(bad.begin() + 3, good[2]);
  CHECK(says(message_of_bad(bad), "the part is in the wrong place"));
  bad = good;
  std::swap(bad[1], bad[3]);
  CHECK(says(message_of_bad(bad), "more rows than the table has"));
  bad = good;
  std::swap(bad[3], bad[4]);
  CHECK(says(message_of_bad(bad), "the previous table lacks rows"));
  bad = good;
  bad.push_back(good[3]);
  CHECK(says(message_of_bad(bad), "more tables than the header says"));
  bad = good;
  bad[2].payload = bytes_of(sample_part());
  CHECK(says(message_of_bad(bad), "the part is in the wrong place"));
  bad[2].payload.pop_back();
  CHECK(says(message_of_bad(bad), "in the part: "));
  CHECK(says(message_of_bad({}), "has not all of its tables and rows"));
}

TEST_CASE("access policies and service properties obey the rules of the service") {
  SnapshotContent content;
  content.header = {1, 0, "<x/>"};
  const auto error_of = [&](std::vector<AccessPolicy> policies) {
    content.tables = {{{"abc", std::move(policies), 0}, {}}};
    const auto read = read_snapshot(bytes_of(content));
    return read.ok() ? std::string() : read.error().message;
  };
  const auto policy = [](std::string id, std::optional<std::string> permission = std::nullopt) {
    return AccessPolicy{std::move(id), std::nullopt, std::nullopt, std::move(permission)};
  };
  CHECK(error_of({policy(std::string(64, 'i'), "raud"), policy("b")}).empty());
  CHECK(says(error_of({policy("a"), policy("a")}), "two access policies have the same id"));
  CHECK(says(error_of({policy("")}), "an access policy has an empty id"));
  CHECK(says(error_of({policy(std::string(100, 'i'))}), "the id of an access policy is too long"));
  CHECK(says(error_of({policy("a", "zzz")}), "the permission of an access policy is not allowed"));
  const auto five = {policy("a"), policy("b"), policy("c"), policy("d"), policy("e")};
  CHECK(error_of(five).empty());
  std::vector<AccessPolicy> six = five;
  six.push_back(policy("f"));
  CHECK(says(error_of(six), "there are too many access policies"));
  content.header.service_properties = "\xFF";
  CHECK(says(error_of({}), "the service properties are not valid text"));
}

TEST_CASE("parts that are out of order are rejected") {
  const auto part_of_rows = [](PartId id, std::string_view row) {
    PartWriter writer(id, 1, KeyView{"p", row});
    writer.begin_row("p", row, 1);
    writer.end_row();
    return std::move(writer).finish();
  };
  SnapshotContent two;
  two.header = {1, 2, ""};
  two.tables = {{{"two", {}, 2}, {{EntityKey("p", "a"), 1, {}}, {EntityKey("p", "b"), 1, {}}}}};
  auto records = records_of(bytes_of(two));
  REQUIRE(records.size() == 3);
  records[2].payload = part_of_rows(1, "b");
  records.push_back(records[2]);
  records[3].payload = part_of_rows(2, "c");
  CHECK(read_snapshot(file_of(FileKind::snapshot, records)).ok());
  for (const char* row : {"a", "b"}) {
    records[3].payload = part_of_rows(2, row);
    CHECK(says(message_of_bad(records), "the parts are not in order"));
  }
  records.push_back(records[3]);
  records[3].payload = part_of_rows(2, "c");
  records[4].payload = part_of_rows(3, "d");
  CHECK(says(message_of_bad(records), "more rows than the table has"));
}
