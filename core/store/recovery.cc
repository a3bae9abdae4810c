#include "core/store/recovery.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/log/file_names.h"
#include "core/log/part_codec.h"
#include "core/log/segment.h"

namespace entitable {
namespace {

// The key range of the part at `position`: from its lower bound to the next part's. The first one
// reaches down to the start.
KeyRange range_of(const std::vector<ManifestPart>& parts, std::size_t position) {
  KeyRange range;
  if (position > 0) range.lower = parts[position].lower;
  if (position + 1 < parts.size()) range.upper = parts[position + 1].lower;
  return range;
}

}  // namespace

Result<Recovery> Recovery::begin(std::optional<std::string_view> manifest,
                                 std::vector<Damage>& damage) {
  Recovery recovery(damage);
  if (!manifest.has_value()) return recovery;
  auto decoded = decode_manifest(*manifest);
  if (!decoded.ok()) {
    if (decoded.error().code == Code::format_too_new) return decoded.error();
    // Without the manifest nothing says where rows belong or which segments count.
    recovery.report(manifest_name, decoded.error().message);
    recovery.replaying_ = false;
    return recovery;
  }
  recovery.manifest_ = std::move(*decoded);
  recovery.restore_tables();
  return recovery;
}

void Recovery::restore_tables() {
  version_.clock.advance_to(manifest_.last_timestamp);
  version_.last_commit = manifest_.last_commit;
  version_.next_table = manifest_.next_table;
  version_.catalog.restore_service_properties(manifest_.service_properties);
  next_sequence_ = manifest_.first_live_sequence;
  epoch_ = manifest_.epoch;
  for (const ClientCall& call : manifest_.calls) remember(call);
  for (const ManifestTable& table : manifest_.tables) {
    auto name = TableName::parse(table.name);
    ENTITABLE_CHECK(name.ok());  // decode_manifest has looked
    Table& restored = version_.catalog.restore_table(table.id, std::move(*name), table.acl);
    for (std::size_t i = 0; i < table.parts.size(); ++i) {
      const ManifestPart& part = table.parts[i];
      restored.index.add_absent(range_of(table.parts, i), part.id, part.rows, part.bytes);
      missing_parts_.push_back({part.id, table.id, i});
    }
  }
}

std::vector<PartInfo> Recovery::parts() const {
  std::vector<PartInfo> infos;
  for (const ManifestTable& table : manifest_.tables) {
    for (const ManifestPart& part : table.parts) infos.push_back({part.id, part.bytes});
  }
  return infos;
}

Result<void> Recovery::load_part(PartId id, std::string_view bytes) {
  const auto at = std::find_if(missing_parts_.begin(), missing_parts_.end(),
                               [id](const MissingPart& part) { return part.id == id; });
  ENTITABLE_CHECK(at != missing_parts_.end());
  const MissingPart missing = *at;
  missing_parts_.erase(at);
  return fill(missing, bytes);
}

Result<void> Recovery::fill(const MissingPart& missing, std::optional<std::string_view> bytes) {
  TableIndex& index = version_.catalog.mutable_table(missing.table)->index;
  Result<void> loaded = bytes.has_value() ? load_rows(index, missing, *bytes)
                                          : Error(Code::corrupted, "the file is missing");
  if (loaded.ok() || loaded.error().code == Code::format_too_new) return loaded;
  report(part_name(missing.id), loaded.error().message);
  index.load_part(missing.id, {});
  return {};
}

// Reads the part into its place; a part that turns out to be bad leaves the place as it was.
Result<void> Recovery::load_rows(TableIndex& index, const MissingPart& missing,
                                 std::string_view bytes) const {
  auto reader = PartReader::open(bytes);
  if (!reader.ok()) return reader.error();
  const ManifestPart& listed = listed_part(missing);
  const PartHeader& header = reader->header();
  if (header.id != missing.id || header.table != missing.table || header.row_count != listed.rows ||
      header.checksum != listed.checksum) {
    return Error(Code::corrupted, "the file is not the part that the manifest lists");
  }
  // Rows rise, so the first and the last tell whether all are in the part's place.
  const KeyRange place = place_of(missing);
  PartLoader loader(index, missing.id);
  bool in_place = true;
  for (std::uint32_t row = 1;; ++row) {
    const auto more = reader->next();
    if (!more.ok()) return more.error();
    if (!*more) break;
    if (row == 1 || row == header.row_count) in_place &= place.contains(reader->key());
    if (in_place) loader.add(reader->key(), reader->timestamp(), reader->properties());
  }
  if (!in_place) return Error(Code::corrupted, "its rows belong elsewhere");
  loader.finish();
  return {};
}

const ManifestTable& Recovery::listed_table(TableId id) const {
  return *std::lower_bound(
      manifest_.tables.begin(), manifest_.tables.end(), id,
      [](const ManifestTable& table, TableId wanted) { return table.id < wanted; });
}

const ManifestPart& Recovery::listed_part(const MissingPart& missing) const {
  return listed_table(missing.table).parts[missing.position];
}

KeyRange Recovery::place_of(const MissingPart& missing) const {
  return range_of(listed_table(missing.table).parts, missing.position);
}

Result<void> Recovery::replay(std::uint64_t sequence, std::string_view bytes) {
  if (!replaying_) return {};
  if (sequence != next_sequence_) {
    report(segment_name(next_sequence_), "the file is missing");
    replaying_ = false;
    return {};
  }
  auto segment = decode_segment(bytes, sequence);
  if (!segment.ok()) {
    if (segment.error().code == Code::format_too_new) return segment.error();
    report(segment_name(sequence), segment.error().message);
    replaying_ = false;
    return {};
  }
  if (segment->epoch < epoch_) {
    report(segment_name(sequence), "the file is of an owner that was replaced before");
    replaying_ = false;
    return {};
  }
  fill_missing_parts();
  epoch_ = segment->epoch;
  for (Commit& commit : segment->commits) {
    if (std::string wrong = apply(std::move(commit)); !wrong.empty()) {
      report(segment_name(sequence), std::move(wrong));
      replaying_ = false;
      return {};
    }
  }
  ++next_sequence_;
  segment_bytes_ += bytes.size();
  return {};
}

// Empty text: applied, or covered by the manifest already.
std::string Recovery::apply(Commit commit) {
  if (commit.number <= version_.last_commit) return {};
  if (commit.number != version_.last_commit + 1) return "commits are missing before this one";
  if (std::string wrong = version_.catalog.check(commit); !wrong.empty()) return wrong;
  version_.catalog.apply(commit);
  version_.last_commit = commit.number;
  version_.clock.advance_to(commit.last_timestamp);
  for (const Mutation& mutation : commit.mutations) {
    if (const auto* create = std::get_if<CreateTable>(&mutation)) {
      version_.next_table = std::max(version_.next_table, create->table + 1);
    }
  }
  if (commit.call.has_value()) remember(std::move(*commit.call));
  return {};
}

void Recovery::remember(ClientCall call) {
  window_.reserve({call});
  window_.add(std::move(call));
}

void Recovery::fill_missing_parts() {
  for (const MissingPart& missing : std::exchange(missing_parts_, {})) {
    static_cast<void>(fill(missing, std::nullopt));
  }
}

void Recovery::finish() {
  fill_missing_parts();
}

void Recovery::report(std::string file, std::string message) {
  damage_->push_back({std::move(file), std::move(message)});
}

}  // namespace entitable
