#include "core/store/recovery.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/check.h"
#include "core/log/file_names.h"
#include "core/store/memory_limit.h"

namespace entitable {

Result<Recovery> Recovery::begin(std::optional<std::string_view> manifest,
                                 std::uint64_t changes_max, std::vector<Damage>& damage) {
  Recovery recovery(changes_max, damage);
  if (!manifest.has_value()) return recovery;
  auto decoded = decode_manifest(*manifest);
  if (!decoded.ok()) {
    if (decoded.error().code == ErrorCode::format_too_new) return decoded.error();
    // Which parts and segments are valid is known only from the manifest, so no other file is read.
    recovery.report(manifest_name, decoded.error().message);
    recovery.replaying_ = false;
    return recovery;
  }
  recovery.content_.parts = StoredParts(std::move(*decoded));
  recovery.restore_tables();
  return recovery;
}

Recovery Recovery::resume(Content content, LogPosition at, LogPosition end,
                          std::uint64_t changes_max, std::vector<Damage>& damage) {
  Recovery recovery(changes_max, damage);
  recovery.content_ = std::move(content);
  recovery.applied_ = recovery.checked_ = at;
  recovery.end_ = end;
  return recovery;
}

void Recovery::restore_tables() {
  const Manifest& manifest = content_.parts.manifest();
  content_.version.clock.advance_to(manifest.last_timestamp);
  content_.version.last_commit = content_.version.last_commit_in_feed = manifest.last_commit;
  content_.version.next_table = manifest.next_table;
  content_.version.catalog.restore_service_properties(manifest.service_properties);
  applied_ = checked_ = end_ = {manifest.first_live_sequence, manifest.epoch};
  restore_calls();
  content_.claims = ClaimHistory(manifest);
  content_.history = LogHistory(manifest);
  for (const ManifestTable& table : manifest.tables) {
    Table& restored = restore_table(table);
    restored.synced = table.synced;
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

// decode_manifest() has checked names, and that hidden tables belong to synced tables.
Table& Recovery::restore_table(const ManifestTable& table) {
  Catalog& catalog = content_.version.catalog;
  if (!is_hidden_table(table.id)) {
    auto name = TableName::parse(table.name);
    ENTITABLE_CHECK(name.ok());
    return catalog.restore_table(table.id, std::move(*name), table.acl);
  }
  return catalog.mutable_hidden_table(table.id);
}

// A manifest of version 1.0 does not have the commits. A number that is not smaller then takes
// their place: that of the next commit, which also stands for a restore (Restore::begin_replace).
// Clients may have been dropped if the window is full.
void Recovery::restore_calls() {
  const Manifest& manifest = content_.parts.manifest();
  const std::optional<CallCommits>& commits = manifest.call_commits;
  const std::uint64_t greatest = manifest.last_commit + 1;
  std::map<ClientId, std::size_t> positions;
  for (const ClientCall& call : manifest.calls) {
    const std::size_t at = positions.try_emplace(call.client, positions.size()).first->second;
    remember(call, commits.has_value() ? commits->newest[at] : greatest);
  }
  if (commits.has_value()) {
    content_.window.mark_dropped(commits->dropped_through);
  } else if (content_.window.is_full()) {
    content_.window.mark_dropped(greatest);
  }
}

std::vector<PartInfo> Recovery::parts() const {
  std::vector<PartInfo> infos;
  for (const ManifestTable& table : content_.parts.manifest().tables) {
    for (const ManifestPart& part : table.parts) infos.push_back({part.id, part.bytes});
  }
  return infos;
}

Result<void> Recovery::load_part(PartId id, std::optional<std::string_view> bytes) {
  const std::optional<ListedPart> listed = content_.parts.find(id);
  ENTITABLE_CHECK(listed.has_value());
  Table* const table = content_.version.catalog.mutable_table(listed->table);
  if (table == nullptr || !table->index.any_key_in_unloaded_part(id, listed->range).has_value())
    return {};
  return load_stored_part(*listed, bytes, {&table->index}, *damage_);
}

Result<void> Recovery::replay(std::uint64_t sequence, std::string_view bytes) {
  if (!replaying_) return {};
  if (sequence != checked_.next_sequence) {
    return end_replay(segment_name(checked_.next_sequence), "the file is missing");
  }
  auto segment = decode_segment_without_effects(bytes, sequence);
  if (!segment.ok()) {
    if (segment.error().code == ErrorCode::format_too_new) return segment.error();
    return end_replay(segment_name(sequence), segment.error().message);
  }
  if (segment->epoch < checked_.epoch) {
    return end_replay(segment_name(sequence),
                      "the file was written by an owner that had been replaced");
  }
  checked_.epoch = segment->epoch;
  if (!is_full_) {
    std::string wrong = apply(std::move(*segment), bytes.size());
    if (!wrong.empty()) return end_replay(segment_name(sequence), std::move(wrong));
  }
  ++checked_.next_sequence;
  if (checked_.next_sequence > end_.next_sequence) end_ = checked_;
  return {};
}

// Applies the segment. Returns what is wrong with one of its commits, or an empty text.
std::string Recovery::apply(Segment segment, std::uint64_t bytes) {
  if (segment.epoch > applied_.epoch) {
    content_.claims.add(segment.epoch, content_.version.last_commit);
    applied_.epoch = segment.epoch;
  }
  LogHistory::SegmentCommits commits;
  if (!segment.commits.empty()) {
    commits = {segment.commits.front().number, segment.commits.back().number,
               segment.commits.back().last_timestamp};
  }
  content_.history.add_segment(commits, bytes);
  for (Commit& commit : segment.commits) {
    std::string wrong = apply(std::move(commit));
    if (!wrong.empty()) return wrong;
  }
  ++applied_.next_sequence;
  segment_bytes_ += bytes;
  measure(bytes);
  return {};
}

// Finds out whether changes take too much memory. Not after each segment, because measuring visits
// every leaf.
void Recovery::measure(std::uint64_t applied_bytes) {
  constexpr std::uint64_t measured_share = 32;
  unmeasured_bytes_ += applied_bytes;
  if (changes_max_ == 0 || unmeasured_bytes_ < changes_max_ / measured_share) return;
  unmeasured_bytes_ = 0;
  const Catalog& catalog = content_.version.catalog;
  is_full_ = memory_of(catalog) > changes_max_ && unsaved_memory_of(catalog) > changes_max_;
}

// Records the damage and ends the replay: later segments are ignored. If the segments before the
// damage are applied, there is nothing more to apply.
Result<void> Recovery::end_replay(std::string file, std::string message) {
  report(std::move(file), std::move(message));
  replaying_ = false;
  if (!is_full_) end_ = applied_;
  return {};
}

// Applies the commit, or ignores it if the manifest already covers it. Returns what is wrong with
// the commit, or an empty text.
std::string Recovery::apply(Commit commit) {
  if (commit.number <= content_.version.last_commit) return {};
  if (commit.number != content_.version.last_commit + 1)
    return "commits are missing before this one";
  if (std::string wrong = content_.version.catalog.check_commit(commit); !wrong.empty())
    return wrong;
  for (const Mutation& mutation : commit.mutations) {
    if (const auto* drop = std::get_if<DropTable>(&mutation))
      note_dropped_table(*drop, commit.number);
  }
  content_.version.catalog.apply(commit);
  content_.version.last_commit = commit.number;
  if (is_in_change_feed(commit)) content_.version.last_commit_in_feed = commit.number;
  content_.version.clock.advance_to(commit.last_timestamp);
  for (const Mutation& mutation : commit.mutations) {
    if (const auto* create = std::get_if<CreateTable>(&mutation)) {
      content_.version.next_table = std::max(content_.version.next_table, create->table + 1);
    }
  }
  if (commit.call.has_value()) remember(std::move(*commit.call), commit.number);
  return {};
}

// The catalog does not have a table that the same commit created.
void Recovery::note_dropped_table(const DropTable& drop, std::uint64_t commit) {
  const Table* const table = content_.version.catalog.find(drop.table);
  if (table != nullptr) content_.history.add_dropped({{drop.table, table->name(), commit}});
}

void Recovery::remember(ClientCall call, std::uint64_t commit) {
  content_.window.reserve(call.client);
  content_.window.add(std::move(call), commit);
}

void Recovery::report(std::string file, std::string message) {
  damage_->push_back({std::move(file), std::move(message)});
}

}  // namespace entitable
