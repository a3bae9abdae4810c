#include "core/store/checkpoint.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/index/cursor.h"
#include "core/index/leaf.h"

namespace entitable {
namespace {

EntityKey owned(const KeyView& key) {
  return EntityKey(key.partition, key.row);
}

}  // namespace

Checkpoint::Checkpoint(const StoreVersion& version, const CallWindow& window,
                       const Manifest& previous, const CoveredLog& log, std::uint64_t part_bytes)
    : catalog_(version.catalog), part_bytes_(part_bytes) {
  manifest_.epoch = log.epoch;
  manifest_.first_live_sequence = log.first_live_sequence;
  manifest_.claims = log.claims;
  manifest_.last_commit = version.last_commit;
  manifest_.last_timestamp = version.clock.last_issued();
  manifest_.next_table = version.next_table;
  manifest_.next_part = previous.next_part;
  manifest_.service_properties = catalog_.service_properties();
  manifest_.options = previous.options;
  manifest_.calls = window.calls();
  manifest_.call_commits = window.commits();
  // Otherwise a later version could make such a part whole again, by erasing the new rows, and
  // unload it although this checkpoint replaces it.
  for (const Ref<Table>& table : catalog_.tables()) table->index.forget_incomplete_parts();
}

CheckpointStep Checkpoint::next_part(StoredParts& stored, const std::vector<Catalog*>& live) {
  ENTITABLE_CHECK(!pending_.has_value());
  while (true) {
    if (!in_table_) {
      if (table_ == catalog_.tables().size()) return CheckpointPartsEnd{};
      begin_table();
    }
    LeafIterator walk = list_clean_parts(stored);
    if (walk.done()) {
      ENTITABLE_CHECK(!replaced_.has_value());
      in_table_ = false;
      ++table_;
      continue;
    }
    if (walk.leaf().is_unloaded()) return PartsNeeded{{walk.leaf().part()}};
    // Live versions refer to the new parts instead of the old one, so these cover its whole range.
    ENTITABLE_CHECK(!replaced_.has_value() || replaced_->next == owned(walk.lower()));
    const Plan plan = plan_part(std::move(walk), stored, live);
    if (plan.rows > 0) return write_part(plan, stored);
    // An empty range needs no file: the range of the part before it covers it.
    TableIndex::clear_part(table().index, plan.range);
    if (plan.ends_replaced) finish_replaced(live);
  }
}

void Checkpoint::begin_table() {
  manifest_.tables.push_back({table().id(), table().name(), table().acl, {}, table().synced});
  from_.emplace();
  in_table_ = true;
}

// Lists the clean parts at `from_` in the manifest. Returns the leaf after them.
LeafIterator Checkpoint::list_clean_parts(const StoredParts& stored) {
  if (!from_.has_value()) {
    LeafIterator end(table().index);
    while (!end.done()) end.next();
    return end;
  }
  LeafIterator walk(table().index, from_->view());
  while (!walk.done()) {
    std::size_t clean = clean_run(walk, stored);
    if (clean == 0) break;
    ManifestPart kept = stored.find(walk.leaf().part())->part;
    kept.lower = owned(walk.lower());
    manifest_.tables.back().parts.push_back(std::move(kept));
    for (; clean > 0; --clean) walk.next();
  }
  from_ = walk.done() ? std::nullopt : std::optional<EntityKey>(owned(walk.lower()));
  return walk;
}

// Returns the number of leaves of the clean part that starts at `walk`; 0 if that leaf is dirty.
std::size_t Checkpoint::clean_run(LeafIterator walk, const StoredParts& stored) const {
  const Leaf& first = walk.leaf();
  if (first.overlay() || !stored.belongs_to(first.part(), table().id())) return 0;
  if (first.is_unloaded()) return 1;
  std::size_t run = 0;
  const PartId part = first.part();
  const std::uint32_t expected = first.part_leaves();
  for (; !walk.done() && !walk.leaf().is_unloaded() && walk.leaf().part() == part; walk.next()) {
    ++run;
  }
  return run == expected ? run : 0;
}

// Plans a part that starts with the dirty leaf at `walk`. The rows of a part that is unloaded in a
// live version form parts of their own, so that the live version can refer to them.
Checkpoint::Plan Checkpoint::plan_part(LeafIterator walk, const StoredParts& stored,
                                       const std::vector<Catalog*>& live) {
  Plan plan;
  plan.range.lower = owned(walk.lower());
  plan.replaces = belongs_to_replaced(walk, live);
  std::uint64_t bytes = 0;
  for (bool first = true; !walk.done(); walk.next(), first = false) {
    const Leaf& leaf = walk.leaf();
    if (!first) {
      if (bytes + leaf.totals().bytes > part_bytes_ || leaf.is_unloaded()) break;
      if (clean_run(walk, stored) > 0 || belongs_to_replaced(walk, live) != plan.replaces) break;
    }
    bytes += std::max<std::uint64_t>(1, leaf.totals().bytes);
    plan.rows += leaf.totals().rows;
  }
  if (!walk.done()) plan.range.upper = owned(walk.lower());
  plan.ends_replaced = plan.replaces && (walk.done() || !replaced_->range.contains(walk.lower()));
  if (plan.replaces && !plan.ends_replaced) replaced_->next = *plan.range.upper;
  from_ = plan.range.upper;
  return plan;
}

// Returns whether the leaf belongs to a part that some live version has not in memory. Sets
// replaced_ at the first leaf of such a part.
bool Checkpoint::belongs_to_replaced(const LeafIterator& walk, const std::vector<Catalog*>& live) {
  const Leaf& leaf = walk.leaf();
  // The leaves of the part may have lost its id meanwhile, so their range tells.
  if (replaced_.has_value() && replaced_->range.contains(walk.lower())) return true;
  if (leaf.is_unloaded() || leaf.part() == 0 || !leaf.overlay()) return false;
  const PartId id = leaf.part();
  KeyRange range{owned(walk.lower()), std::nullopt};
  LeafIterator end = walk;
  while (!end.done() && !end.leaf().is_unloaded() && end.leaf().part() == id) end.next();
  if (!end.done()) range.upper = owned(end.lower());
  const bool unloaded = std::any_of(live.begin(), live.end(), [&](const Catalog* catalog) {
    const Table* there = catalog->find(table().id());
    return there != nullptr && there->index.any_key_in_unloaded_part(id, range).has_value();
  });
  if (!unloaded) {
    // The part becomes obsolete with this checkpoint, so no version may unload its rows to it.
    for (const Catalog* catalog : live) {
      if (const Table* there = catalog->find(table().id())) there->index.forget_part(id, range);
    }
    table().index.forget_part(id, range);
    return false;
  }
  if (replaced_.has_value()) return false;  // belongs to another part, which starts a plan later
  const EntityKey next = range.lower;
  replaced_ = ReplacedPart{id, std::move(range), leaf.overlay(), next, {}};
  return true;
}

CheckpointPart Checkpoint::write_part(const Plan& plan, StoredParts& stored) {
  ManifestPart part;
  CheckpointPart written = write_rows(plan.range, stored, part);
  // Keeps the rows in memory until the new part is stored: set_part() needs their leaves, and their
  // old part is about to be replaced.
  TableIndex::clear_part(table().index, plan.range);
  manifest_.tables.back().parts.push_back(part);
  pending_ =
      Pending{{table().id(), std::move(part), plan.range}, plan.replaces, plan.ends_replaced};
  return written;
}

// Writes the rows of a range as a part with a new id. Sets `part` to its entry in a manifest.
CheckpointPart Checkpoint::write_rows(const KeyRange& range, StoredParts& stored,
                                      ManifestPart& part) {
  const PartId id = stored.take_next_part();
  manifest_.next_part = stored.manifest().next_part;
  WrittenPart written = write_stored_part(table().index, range, id, table().id());
  part = std::move(written.part);
  return {id, std::move(written.bytes)};
}

void Checkpoint::mark_part_stored(const std::vector<Catalog*>& live) {
  ENTITABLE_CHECK(pending_.has_value());
  Pending pending = std::move(*pending_);
  pending_.reset();
  const ListedPart& stored = pending.stored;
  TableIndex::set_part(table().index, stored.range, stored.part.id);
  if (pending.replaces) {
    replaced_->written.push_back(
        {stored.range, stored.part.id, stored.part.rows, stored.part.bytes});
  }
  if (pending.ends_replaced) finish_replaced(live);
}

// Makes the live versions refer to the new parts instead of the replaced one.
void Checkpoint::finish_replaced(const std::vector<Catalog*>& live) {
  for (Catalog* catalog : live) {
    if (Table* there = catalog->mutable_table(table().id())) {
      there->index.replace_part(replaced_->id, replaced_->range, replaced_->written,
                                replaced_->overlay.get());
    }
  }
  replaced_.reset();
}

// ---- Interim manifests --------------------------------------------------------------------------

std::optional<InterimManifest> Checkpoint::interim_manifest(StoredParts& stored) {
  ENTITABLE_CHECK(!pending_.has_value());
  if (replaced_.has_value()) return std::nullopt;
  InterimManifest interim{stored.manifest(), {}};
  for (ManifestTable& listed : interim.manifest.tables) {
    const auto begun = std::find_if(manifest_.tables.begin(), manifest_.tables.end(),
                                    [&](const ManifestTable& at) { return at.id == listed.id; });
    if (begun == manifest_.tables.end()) {
      if (catalog_.find(listed.id) == nullptr) listed.parts.clear();  // dropped
      continue;
    }
    std::vector<ManifestPart> parts = begun->parts;
    if (in_table_ && listed.id == table().id() && from_.has_value()) {
      const std::optional<RestOfTable> rest = find_rest_of_table(listed, stored);
      if (!rest.has_value()) return std::nullopt;
      if (!rest->extra.empty() && Cursor(table().index, rest->extra).valid())
        interim.extra_part = write_rows(rest->extra, stored, parts.emplace_back());
      parts.insert(parts.end(), rest->parts.begin(), rest->parts.end());
    }
    listed.parts = std::move(parts);
  }
  interim.manifest.next_part = stored.manifest().next_part;
  return interim;
}

// `previous`: the table in the manifest in force. Nothing: the rows before the next of its parts
// are too many for one part, or are in a part that the manifest does not list.
std::optional<Checkpoint::RestOfTable> Checkpoint::find_rest_of_table(
    const ManifestTable& previous, const StoredParts& stored) const {
  const std::vector<ManifestPart>& parts = previous.parts;
  const auto at_or_after = [&](const KeyView& lower) {
    return std::find_if(parts.begin(), parts.end(), [&](const ManifestPart& part) {
      return compare(part.lower.view(), lower) >= 0;
    });
  };
  auto next = at_or_after(from_->view());
  // Without a part before `next`, only the log contains the rows before it.
  if (next == parts.begin()) return RestOfTable{{*from_, *from_}, parts};
  RestOfTable rest{{*from_, std::nullopt}, {}};
  if (next != parts.end()) rest.extra.upper = next->lower;
  std::uint64_t bytes = 0;
  for (LeafIterator walk(table().index, from_->view()); !walk.done(); walk.next()) {
    if (next != parts.end() && compare(walk.lower(), next->lower.view()) >= 0) break;
    if (walk.leaf().is_unloaded() || clean_run(walk, stored) > 0) {
      const PartId id = walk.leaf().part();
      next = std::find_if(parts.begin(), parts.end(),
                          [&](const ManifestPart& part) { return part.id == id; });
      if (next == parts.end()) return std::nullopt;
      rest.extra.upper = owned(walk.lower());
      rest.parts.push_back(*next++);
      rest.parts.back().lower = *rest.extra.upper;
      break;
    }
    bytes += walk.leaf().totals().bytes;
    if (bytes > 2 * part_bytes_) return std::nullopt;
  }
  rest.parts.insert(rest.parts.end(), next, parts.end());
  return rest;
}

}  // namespace entitable
