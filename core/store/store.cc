#include "core/store/store.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "core/base/check.h"
#include "core/filter/evaluate.h"
#include "core/log/segment.h"
#include "core/query/planner.h"
#include "core/store/memory_limit.h"
#include "core/store/store_state.h"
#include "core/store/stored_part.h"
#include "core/store/verify_catalog.h"

namespace entitable {
namespace {

std::size_t share_of(std::size_t count, double share) {
  return static_cast<std::size_t>(std::ceil(static_cast<double>(count) * share));
}

// Returns the capacity for the records from position `at` until they have `enough` bytes, at least
// for one record.
SegmentWriter::Capacity capacity_for(const PendingRecords& records, std::size_t at,
                                     std::size_t enough) {
  SegmentWriter::Capacity load{0, 0};
  for (; at < records.size() && (load.commits == 0 || load.bytes < enough); ++at) {
    ++load.commits;
    load.bytes += records[at].size() + records.effects_at(at).codes.size();
  }
  return load;
}

std::uint64_t first_kept_sequence_of(const Manifest& manifest) {
  return manifest.history.has_value() ? manifest.history->first_sequence
                                      : manifest.first_live_sequence;
}

// Returns the parts that `manifest` lists, in ascending order.
std::vector<PartId> listed_parts(const Manifest& manifest) {
  std::vector<PartId> listed;
  for (const ManifestTable& table : manifest.tables) {
    for (const ManifestPart& part : table.parts) listed.push_back(part.id);
  }
  std::sort(listed.begin(), listed.end());
  return listed;
}

// Returns the parts of `all` that neither `manifest` lists nor `versions` use. `all` and the result
// are in ascending order.
std::vector<PartId> find_obsolete(const std::vector<PartId>& all, const Manifest& manifest,
                                  const std::vector<Catalog*>& versions) {
  const std::vector<PartId> listed = listed_parts(manifest);
  std::set<PartId> used(listed.begin(), listed.end());
  for (const Catalog* version : versions) {
    for (const Ref<Table>& table : version->tables()) table->index.add_parts_to(used);
  }
  std::vector<PartId> obsolete;
  std::set_difference(all.begin(), all.end(), used.begin(), used.end(),
                      std::back_inserter(obsolete));
  return obsolete;
}

// Parts that writes have unloaded in the published version are unloaded in other versions, too,
// when there are so many of them.
constexpr std::uint64_t unloads_enforced_min = 16;

// Adds ids. The list stays ascending and without duplicates.
void add_parts(std::vector<PartId>& ids, const PartsNeeded& need) {
  ids.insert(ids.end(), need.ids.begin(), need.ids.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

SealedSegment seal_segment(StoreState& state, SegmentWriter&& writer,
                           const LogHistory::SegmentCommits& commits = {}) {
  SealedSegment segment{state.next_sealed_sequence(), std::move(writer).finish()};
  state.history.reserve_segments(state.sealed.size() + 1);
  state.sealed.push_back({commits, segment.bytes.size()});
  return segment;
}

struct Attempt {
  StageResult result;
  std::uint32_t unloaded_parts;  // Candidate::unloaded_parts()
};

// Stages the requests as one candidate. `in_overlays`: see
// Candidate::collect_changes_in_overlays().
Attempt try_stage(StoreState& store, const std::vector<WriteRequest>& requests, Ticks now,
                  bool in_overlays) {
  StageResult staged;
  staged.results.reserve(requests.size());
  struct DiscardUnlessStaged {
    StoreState& state;
    ~DiscardUnlessStaged() {
      if (!state.candidate.has_value()) state.discard();
    }
  } discard{store};
  Candidate candidate(store.published, store.window, store.pending, store.scratch);
  if (in_overlays)
    candidate.collect_changes_in_overlays(&store.published.catalog, store.awaited_parts);
  if (store.has_listeners()) candidate.record_changes(store.listeners->make_recorder());
  for (const WriteRequest& request : requests) {
    auto need = candidate.apply_request(request, now, staged.results.emplace_back());
    if (need.has_value() && store.memory_is_short(store.published.catalog)) {
      candidate.allow_upserts_without_parts();
      need = candidate.apply_request(request, now, staged.results.back());
    }
    // Continues, to collect the parts that all requests need.
    if (need.has_value()) add_parts(staged.parts_needed, *need);
  }
  const std::uint32_t unloaded = candidate.unloaded_parts();
  if (!staged.parts_needed.empty()) {
    staged.results.clear();
    return {std::move(staged), unloaded};
  }
  staged.changes = candidate.has_changes();
  if (!staged.changes) return {std::move(staged), unloaded};
  // Everything that publish() needs is allocated here, so that publish() cannot fail.
  store.window.reserve(candidate.calls());
  store.candidate.emplace(std::move(candidate));
  return {std::move(staged), unloaded};
}

}  // namespace

Store::Store() : state_(std::make_unique<StoreState>()) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

// ---- Opening ------------------------------------------------------------------------------------

Result<std::vector<PartInfo>> Store::begin_recovery(std::optional<std::string_view> manifest,
                                                    std::uint64_t changes_max) {
  state_->damage.clear();
  auto recovery = Recovery::begin(manifest, changes_max, state_->damage);
  if (!recovery.ok()) return recovery.error();
  state_->recovery.emplace(std::move(*recovery));
  return state_->recovery->parts();
}

Result<void> Store::replay(std::uint64_t sequence, std::string_view bytes) {
  ENTITABLE_CHECK(state_->recovery.has_value());
  Result<void> replayed = state_->recovery->replay(sequence, bytes);
  const bool is_applied = !state_->recovery->unapplied_end().has_value();
  if (is_applied) unload_parts_above(state_->memory_limit, {&state_->recovery->version().catalog});
  return replayed;
}

void Store::finish_recovery() {
  ENTITABLE_CHECK(state_->recovery.has_value());
  Recovery& recovery = *state_->recovery;
  // These two lines may allocate, so they come first.
  state_->readers = recovery.manifest().readers;
  state_->has_unloaded_parts = !recovery.parts().empty();
  state_->unapplied_end = recovery.unapplied_end();
  state_->published = std::move(recovery.version());
  state_->window = std::move(recovery.window());
  state_->parts = std::move(recovery.stored_parts());
  state_->next_sequence = recovery.next_sequence();
  state_->epoch = state_->feed_epoch = recovery.epoch();
  state_->claims = std::move(recovery.claims());
  state_->history = std::move(recovery.history());
  state_->segment_bytes += recovery.segment_bytes();
  state_->update_collecting();
  state_->stored_commit = state_->sealed_through = state_->published.last_commit;
  state_->recovery.reset();
}

std::optional<std::uint64_t> Store::first_unapplied_segment() const {
  if (state_->recovery.has_value()) {
    if (!state_->recovery->unapplied_end().has_value()) return std::nullopt;
    return state_->recovery->next_sequence();
  }
  if (!state_->unapplied_end.has_value()) return std::nullopt;
  return state_->next_sequence;
}

void Store::resume_recovery(std::uint64_t changes_max) {
  ENTITABLE_CHECK(state_->unapplied_end.has_value() && !state_->recovery.has_value() &&
                  !state_->checkpoint.has_value() && !is_damaged());
  state_->recovery.emplace(Recovery::resume(
      {std::move(state_->published), std::move(state_->window), std::move(state_->parts),
       std::move(state_->claims), std::move(state_->history)},
      {state_->next_sequence, state_->epoch}, *state_->unapplied_end, changes_max, state_->damage));
}

Result<void> Store::load_part(PartId id, std::optional<std::string_view> bytes) {
  if (state_->recovery.has_value()) {
    Result<void> loaded = state_->recovery->load_part(id, bytes);
    unload_parts_above(state_->memory_limit, {&state_->recovery->version().catalog});
    return loaded;
  }
  Result<void> loaded = state_->load_part(id, bytes, state_->versions());
  state_->update_collecting();
  return loaded;
}

Result<void> Store::load_part_for_checkpoint(PartId id, std::optional<std::string_view> bytes) {
  if (!state_->checkpoint.has_value()) return {};
  if (!state_->memory_is_short(state_->published.catalog)) return load_part(id, bytes);
  return state_->load_part(id, bytes, {&state_->checkpoint->tables()});
}

void Store::set_part_bytes(std::uint64_t bytes) {
  state_->part_bytes = bytes;
}

void Store::set_memory_limit(std::uint64_t bytes) {
  state_->memory_limit = bytes;
  if (state_->listeners != nullptr) state_->listeners->set_memory_limit(bytes);
  state_->update_collecting();
}

void Store::enforce_memory_limit() {
  state_->awaited_parts.clear();
  if (!state_->allows_unloading()) return;
  if (state_->memory_limit != 0) state_->unload_pinned_growth();
  if (state_->exceeds_memory_limit()) {
    state_->has_unloaded_parts = true;
    state_->update_collecting();
    state_->unload_above(state_->memory_limit);
  }
  if (state_->unloads_by_writes >= unloads_enforced_min) {
    unload_like_published(state_->versions());
    state_->unloads_by_writes = 0;
  }
}

void Store::trim_memory_to(std::uint64_t bytes) {
  if (state_->memory_limit == 0 || state_->memory() <= bytes || !state_->allows_unloading()) return;
  state_->has_unloaded_parts = true;
  state_->unload_above(bytes);
}

std::uint64_t Store::memory_bytes() const {
  return state_->memory();
}

bool Store::must_take_changes() const {
  return state_->memory_of_listeners() > StoreListeners::bytes_to_take;
}

std::uint64_t Store::unsaved_memory() const {
  return unsaved_memory_of(state_->published.catalog) + state_->checkpoint_memory;
}

std::uint64_t Store::last_commit() const {
  return state_->published.last_commit;
}

FeedPosition Store::position() const {
  return state_->position();
}

FeedPosition Store::stored_position() const {
  const std::uint64_t stored = std::min(state_->stored_commit, last_commit());
  return {std::min(state_->claims.epoch_of(stored), state_->feed_epoch), stored};
}

std::uint64_t Store::first_live_sequence() const {
  return state_->manifest().first_live_sequence;
}

std::uint64_t Store::first_kept_sequence() const {
  return first_kept_sequence_of(state_->manifest());
}

bool Store::has_synced_tables() const {
  const std::vector<Ref<Table>>& tables = state_->published.catalog.tables();
  return std::any_of(tables.begin(), tables.end(),
                     [](const Ref<Table>& table) { return table->synced; });
}

bool Store::is_damaged() const {
  return !state_->damage.empty();
}

const std::vector<Damage>& Store::damage() const {
  return state_->damage;
}

void Store::report_damage(Damage damage) {
  state_->damage.push_back(std::move(damage));
}

// ---- Reading ------------------------------------------------------------------------------------

std::variant<PinnedRow, Error, PartsNeeded> Store::get(std::string_view table,
                                                       const KeyView& key) const {
  const Table* found = state_->published.catalog.find(table);
  if (found == nullptr) return Error(ErrorCode::table_not_found);
  auto answer = get_row(found->index, key);
  if (std::holds_alternative<PinnedRow>(answer)) return answer;  // a key that is stored is valid
  if (const auto checked = check_url_key(key); !checked.ok()) return checked.error();
  if (auto* need = std::get_if<PartsNeeded>(&answer)) return state_->await(std::move(*need));
  return answer;
}

std::optional<Page> Store::multi_get(std::string_view table, std::span<const KeyView> keys) const {
  const Table* found = state_->published.catalog.find(table);
  if (found == nullptr) return std::nullopt;
  return get_rows_until_missing(found->index, keys);
}

std::variant<Page, Error, PartsNeeded> Store::query(std::string_view table,
                                                    const Query& query) const {
  const Table* found = state_->published.catalog.find(table);
  if (found == nullptr) return Error(ErrorCode::table_not_found);
  auto page = state_->as_service && !query.descending ? execute_as_service(found->index, query)
                                                      : execute(found->index, query);
  if (std::holds_alternative<PartsNeeded>(page) && state_->exceeds_memory_limit()) {
    page = execute(found->index, query, OnUnloaded::end_page);
  }
  if (auto* need = std::get_if<PartsNeeded>(&page)) return state_->await(std::move(*need));
  Page& whole = std::get<Page>(page);
  if (const std::size_t share = share_of(whole.rows.size(), state_->page_share);
      share < whole.rows.size()) {
    const auto next = whole.rows.begin() + static_cast<std::ptrdiff_t>(share);
    // A descending query continues below the key.
    const std::string row =
        query.descending ? successor(next->row_key()) : std::string(next->row_key());
    whole.next = Continuation{EntityKey(next->partition(), row)};
    whole.rows.erase(next, whole.rows.end());
  }
  return std::move(whole);
}

std::variant<MatchCount, Error, PartsNeeded> Store::count(std::string_view table,
                                                          const Query& query) const {
  const Table* found = state_->published.catalog.find(table);
  if (found == nullptr) return Error(ErrorCode::table_not_found);
  auto counted = count_matches(found->index, query);
  if (auto* need = std::get_if<PartsNeeded>(&counted)) return state_->await(std::move(*need));
  return std::move(std::get<MatchCount>(counted));
}

std::variant<PartitionKeys, Error, PartsNeeded> Store::partition_keys(std::string_view table,
                                                                      std::string_view from,
                                                                      std::uint32_t top) const {
  const Table* found = state_->published.catalog.find(table);
  if (found == nullptr) return Error(ErrorCode::table_not_found);
  auto listed = list_partition_keys(found->index, from, top);
  if (auto* need = std::get_if<PartsNeeded>(&listed)) return state_->await(std::move(*need));
  PartitionKeys& page = std::get<PartitionKeys>(listed);
  if (const std::size_t share = share_of(page.keys.size(), state_->page_share);
      share < page.keys.size()) {
    page.next = page.keys[share];
    page.keys.resize(share);
  }
  return std::move(page);
}

std::variant<Explain, Error, PartsNeeded> Store::explain(std::string_view table, const Query& query,
                                                         std::string_view key) const {
  const Table* found = state_->published.catalog.find(table);
  if (found == nullptr) return Error(ErrorCode::table_not_found);
  auto explained = state_->explanations.run(key, *found, query);
  if (auto* need = std::get_if<PartsNeeded>(&explained)) return state_->await(std::move(*need));
  return std::move(std::get<Explain>(explained));
}

Result<TablePage> Store::tables(const Filter& filter, std::uint32_t top,
                                std::string_view from) const {
  for (const FilterNode& node : filter.nodes) {
    const bool names_property =
        node.kind == FilterKind::comparison || node.kind == FilterKind::flag;
    if (names_property && node.property != "TableName") return Error(ErrorCode::invalid_input);
  }
  const std::string start = fold_table_name(from);
  TablePage page;
  if (top == 0) return page;
  Entity probe;
  for (const Ref<TableIdentity>& identity : state_->published.catalog.identities_by_name()) {
    const TableName& name = identity->name;
    if (name.folded() < start) continue;
    probe.properties.assign(1, Property{"TableName", Value::of_string(name.text())});
    if (!filter.empty() && !matches_unbound(filter, probe)) continue;
    if (page.names.size() == top) {
      page.next = name.text();
      break;
    }
    page.names.push_back(name.text());
  }
  if (const std::size_t share = share_of(page.names.size(), state_->page_share);
      share < page.names.size()) {
    page.next = page.names[share];
    page.names.resize(share);
  }
  return page;
}

void Store::truncate_result_pages(double share) {
  state_->page_share = share;
}

void Store::simulate_service_reads(bool on) {
  state_->as_service = on;
}

Result<std::vector<AccessPolicy>> Store::table_acl(std::string_view table) const {
  const Table* found = state_->published.catalog.find(table);
  if (found == nullptr) return Error(ErrorCode::table_not_found);
  return found->acl;
}

const std::string& Store::service_properties() const {
  return state_->published.catalog.service_properties();
}

StoreStats Store::stats() const {
  StoreStats stats;
  for (const Ref<TableIdentity>& identity : state_->published.catalog.identities_by_name()) {
    const TableIndex& index = state_->published.catalog.find(identity->id)->index;
    stats.tables.push_back({identity->name.text(), index.row_count(), index.bytes()});
    stats.rows += index.row_count();
    stats.bytes += index.bytes();
  }
  stats.memory_bytes = state_->memory();
  stats.last_commit = last_commit();
  stats.pending_commits = state_->pending.count_through(stats.last_commit);
  for (std::size_t i = 0; i < stats.pending_commits; ++i) {
    stats.pending_bytes += state_->pending[i].size();
  }
  stats.next_sequence = state_->next_sequence;
  stats.epoch = state_->epoch;
  stats.segments_since_checkpoint =
      state_->next_sequence - state_->parts.manifest().first_live_sequence;
  stats.segment_bytes_since_checkpoint = state_->segment_bytes;
  stats.history_bytes = state_->history.bytes_before(first_live_sequence());
  return stats;
}

std::vector<PartId> Store::parts_with_inexact_counts() const {
  return state_->published.catalog.parts_with_inexact_counts();
}

std::string Store::verify() const {
  return verify_catalog(state_->published.catalog);
}

// ---- Writing ------------------------------------------------------------------------------------

StageResult Store::stage(const std::vector<WriteRequest>& requests, Ticks now) {
  ENTITABLE_CHECK(!state_->candidate.has_value() && state_->is_open());
  if (is_damaged()) {
    StageResult rejected;
    rejected.results.assign(requests.size(), GroupFailure{Error(ErrorCode::read_only), 0, false});
    return rejected;
  }
  Attempt attempt = try_stage(*state_, requests, now, state_->collects_changes);
  // A request may have unloaded a part that a later request needs.
  if (attempt.unloaded_parts > 0 && !attempt.result.parts_needed.empty())
    attempt = try_stage(*state_, requests, now, false);
  return std::move(attempt.result);
}

StageResult Store::write(const WriteRequest& request, Ticks now, StageResult memory) {
  ENTITABLE_CHECK(!state_->candidate.has_value() && state_->is_open());
  if (is_damaged()) return stage({request}, now);
  if (request.call.has_value()) state_->window.reserve(request.call->client);
  memory.results.resize(1);
  memory.parts_needed.clear();
  // Moves the published version into the candidate, so that rows can be changed in place. The
  // destructor moves it back, even if an exception is thrown.
  struct Taken {
    StoreState& state;
    Candidate candidate{std::move(state.published), state.window, state.pending, state.scratch};
    ~Taken() {
      const std::uint32_t unloaded = candidate.unloaded_parts();
      state.publish(candidate);
      state.count_unloads_by_writes(unloaded);
    }
  } taken{*state_};
  if (state_->collects_changes)
    taken.candidate.collect_changes_in_overlays(nullptr, state_->awaited_parts);
  if (state_->has_listeners()) taken.candidate.record_changes(state_->listeners->make_recorder());
  auto need = taken.candidate.apply_request(request, now, memory.results.front());
  if (need.has_value() && state_->memory_is_short(taken.candidate.version().catalog)) {
    taken.candidate.allow_upserts_without_parts();
    need = taken.candidate.apply_request(request, now, memory.results.front());
  }
  if (need.has_value()) {
    memory.results.clear();
    add_parts(memory.parts_needed, *need);
  }
  memory.changes = taken.candidate.has_changes();
  return memory;
}

std::vector<std::uint64_t> Store::known_calls(const ClientId& client) const {
  return state_->window.numbers(client);
}

std::uint64_t Store::calls_dropped_through() const {
  return state_->window.dropped_through();
}

void Store::publish() {
  ENTITABLE_CHECK(state_->candidate.has_value());
  state_->publish(*state_->candidate);
  state_->count_unloads_by_writes(state_->candidate->unloaded_parts());
  state_->candidate.reset();
}

void Store::discard() {
  state_->discard();
}

std::optional<SealedSegment> Store::seal(std::size_t bytes_max) {
  state_->forget_sealed_segments();
  return seal_next(bytes_max);
}

std::optional<SealedSegment> Store::seal_next(std::size_t bytes_max) {
  const PendingRecords& records = state_->pending;
  const std::size_t first = records.count_through(state_->sealed_through);
  const SegmentWriter::Capacity load = capacity_for(records, first, bytes_max);
  if (load.commits == 0) return std::nullopt;
  SegmentWriter writer(state_->next_sealed_sequence(), state_->epoch, load);
  for (std::size_t at = first; at < first + load.commits; ++at) {
    const CommitEffects effects = records.effects_at(at);
    if (at > first && writer.size_with(records[at], effects) > bytes_max) break;
    writer.add(records[at], effects);
    state_->sealed_through = records.commit_number_at(at);
  }
  const StoreVersion& newest =
      state_->candidate.has_value() ? state_->candidate->version() : state_->published;
  return seal_segment(
      *state_, std::move(writer),
      {records.commit_number_at(first), state_->sealed_through, newest.clock.last_issued()});
}

SealedSegment Store::make_claim_segment() {
  ENTITABLE_CHECK(state_->pending.empty() && !state_->candidate.has_value() &&
                  !state_->recovery.has_value() && !is_damaged());
  state_->forget_sealed_segments();
  if (state_->unapplied_end.has_value()) {
    const auto& [sequence, epoch] = *state_->unapplied_end;
    return {sequence, SegmentWriter(sequence, epoch + 1).finish()};
  }
  state_->begin_epoch();
  return seal_segment(*state_, SegmentWriter(state_->next_sequence, state_->epoch));
}

void Store::mark_stored(std::uint64_t sequence) {
  if (state_->unapplied_end.has_value()) {  // the claim, which is replayed like other segments
    ENTITABLE_CHECK(sequence == state_->unapplied_end->next_sequence);
    ++state_->unapplied_end->next_sequence;
    ++state_->unapplied_end->epoch;
    return;
  }
  ENTITABLE_CHECK(!state_->sealed.empty() && sequence == state_->next_sealed_sequence() - 1);
  state_->stored_commit = state_->sealed_through;
  state_->pending.drop_through(state_->stored_commit);
  state_->next_sequence += state_->sealed.size();
  state_->feed_epoch = state_->epoch;
  for (const StoreState::Sealed& segment : state_->sealed) {
    state_->segment_bytes += segment.bytes;
    state_->history.add_segment(segment.commits, segment.bytes);
  }
  if (state_->branched) state_->history.clear();
  state_->forget_sealed_segments();
}

// ---- Checkpoint ---------------------------------------------------------------------------------

bool Store::begin_checkpoint() {
  ENTITABLE_CHECK(!state_->checkpoint.has_value() && !state_->recovery.has_value() &&
                  !state_->branched);
  const Manifest& manifest = state_->parts.manifest();
  const bool changed = state_->published.last_commit != manifest.last_commit;
  const bool covers = state_->next_sequence != manifest.first_live_sequence;
  const bool readers_changed = state_->readers_version != state_->readers_version_stored;
  if (is_damaged() || !(changed || covers || readers_changed)) return false;
  // A segment that is being stored now has the number next_sequence, so it stays live. Recovery
  // skips the commits in it that the manifest covers.
  state_->open_checkpoint(state_->published, state_->window);
  state_->history.end_stretch();
  return true;
}

std::uint64_t Store::estimate_checkpoint_bytes() const {
  std::uint64_t bytes = 0;
  for (const Ref<Table>& table : state_->published.catalog.tables()) {
    bytes += table->index.bytes_to_checkpoint();
  }
  return bytes;
}

CheckpointStep Store::next_checkpoint_part() {
  ENTITABLE_CHECK(state_->checkpoint.has_value());
  mark_checkpoint_part_stored();
  return state_->checkpoint->next_part(state_->parts, state_->writable_versions());
}

void Store::mark_checkpoint_part_stored() {
  if (!state_->checkpoint.has_value() || !state_->checkpoint->part_pending()) return;
  state_->parts.add_unlisted(state_->checkpoint->pending_part());
  state_->growth_estimate.add_unloadable(state_->checkpoint->pending_part().part.bytes);
  state_->checkpoint->mark_part_stored(state_->writable_versions());
}

std::optional<InterimCheckpoint> Store::interim_checkpoint() {
  ENTITABLE_CHECK(state_->checkpoint.has_value() && !state_->checkpoint->part_pending());
  ENTITABLE_CHECK(state_->interim == nullptr);
  // A snapshot may need the old parts. A replacement is not the result of the log. And after a
  // crash, the log must contain all commits whose rows are in the new parts.
  if (!state_->snapshots.empty() || state_->replacement.has_value()) return std::nullopt;
  if (state_->stored_commit < state_->checkpoint->manifest().last_commit) return std::nullopt;
  auto made = state_->checkpoint->interim_manifest(state_->parts);
  if (!made.has_value()) return std::nullopt;
  std::vector<PartId> obsolete =
      find_obsolete(listed_parts(state_->parts.manifest()), made->manifest, state_->versions());
  if (obsolete.empty()) return std::nullopt;
  InterimCheckpoint interim{encode_manifest(made->manifest), std::move(made->extra_part), obsolete};
  const PartId extra = interim.extra_part.has_value() ? interim.extra_part->id : 0;
  state_->interim = std::make_unique<StoreState::Interim>(
      StoreState::Interim{std::move(made->manifest), extra, std::move(obsolete)});
  return interim;
}

void Store::mark_interim_checkpoint_committed() {
  ENTITABLE_CHECK(state_->interim != nullptr);
  state_->parts.replace_manifest(std::move(state_->interim->manifest),
                                 state_->interim->obsolete_parts);
  state_->interim.reset();
}

FinishedCheckpoint Store::finish_checkpoint(const HistoryLimits& limits) {
  ENTITABLE_CHECK(state_->checkpoint.has_value() && !state_->checkpoint->part_pending() &&
                  state_->interim == nullptr);
  Manifest& manifest = state_->checkpoint->manifest();
  const std::uint64_t safe = std::max(state_->stored_commit, manifest.last_commit);
  state_->move_readers_up_to(safe);
  manifest.readers = state_->readers_up_to(safe);
  const bool has_all = manifest.readers == state_->readers;
  state_->readers_version_at_checkpoint = state_->readers_version - (has_all ? 0 : 1);
  if (!state_->replacement.has_value()) {  // a content that is replaced is no history
    manifest.history = state_->history.history_to_keep(
        manifest, state_->first_commit_needed(manifest.readers, limits), limits);
  }
  // A snapshot may need any part that was stored when it began.
  if (state_->snapshots.empty()) {
    const bool is_replaced = state_->replacement.has_value();
    state_->obsolete_parts =
        find_obsolete(state_->parts.ids(), manifest,
                      is_replaced ? std::vector<Catalog*>() : state_->writable_versions());
  }
  return {encode_manifest(manifest), manifest.first_live_sequence, first_kept_sequence_of(manifest),
          state_->obsolete_parts};
}

void Store::mark_checkpoint_committed() {
  ENTITABLE_CHECK(state_->checkpoint.has_value());
  if (state_->replacement.has_value()) {
    state_->published = std::move(state_->replacement->version);
    state_->window = std::move(state_->replacement->window);
    state_->stored_commit = state_->sealed_through = state_->published.last_commit;
    state_->replacement.reset();
    state_->mark_changes_unknown(CommitOrigin::restore);
    // The restore may have unloaded some of its parts.
    if (state_->memory_limit != 0 && !state_->branched) state_->has_unloaded_parts = true;
  }
  state_->history.mark_committed(state_->checkpoint->manifest());
  state_->readers_version_stored = state_->readers_version_at_checkpoint;
  state_->parts.replace_manifest(state_->checkpoint->take_manifest(), state_->obsolete_parts);
  state_->obsolete_parts.clear();
  state_->segment_bytes -= state_->segment_bytes_at_checkpoint;
  state_->end_checkpoint();
}

std::vector<PartId> Store::abandon_checkpoint() {
  std::vector<PartId> unneeded;
  if (!state_->checkpoint.has_value()) return unneeded;
  const Checkpoint& checkpoint = *state_->checkpoint;
  if (checkpoint.part_pending()) unneeded.push_back(checkpoint.pending_part().part.id);
  if (state_->interim != nullptr && state_->interim->extra_part != 0)
    unneeded.push_back(state_->interim->extra_part);
  state_->interim.reset();
  state_->obsolete_parts.clear();
  if (state_->replacement.has_value()) {
    for (const PartId part : state_->replacement->parts) {
      if (state_->parts.forget_unlisted(part)) unneeded.push_back(part);
    }
  }
  state_->end_checkpoint();
  state_->replacement.reset();
  return unneeded;
}

}  // namespace entitable
