// One file of each kind, with everything that such a file can contain. Used as the fixture of
// format version 1, by the damage tests, and as seeds of the fuzzers.
#pragma once

#include <string>
#include <vector>

#include "core/log/commit_codec.h"
#include "core/log/manifest_codec.h"
#include "core/log/part_codec.h"
#include "core/log/segment.h"
#include "core/model/limits.h"
#include "tests/support/log_files.h"

namespace entitable::test {

inline constexpr Ticks sample_time = 637'311'980'884'767'001;  // 2020-07-24T14:34:48.4767001Z
inline constexpr std::uint64_t sample_sequence = 7;

inline std::vector<Property> properties_of_every_type() {
  const Guid guid{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                  0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};
  return {{"Text", Value::of_string("Z\xC3\xBCrich \xF0\x9F\x98\x80 \xED\xA0\xBD")},
          {"Bytes", Value::of_binary(std::string("\x00\x7F\x80\xFF", 4))},
          {"Yes", Value::of_boolean(true)},
          {"When", Value::of_date_time(sample_time)},
          {"Share", Value::of_double(-0.125)},
          {"Id", Value::of_guid(guid)},
          {"Count", Value::of_int32(-42)},
          {"Big", Value::of_int64(9'007'199'254'740'993)}};
}

inline ClientCall sample_call() {
  return {ClientId{0xC1, 0x1E, 0x47}, 5, {sample_time - 1, 0, sample_time}};
}

inline std::vector<AccessPolicy> sample_policies() {
  return {{"full", limits::date_time_ticks_min, limits::date_time_ticks_max, "raud"},
          {"\xC3\xA4", std::nullopt, sample_time, std::nullopt},
          {"bare", std::nullopt, std::nullopt, std::nullopt}};
}

// Every kind of mutation, over several tables.
inline Segment sample_segment() {
  Commit tables;
  tables.number = 40;
  tables.last_timestamp = sample_time - 10;
  tables.mutations = {CreateTable{1, "Cities"}, CreateTable{2, "People"}, DropTable{2},
                      SetTableAcl{1, sample_policies()}, SetServiceProperties{"<x/>"}};
  Commit rows;
  rows.number = 41;
  rows.last_timestamp = sample_time;
  rows.call = sample_call();
  rows.mutations = {
      put_row(1, {EntityKey("CH", "1"), sample_time - 1, properties_of_every_type()}),
      put_row(1, {EntityKey("CH", "2"), sample_time, {{"Count", Value::of_int32(1)}}}),
      DeleteRow{1, EntityKey("CH", "3")}, DeleteRow{3, EntityKey("", "")},
      put_row(3, {EntityKey("", "\xED\xB8\x80"), 1, {}})};
  Commit more;
  more.number = 42;
  more.last_timestamp = sample_time;
  more.mutations = {put_row(1, {EntityKey("DE", "1"), sample_time, properties_of_every_type()})};
  rows.origin = CommitOrigin::other_tab;
  std::get<PutRow>(rows.mutations[0]).effect = PutEffect::insert;
  std::get<PutRow>(rows.mutations[1]).effect = PutEffect::update;
  more.origin = CommitOrigin::sync;
  std::get<PutRow>(more.mutations[0]).effect = PutEffect::insert;
  return {sample_sequence, 3, {tables, rows, more}};
}

// A hidden table of a kind that only later versions know.
constexpr TableId unknown_hidden_table = hidden_table_of(1, HiddenTable{hidden_table_kind_mask});

// The same, and a commit with hidden tables.
inline Segment sample_segment_with_hidden_tables() {
  Segment segment = sample_segment();
  Commit synced;
  synced.number = 43;
  synced.last_timestamp = sample_time;
  synced.origin = CommitOrigin::sync;
  const Entity row{EntityKey("CH", "1"), sample_time - 7, properties_of_every_type()};
  const EntityKey key("CH", "0000000000000043");
  synced.mutations = {
      SetSynced{1, true},
      put_row(hidden_table_of(1, HiddenTable::base_rows), row),
      put_row(hidden_table_of(1, HiddenTable::outbox), {key, sample_time, row.properties}),
      put_row(1, row),
      put_row(unknown_hidden_table, {EntityKey("CH", "1"), sample_time, {}}),
      DeleteRow{hidden_table_of(1, HiddenTable::state), EntityKey("server", "")},
      SetSynced{synced_table_id_max, false}};
  segment.commits.push_back(synced);
  return segment;
}

// The first segment of a store with a synced table whose hidden rows no code has written.
inline Segment sample_segment_of_malformed_rows() {
  const auto hidden = [](HiddenTable kind, const char* row, std::vector<Property> properties) {
    return put_row(hidden_table_of(1, kind),
                   {EntityKey("p", row), sample_time, std::move(properties)});
  };
  const std::vector<Property> etag{{"Etag", Value::of_int32(7)}};
  Commit commit;
  commit.number = 1;
  commit.last_timestamp = sample_time;
  commit.mutations = {CreateTable{1, "abc"},
                      SetSynced{1, true},
                      put_row(1, {EntityKey("p", "a"), sample_time, {}}),
                      put_row(1, {EntityKey("p", "b"), sample_time, {}}),
                      hidden(HiddenTable::etags, "a", etag),
                      hidden(HiddenTable::etags, "b", {}),
                      hidden(HiddenTable::bases, "c", {{"Kind", Value::of_string("x")}}),
                      hidden(HiddenTable::base_rows, "d", etag),
                      hidden(HiddenTable::outbox, "e", etag),
                      hidden(HiddenTable::marks, "f", etag),
                      put_row(unknown_hidden_table, {EntityKey("p", "g"), sample_time, etag})};
  return {1, 1, {commit}};
}

inline std::string bytes_of(const Segment& segment) {
  SegmentWriter writer(segment.sequence, segment.epoch);
  std::string codes;
  for (const Commit& commit : segment.commits)
    writer.add(encode_commit(commit), effects_of(commit, codes));
  return std::move(writer).finish();
}

inline Part sample_part() {
  Part part;
  part.id = 12;
  part.table = 1;
  part.lower = EntityKey("CH", "");
  part.upper = EntityKey("D", "");
  part.rows = {{EntityKey("CH", "1"), sample_time, properties_of_every_type()},
               {EntityKey("CH", "2"), sample_time + 5, {{"Count", Value::of_int32(1)}}},
               {EntityKey("CH", "\xEF\xBD\x9E"), 1, properties_of_every_type()},
               {EntityKey("CZ", ""), limits::date_time_ticks_max, {}}};
  return part;
}

// A part of the outbox: an operation that edits ("CH", "1"), its properties, and those it removes.
inline Part sample_hidden_part() {
  Part part;
  part.id = 20;
  part.table = hidden_table_of(1, HiddenTable::outbox);
  part.upper = EntityKey("CH", "0000000002818048");
  part.rows = {
      {EntityKey("CH", "0000000002752512"),
       sample_time,
       {{"Key", Value::of_string("1")}, {"Kind", Value::of_int32(1)}}},
      {EntityKey("CH", "0000000002752512s0"), sample_time, properties_of_every_type()},
      {EntityKey("CH", "0000000002752512u"), sample_time, {{"Old", Value::of_boolean(true)}}}};
  return part;
}

inline std::string bytes_of(const Part& part) {
  std::optional<KeyView> upper;
  if (part.upper) upper = part.upper->view();
  PartWriter writer(part.id, part.table, part.lower.view(), upper);
  for (const Entity& row : part.rows) write_row(writer, row);
  return std::move(writer).finish();
}

inline Manifest sample_manifest() {
  Manifest manifest;
  manifest.epoch = 3;
  manifest.first_live_sequence = sample_sequence;
  manifest.last_commit = 39;
  manifest.last_timestamp = sample_time;
  manifest.next_table = 4;
  manifest.next_part = 300;
  manifest.service_properties = "<x/>";
  manifest.options = {{"limits", "service"}, {"z", ""}};
  manifest.calls = {sample_call(), {ClientId{}, 0, {}}};
  manifest.call_commits = CallCommits{7, {39, 12}};
  manifest.claims = ManifestClaims{1, {{2, 20}, {3, 38}}};
  manifest.history = ManifestHistory{
      3, 11, {{1, 0, 48, 0}, {3, 29, 300'000, sample_time - 20}}, {{2, "People", 20}}};
  manifest.readers = {{"backup", {{2, 20}, sample_time - 30}},
                      {"\xC3\xA4", {{3, 39}, sample_time + 1}}};
  manifest.tables = {{1,
                      "Cities",
                      sample_policies(),
                      {{EntityKey(), 299, 7, 900, 0x01020304},
                       {EntityKey("CH", ""), 12, 4, 600, 0xFFFFFFFF},
                       {EntityKey("D", ""), 13, 0, 0, 0}}},
                     {3, "Empty", {}, {}}};
  return manifest;
}

// The same, but the tables are synced, and the first one has hidden tables.
inline Manifest sample_manifest_with_hidden_tables() {
  Manifest manifest = sample_manifest();
  for (ManifestTable& table : manifest.tables) table.synced = true;
  manifest.tables.push_back({hidden_table_of(1, HiddenTable::bases), "", {}, {}});
  const Part outbox = sample_hidden_part();
  manifest.tables.push_back(
      {outbox.table,
       "",
       {},
       {{outbox.lower, outbox.id, outbox.rows.size(), 500, part_checksum(bytes_of(outbox))},
        {*outbox.upper, 21, 1, 90, 7}}});
  manifest.tables.push_back({unknown_hidden_table, "", {}, {{EntityKey("", ""), 22, 1, 50, 8}}});
  return manifest;
}

// A file of a newer minor version: it has an unknown record whose flag allows readers to skip it.
inline std::string segment_with_unknown_record() {
  Segment segment = sample_segment();
  segment.sequence = sample_sequence + 2;
  std::vector<RawRecord> records = records_of(bytes_of(segment));
  records.insert(records.begin() + 2, RawRecord(200, "from the future", record_flag_skippable));
  return file_of(FileKind::segment, records, format_major, 4);
}

}  // namespace entitable::test
