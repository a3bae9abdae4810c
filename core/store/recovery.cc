#include "core/store/recovery.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/check.h"
#include "core/log/file_names.h"
#include "core/log/segment.h"

namespace entitable {

Result<Recovery> Recovery::begin(std::optional<std::string_view> manifest,
                                 std::vector<Damage>& damage) {
  Recovery recovery(damage);
  if (!manifest.has_value()) return recovery;
  auto decoded = decode_manifest(*manifest);
  if (!decoded.ok()) {
    if (decoded.error().code == ErrorCode::format_too_new) return decoded.error();
    // Which parts and segments are valid is known only from the manifest, so no other file is read.
    recovery.report(manifest_name, decoded.error().message);
    recovery.replaying_ = false;
    return recovery;
  }
  recovery.parts_ = StoredParts(std::move(*decoded));
  recovery.restore_tables();
  return recovery;
}

void Recovery::restore_tables() {
  const Manifest& manifest = parts_.manifest();
  version_.clock.advance_to(manifest.last_timestamp);
  version_.last_commit = manifest.last_commit;
  version_.next_table = manifest.next_table;
  version_.catalog.restore_service_properties(manifest.service_properties);
  next_sequence_ = manifest.first_live_sequence;
  epoch_ = manifest.epoch;
  restore_calls();
  for (const ManifestTable& table : manifest.tables) {
    auto name = TableName::parse(table.name);
    ENTITABLE_CHECK(name.ok());  // decode_manifest() has checked the name
    Table& restored = version_.catalog.restore_table(table.id, std::move(*name), table.acl);
    std::vector<UnloadedPart> unloaded;
    unloaded.reserve(table.parts.size());
    for (std::size_t i = 0; i < table.parts.size(); ++i) {
      ListedPart listed = listed_part(table, i);
      const ManifestPart& part = listed.part;
      unloaded.push_back({std::move(listed.range), part.id, part.rows, part.bytes});
    }
    restored.index.add_unloaded(unloaded);
  }
}

// A manifest of version 1.0 does not have the commits. The last commit then takes their place, and
// clients may have been dropped if the window is full.
void Recovery::restore_calls() {
  const Manifest& manifest = parts_.manifest();
  const std::optional<CallCommits>& commits = manifest.call_commits;
  std::map<ClientId, std::size_t> positions;
  for (const ClientCall& call : manifest.calls) {
    const std::size_t at = positions.try_emplace(call.client, positions.size()).first->second;
    remember(call, commits.has_value() ? commits->newest[at] : manifest.last_commit);
  }
  if (commits.has_value()) {
    window_.mark_dropped(commits->dropped_through);
  } else if (window_.is_full()) {
    window_.mark_dropped(manifest.last_commit);
  }
}

std::vector<PartInfo> Recovery::parts() const {
  std::vector<PartInfo> infos;
  for (const ManifestTable& table : parts_.manifest().tables) {
    for (const ManifestPart& part : table.parts) infos.push_back({part.id, part.bytes});
  }
  return infos;
}

Result<void> Recovery::load_part(PartId id, std::optional<std::string_view> bytes) {
  const std::optional<ListedPart> listed = parts_.find(id);
  ENTITABLE_CHECK(listed.has_value());
  Table* const table = version_.catalog.mutable_table(listed->table);
  if (table == nullptr || !table->index.any_key_in_unloaded_part(id, listed->range).has_value())
    return {};
  return load_stored_part(*listed, bytes, {&table->index}, *damage_);
}

Result<void> Recovery::replay(std::uint64_t sequence, std::string_view bytes) {
  if (!replaying_) return {};
  if (sequence != next_sequence_) {
    return end_replay(segment_name(next_sequence_), "the file is missing");
  }
  auto segment = decode_segment(bytes, sequence);
  if (!segment.ok()) {
    if (segment.error().code == ErrorCode::format_too_new) return segment.error();
    return end_replay(segment_name(sequence), segment.error().message);
  }
  if (segment->epoch < epoch_) {
    return end_replay(segment_name(sequence),
                      "the file was written by an owner that had been replaced");
  }
  epoch_ = segment->epoch;
  for (Commit& commit : segment->commits) {
    std::string wrong = apply(std::move(commit));
    if (!wrong.empty()) return end_replay(segment_name(sequence), std::move(wrong));
  }
  ++next_sequence_;
  segment_bytes_ += bytes.size();
  return {};
}

// Records the damage and ends the replay: later segments are ignored.
Result<void> Recovery::end_replay(std::string file, std::string message) {
  report(std::move(file), std::move(message));
  replaying_ = false;
  return {};
}

// Applies the commit, or ignores it if the manifest already covers it. Returns what is wrong with
// the commit, or an empty text.
std::string Recovery::apply(Commit commit) {
  if (commit.number <= version_.last_commit) return {};
  if (commit.number != version_.last_commit + 1) return "commits are missing before this one";
  if (std::string wrong = version_.catalog.check_commit(commit); !wrong.empty()) return wrong;
  version_.catalog.apply(commit);
  version_.last_commit = commit.number;
  version_.clock.advance_to(commit.last_timestamp);
  for (const Mutation& mutation : commit.mutations) {
    if (const auto* create = std::get_if<CreateTable>(&mutation)) {
      version_.next_table = std::max(version_.next_table, create->table + 1);
    }
  }
  if (commit.call.has_value()) remember(std::move(*commit.call), commit.number);
  return {};
}

void Recovery::remember(ClientCall call, std::uint64_t commit) {
  window_.reserve(call.client);
  window_.add(std::move(call), commit);
}

void Recovery::report(std::string file, std::string message) {
  damage_->push_back({std::move(file), std::move(message)});
}

}  // namespace entitable
