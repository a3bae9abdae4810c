// A host for the store, without a browser: keeps its files in memory. Tests may stop between any
// two steps to simulate a crash, and may damage the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/base/check.h"
#include "core/log/file_names.h"
#include "core/store/restore.h"
#include "core/store/snapshot_export.h"
#include "core/store/store.h"

namespace entitable::test {

class TestHost {
 public:
  std::optional<std::string> manifest;
  std::map<PartId, std::string> parts;
  std::map<std::uint64_t, std::string> segments;
  std::size_t segment_bytes = Store::no_limit;  // the size limit of a segment
  HistoryLimits history = no_history;           // of checkpoints

  std::uint64_t part_bytes = part_bytes_target;  // of open_within()
  std::function<void()> on_step;                 // open_within() calls it after each file

  enum class Load { all_parts, on_demand };

  // Opens a store from the files, as a host does.
  Result<Store> open(Load load = Load::all_parts) const {
    Store store;
    const auto parts_needed =
        manifest.has_value() ? store.begin_recovery(*manifest) : store.begin_recovery(std::nullopt);
    if (!parts_needed.ok()) return parts_needed.error();
    for (const PartInfo& info : *parts_needed) {
      if (load == Load::on_demand && parts.count(info.id) != 0) continue;
      if (const auto loaded = load_part(store, info.id); !loaded.ok()) return loaded.error();
    }
    for (const auto& [sequence, bytes] : segments) {
      if (sequence < store.first_live_sequence()) continue;
      if (const auto applied = store.replay(sequence, bytes); !applied.ok()) return applied.error();
    }
    store.finish_recovery();
    return store;
  }

  // Opens a store from the files as an owner with a memory limit does: as long as changes exceed
  // half of the limit, writes checkpoints and continues. `files_max`: crashes before another file
  // is stored, and returns nothing.
  std::optional<Store> open_within(std::uint64_t limit, std::size_t files_max = SIZE_MAX) {
    Store store;
    store.set_memory_limit(limit);
    store.set_part_bytes(part_bytes);
    const auto begun = manifest.has_value() ? store.begin_recovery(*manifest, limit / 2)
                                            : store.begin_recovery(std::nullopt, limit / 2);
    ENTITABLE_CHECK(begun.ok());
    replay_from(store, store.first_live_sequence());
    store.finish_recovery();
    if (!store.first_unapplied_segment().has_value()) return store;
    if (files_max-- == 0) return std::nullopt;
    claim(store);
    while (const auto first = store.first_unapplied_segment()) {
      ENTITABLE_CHECK(store.begin_checkpoint());
      while (auto part = next_part(store)) {
        if (files_max-- == 0) return std::nullopt;
        parts[part->id] = std::move(part->bytes);
        part.reset();
        store.mark_checkpoint_part_stored();
        store.enforce_memory_limit();
        if (on_step) on_step();
      }
      if (files_max-- == 0) return std::nullopt;
      commit_checkpoint(store);
      if (on_step) on_step();
      store.enforce_memory_limit();
      store.resume_recovery(limit / 2);
      replay_from(store, *first);
      store.finish_recovery();
    }
    return store;
  }

  void replay_from(Store& store, std::uint64_t first) const {
    for (auto at = segments.lower_bound(first); at != segments.end(); ++at) {
      ENTITABLE_CHECK(store.replay(at->first, at->second).ok());
      if (on_step) on_step();
    }
  }

  Result<void> load_part(Store& store, PartId id) const {
    const auto at = parts.find(id);
    if (at == parts.end()) return store.load_part(id, std::nullopt);
    return store.load_part(id, std::string_view(at->second));
  }

  // Repeats `call` and loads parts until it no longer returns PartsNeeded. Returns its result.
  template <typename Call>
  auto with_parts(Store& store, Call call) const {
    auto answer = call();
    int repeats = 0;
    while (const auto* need = std::get_if<PartsNeeded>(&answer)) {
      ENTITABLE_CHECK(++repeats < 100'000);  // the needed parts can be loaded
      load_parts(store, need->ids);
      answer = call();
    }
    return answer;
  }

  StageResult stage(Store& store, const std::vector<WriteRequest>& requests, Ticks now) const {
    StageResult staged = store.stage(requests, now);
    while (!staged.parts_needed.empty()) {
      load_parts(store, staged.parts_needed);
      staged = store.stage(requests, now);
    }
    return staged;
  }

  StageResult write(Store& store, const WriteRequest& request, Ticks now) const {
    StageResult staged = store.write(request, now);
    while (!staged.parts_needed.empty()) {
      load_parts(store, staged.parts_needed);
      staged = store.write(request, now);
    }
    return staged;
  }

  void stage_and_publish(Store& store, const WriteRequest& request, Ticks now) const {
    stage(store, {request}, now);
    store.publish();
  }

  void load_parts(Store& store, const std::vector<PartId>& ids) const {
    for (const PartId id : ids) ENTITABLE_CHECK(load_part(store, id).ok());
  }

  // Passes the next bytes of a snapshot file to the restore, and stores the parts that it returns.
  Result<void> store_parts(Restore& restore, std::string_view chunk) {
    restore.add(chunk);
    while (true) {
      auto part = restore.next_part();
      if (!part.ok()) return part.error();
      if (!part->has_value()) return {};
      parts[(*part)->id] = std::move((*part)->bytes);
    }
  }

  // Returns a complete snapshot file.
  std::string snapshot(Store& store) const {
    std::string file;
    SnapshotExport snapshot(store);
    while (true) {
      const auto chunk = with_parts(store, [&] { return snapshot.next_chunk(); });
      const auto* bytes = std::get_if<std::string>(&chunk);
      if (bytes == nullptr) break;
      file += *bytes;
    }
    return file;
  }

  // Seals and stores all unstored commits, including those of a staged candidate.
  void store_pending(Store& store) {
    std::uint64_t last = 0;
    for (auto segment = store.seal(segment_bytes); segment.has_value();
         segment = store.seal_next(segment_bytes)) {
      last = segment->sequence;
      segments[last] = std::move(segment->bytes);
    }
    if (last > 0) store.mark_stored(last);
  }

  // Stores a claim segment, which makes the store the owner of the log. Returns its sequence.
  std::uint64_t claim(Store& store) {
    SealedSegment segment = store.make_claim_segment();
    segments[segment.sequence] = std::move(segment.bytes);
    store.mark_stored(segment.sequence);
    return segment.sequence;
  }

  // Returns the next part of the checkpoint, loading the parts that it needs; nothing at the end.
  std::optional<CheckpointPart> next_part(Store& store) const {
    while (true) {
      CheckpointStep step = store.next_checkpoint_part();
      if (auto* part = std::get_if<CheckpointPart>(&step)) return std::move(*part);
      const auto* need = std::get_if<PartsNeeded>(&step);
      if (need == nullptr) return std::nullopt;
      for (const PartId id : need->ids) {
        ENTITABLE_CHECK(store.load_part_for_checkpoint(id, std::string_view(parts.at(id))).ok());
      }
    }
  }

  // Writes a complete checkpoint. `stop_after`: stops after that many files, as in a crash, and
  // returns false; the test must then reopen the store. Otherwise returns true.
  bool checkpoint(Store& store, std::size_t stop_after = SIZE_MAX) {
    return !store.begin_checkpoint() || write_checkpoint(store, stop_after);
  }

  // Does the same for a checkpoint that has begun.
  bool write_checkpoint(Store& store, std::size_t stop_after = SIZE_MAX) {
    std::size_t written = 0;
    while (auto part = next_part(store)) {
      if (written++ == stop_after) return false;
      parts[part->id] = std::move(part->bytes);
    }
    if (written == stop_after) return false;
    commit_checkpoint(store);
    return true;
  }

  // Stores an interim manifest of the open checkpoint, if that is possible now. Returns whether it
  // is. `stop_after`: as for checkpoint(); the manifest is stored after the extra part.
  bool interim_checkpoint(Store& store, std::size_t stop_after = SIZE_MAX) {
    auto interim = store.interim_checkpoint();
    if (!interim.has_value() || stop_after == 0) return false;
    if (interim->extra_part.has_value()) {
      parts[interim->extra_part->id] = std::move(interim->extra_part->bytes);
      if (stop_after == 1) return false;
    }
    manifest = std::move(interim->manifest);
    for (const PartId id : interim->obsolete_parts) ENTITABLE_CHECK(parts.erase(id) == 1);
    store.mark_interim_checkpoint_committed();
    return true;
  }

  // Stores the manifest of a checkpoint whose parts are all stored.
  void commit_checkpoint(Store& store) {
    FinishedCheckpoint end = store.finish_checkpoint(history);
    manifest = std::move(end.manifest);
    segments.erase(segments.begin(), segments.lower_bound(end.first_kept_sequence));
    for (const PartId id : end.obsolete_parts) parts.erase(id);
    store.mark_checkpoint_committed();
  }
};

}  // namespace entitable::test
