// The module's raw exports: C functions that read and write wasm memory. Entities cross the
// boundary only here.
//
// Input bytes go into the handle's input buffer: entitable_reserve_input returns its address, and
// each function takes the length. Results are returned as a CallResult (handle.h); the comments
// below say what its bytes, value and number mean, and what Status::nothing means. Sequences, part
// ids and times are doubles, exact up to 2^53, because JavaScript would get 64-bit integers as
// BigInts. README.md documents ownership.

#include <emscripten/emscripten.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <variant>

#include "bindings/handle.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/rest/service_properties.h"
#include "core/rpc/sync_messages.h"
#include "core/store/versions.h"

using entitable::ByteReader;
using entitable::ByteWriter;
using entitable::CheckpointPart;
using entitable::CheckpointStep;
using entitable::ClientCall;
using entitable::ClientId;
using entitable::Damage;
using entitable::Error;
using entitable::FinishedCheckpoint;
using entitable::PartId;
using entitable::PartInfo;
using entitable::PartsNeeded;
using entitable::Restore;
using entitable::Result;
using entitable::SealedSegment;
using entitable::SnapshotExport;
using entitable::Versions;
using entitable::bindings::CallResult;
using entitable::bindings::guarded;
using entitable::bindings::guarded_response;
using entitable::bindings::Handle;
using entitable::bindings::Status;

namespace {

const CallResult* return_done(Handle& h, std::uint32_t value = 0) {
  h.result = CallResult{Status::done, 0, 0, value};
  return &h.result;
}

// Splits the input into `messages`: `count` lengths of one word each, then that many messages.
void split_messages(const Handle& h, std::uint32_t count, std::uint32_t size,
                    std::vector<std::string_view>& messages) {
  messages.clear();
  messages.reserve(count);
  std::size_t offset = std::size_t{count} * 4;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t length;
    std::memcpy(&length, h.input.data() + std::size_t{i} * 4, 4);
    messages.push_back(h.input_view(size).substr(offset, length));
    offset += length;
  }
}

// Discards the candidate unless staging succeeds. If memory runs out midway, the store is as if
// nothing had been staged.
struct DiscardUnlessDone {
  Handle& handle;
  bool done = false;
  ~DiscardUnlessDone() {
    if (!done) handle.store.discard();
  }
};

// Bytes: the ids, as u64 each. Value: their number.
const CallResult* return_parts(Handle& h, const std::vector<PartId>& parts) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const PartId part : parts) out.u64(part);
  return h.return_bytes(std::move(bytes), static_cast<std::uint32_t>(parts.size()), 0);
}

SnapshotExport& open_snapshot(Handle& h, std::uint32_t number) {
  const auto at = h.snapshots.find(number);
  ENTITABLE_CHECK(at != h.snapshots.end());
  return at->second;
}

Restore& open_restore(Handle& h) {
  ENTITABLE_CHECK(h.restore.has_value());
  return *h.restore;
}

// Returns 1 if the message changes nothing, 2 if it only deletes rows or a table, otherwise 0.
std::uint32_t flags_of(const entitable::dispatch::StagedResponses& staged, std::size_t message) {
  if (staged.failed[message]) return 1;
  return staged.only_deletes[message] ? 2 : 0;
}

Error poisoned_error() {
  return Error(entitable::ErrorCode::internal_error,
               "The store failed before and accepts no more writes. Open it again.");
}

// Implements entitable_stage and entitable_stage_and_publish.
template <typename StageFunction>
const CallResult* stage_messages(Handle& h, StageFunction stage_function, std::uint32_t count,
                                 std::uint32_t size, double now_ms) {
  if (h.poisoned) return h.return_error(poisoned_error());
  h.response_locations.clear();
  // Allocates before the write, because nothing may fail after it.
  h.response_locations.reserve(std::size_t{count} * 3);
  DiscardUnlessDone discard{h};
  split_messages(h, count, size, h.messages);
  stage_function(h.account, h.store, h.messages, entitable::rpc::ticks_from_unix_ms(now_ms),
                 h.staged);
  if (!h.staged.parts_needed.empty()) return h.return_parts_needed(h.staged.parts_needed);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& response = h.staged.responses[i];
    h.response_locations.push_back(entitable::bindings::address_of(response.data()));
    h.response_locations.push_back(static_cast<std::uint32_t>(response.size()));
    h.response_locations.push_back(flags_of(h.staged, i));
  }
  discard.done = true;
  return h.return_view(
      {reinterpret_cast<const char*>(h.response_locations.data()), h.response_locations.size() * 4},
      (h.staged.changes ? 1 : 0) | (h.store.must_take_changes() ? 2 : 0));
}

const CallResult* stage_sync(Handle& h, entitable::WriteRequest request, bool publishes,
                             double now_ms) {
  if (h.poisoned) return h.return_error(poisoned_error());
  DiscardUnlessDone discard{h};
  std::vector<entitable::WriteRequest> requests;
  requests.push_back(std::move(request));
  const entitable::StageResult staged =
      h.store.stage(requests, entitable::rpc::ticks_from_unix_ms(now_ms));
  if (!staged.parts_needed.empty()) return h.return_parts_needed(staged.parts_needed);
  if (const auto* failed = std::get_if<entitable::GroupFailure>(&staged.results.front()))
    return h.return_error(failed->error);
  if (publishes && staged.changes) h.store.publish();
  discard.done = true;
  return return_done(h, (staged.changes ? 1 : 0) | (h.store.must_take_changes() ? 2 : 0));
}

// Reads the input of entitable_apply_synced.
std::optional<Error> read_synced_changes(std::string_view input, std::uint32_t count,
                                         entitable::SyncedChanges& changes) {
  constexpr std::size_t head_bytes = 16;
  ByteReader heads(input.substr(0, count * head_bytes));
  std::size_t operations = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    heads.u64();
    operations += heads.u32();
    heads.u32();
  }
  ByteReader rest(input.substr(count * head_bytes));
  ByteReader timestamps(rest.raw(operations * sizeof(std::uint64_t)));
  heads = ByteReader(input.substr(0, count * head_bytes));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t table = heads.u32();
    heads.u32();
    const std::string_view times = timestamps.raw(heads.u32() * sizeof(std::uint64_t));
    const std::string_view message = rest.raw(heads.u32());
    if (auto error = entitable::rpc::add_sync_changes(table, times, message, changes)) return error;
  }
  return std::nullopt;
}

}  // namespace

extern "C" {

// ---- Handles and memory -------------------------------------------------------------------------

// Returns a handle with an empty store, or 0 if memory ran out.
EMSCRIPTEN_KEEPALIVE Handle* entitable_open() {
  try {
    entitable::bindings::throw_on_failed_checks();
    return new Handle();
  } catch (...) {
    return nullptr;
  }
}

// Returns 1, or 0 if a check has failed, also before: then memory may be corrupt, and part of it is
// leaked if the check failed during destruction.
EMSCRIPTEN_KEEPALIVE std::uint32_t entitable_close(Handle* handle) {
  const bool is_sound = !handle->poisoned;
  try {
    delete handle;
    return is_sound ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

// Returns the address of a buffer for `size` bytes of input, or 0 if memory ran out. The buffer is
// valid until the next entitable_reserve_input on the handle.
EMSCRIPTEN_KEEPALIVE char* entitable_reserve_input(Handle* handle, std::uint32_t size) {
  constexpr std::size_t bytes_min = 512;  // small, because there may be a thousand handles
  // A larger buffer is released as soon as an input fits into this size again.
  constexpr std::size_t retained_bytes_max = 1 << 20;
  std::vector<char>& input = handle->input;
  handle->release_large_bytes();
  try {
    if (input.size() < size || input.empty() ||
        (input.size() > retained_bytes_max && size <= retained_bytes_max)) {
      const std::size_t doubled = std::min(2 * input.size(), retained_bytes_max);
      input = std::vector<char>();
      input.resize(std::max({std::size_t{size}, doubled, bytes_min}));
    }
    return input.data();
  } catch (...) {
    return nullptr;
  }
}

// ---- Opening ------------------------------------------------------------------------------------

// Input: the manifest, if has_manifest. Bytes: per part, a u64 id and a u64 size in bytes.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_recover(Handle* handle, std::uint32_t size,
                                                         std::uint32_t has_manifest,
                                                         double changes_max) {
  return guarded(handle, [&](Handle& h) {
    std::optional<std::string_view> manifest;
    if (has_manifest != 0) manifest = h.input_view(size);
    const Result<std::vector<PartInfo>> parts =
        h.store.begin_recovery(manifest, static_cast<std::uint64_t>(changes_max));
    if (!parts.ok()) return h.return_error(parts.error());
    std::string bytes;
    ByteWriter out(bytes);
    for (const PartInfo& part : *parts) {
      out.u64(part.id);
      out.u64(part.bytes);
    }
    return h.return_bytes(std::move(bytes));
  });
}

// Input: the part's bytes, if has_file. Without them, the part's file is missing. As
// entitable_load_part(), for the version that the checkpoint writes.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_load_part_for_checkpoint(Handle* handle, double id,
                                                                          std::uint32_t size,
                                                                          std::uint32_t has_file) {
  return guarded(handle, [&](Handle& h) {
    std::optional<std::string_view> file;
    if (has_file != 0) file = h.input_view(size);
    const Result<void> loaded = h.store.load_part_for_checkpoint(static_cast<PartId>(id), file);
    return loaded.ok() ? return_done(h) : h.return_error(loaded.error());
  });
}

// Input: the part's bytes, if has_file. Without them, the part's file is missing.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_load_part(Handle* handle, double id,
                                                           std::uint32_t size,
                                                           std::uint32_t has_file) {
  return guarded(handle, [&](Handle& h) {
    std::optional<std::string_view> file;
    if (has_file != 0) file = h.input_view(size);
    const Result<void> loaded = h.store.load_part(static_cast<PartId>(id), file);
    return loaded.ok() ? return_done(h) : h.return_error(loaded.error());
  });
}

// Input: the segment's bytes.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_replay_segment(Handle* handle, double sequence,
                                                                std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    const Result<void> applied =
        h.store.replay(static_cast<std::uint64_t>(sequence), h.input_view(size));
    return applied.ok() ? return_done(h) : h.return_error(applied.error());
  });
}

// Returns Status::parts_needed with the parts that make rows and bytes in stats() inexact, if any.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_uncounted_parts(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const std::vector<PartId> parts = h.store.parts_with_inexact_counts();
    return parts.empty() ? return_done(h) : h.return_parts_needed(parts);
  });
}

// Store::set_memory_limit, in bytes; 0: no limit.
EMSCRIPTEN_KEEPALIVE void entitable_limit_memory(Handle* handle, double bytes) {
  handle->store.set_memory_limit(static_cast<std::uint64_t>(bytes));
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_trim_memory(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.enforce_memory_limit();
    return return_done(h);
  });
}

// Store::trim_memory_to.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_trim_memory_to(Handle* handle, double bytes) {
  return guarded(handle, [&](Handle& h) {
    h.store.trim_memory_to(static_cast<std::uint64_t>(bytes));
    return return_done(h);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_finish_recovery(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.finish_recovery();
    return return_done(h);
  });
}

// Returns Store::first_unapplied_segment(), or 0 if there is none.
EMSCRIPTEN_KEEPALIVE double entitable_first_unapplied_segment(Handle* handle) {
  return static_cast<double>(handle->store.first_unapplied_segment().value_or(0));
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_resume_recovery(Handle* handle,
                                                                 double changes_max) {
  return guarded(handle, [&](Handle& h) {
    h.store.resume_recovery(static_cast<std::uint64_t>(changes_max));
    return return_done(h);
  });
}

EMSCRIPTEN_KEEPALIVE double entitable_last_commit(Handle* handle) {
  return static_cast<double>(handle->store.last_commit());
}

EMSCRIPTEN_KEEPALIVE double entitable_first_live_sequence(Handle* handle) {
  return static_cast<double>(handle->store.first_live_sequence());
}

EMSCRIPTEN_KEEPALIVE double entitable_first_kept_sequence(Handle* handle) {
  return static_cast<double>(handle->store.first_kept_sequence());
}

EMSCRIPTEN_KEEPALIVE std::uint32_t entitable_is_damaged(Handle* handle) {
  return handle->store.is_damaged() || handle->poisoned ? 1 : 0;
}

// Input: the file's name, then the message.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_report_damage(Handle* handle,
                                                               std::uint32_t file_size,
                                                               std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    const std::string_view text = h.input_view(size);
    h.store.report_damage(
        Damage{std::string(text.substr(0, file_size)), std::string(text.substr(file_size))});
    return return_done(h);
  });
}

// ---- Reading and writing ------------------------------------------------------------------------

// Store::truncate_result_pages, for all later reads.
EMSCRIPTEN_KEEPALIVE void entitable_truncate_result_pages(Handle* handle, double share) {
  handle->store.truncate_result_pages(share);
}

// Store::simulate_service_reads, for all later reads.
EMSCRIPTEN_KEEPALIVE void entitable_simulate_service_reads(Handle* handle, std::uint32_t on) {
  handle->store.simulate_service_reads(on != 0);
}

// Input: an RPC request message that reads. Bytes: its response message.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_rpc_read(Handle* handle, std::uint32_t size) {
  return guarded_response(handle, [&](Handle& h) {
    const std::vector<PartId> parts = entitable::rpc::handle_read(
        h.store, h.input_view(size), h.page_writer, h.response, &h.rows);
    return parts.empty() ? h.return_view(h.response.view()) : h.return_parts_needed(parts);
  });
}

// Input: an RPC request message of a client that listens (core/rpc/listening_clients.h). Bytes: its
// response message. Parts needed: as entitable_rpc_read.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_listen(Handle* handle, std::uint32_t client,
                                                        std::uint32_t size) {
  return guarded_response(handle, [&](Handle& h) {
    if (h.listening_clients == nullptr)
      h.listening_clients = std::make_unique<entitable::rpc::ListeningClients>();
    const std::vector<PartId> parts =
        h.listening_clients->handle(h.store, client, h.input_view(size), h.page_writer, h.response);
    return parts.empty() ? h.return_view(h.response.view()) : h.return_parts_needed(parts);
  });
}

// Input: an HTTP request message (core/rest/http_codec.h) that reads. Bytes: its response message,
// or an RPC error message.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_rest_read(Handle* handle, std::uint32_t size,
                                                           double now_ms) {
  return guarded_response(handle, [&](Handle& h) {
    const std::vector<PartId> parts = entitable::dispatch::handle_rest_read(
        h.account, h.store, h.input_view(size), entitable::rpc::ticks_from_unix_ms(now_ms),
        h.response, &h.rows);
    return parts.empty() ? h.return_view(h.response.view()) : h.return_parts_needed(parts);
  });
}

// Input: `count` lengths of one word each, then that many messages, each an RPC write or an HTTP
// request. Bytes: per message three words: address and size of its response, and flags: 1 if the
// message changes nothing, 2 if it only deletes rows or a table. Value: flags: 1 if there are
// changes, 2 if Store::must_take_changes().
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_stage(Handle* handle, std::uint32_t count,
                                                       std::uint32_t size, double now_ms) {
  return guarded(handle, [&](Handle& h) {
    return stage_messages(h, entitable::dispatch::stage, count, size, now_ms);
  });
}

// Like entitable_stage, but also publishes the changes.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_stage_and_publish(Handle* handle,
                                                                   std::uint32_t count,
                                                                   std::uint32_t size,
                                                                   double now_ms) {
  return guarded(handle, [&](Handle& h) {
    return stage_messages(h, entitable::dispatch::stage_and_publish, count, size, now_ms);
  });
}

// Input: a client id. Bytes, as u64: Store::calls_dropped_through, and then the numbers of the
// client's calls (Store::known_calls).
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_known_calls(Handle* handle, std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    const std::string_view input = h.input_view(size);
    ClientId client;
    ENTITABLE_CHECK(input.size() == client.size());
    std::memcpy(client.data(), input.data(), client.size());
    std::string bytes;
    ByteWriter out(bytes);
    out.u64(h.store.calls_dropped_through());
    for (const std::uint64_t number : h.store.known_calls(client)) out.u64(number);
    return h.return_bytes(std::move(bytes));
  });
}

// ---- Synced tables ------------------------------------------------------------------------------

// Returns Store::has_synced_tables().
EMSCRIPTEN_KEEPALIVE std::uint32_t entitable_has_synced_tables(Handle* handle) {
  return handle->store.has_synced_tables() ? 1 : 0;
}

// SyncTables::enable.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_enable_sync(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    entitable::SyncTables(h.store).enable();
    return return_done(h);
  });
}

// Begins syncing the table if it is empty (how: 1), or ends it: only if it has no pending
// operations (0), or also then (2). Input: its name. Stages the change, and publishes it if
// `publishes`. Value: as entitable_stage.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_set_synced(Handle* handle, std::uint32_t size,
                                                            std::uint32_t how,
                                                            std::uint32_t publishes,
                                                            double now_ms) {
  return guarded(handle, [&](Handle& h) {
    std::string table(h.input_view(size));
    return stage_sync(h,
                      how == 1 ? entitable::SyncTables::start(std::move(table))
                               : entitable::SyncTables::stop(std::move(table), how == 2),
                      publishes != 0, now_ms);
  });
}

// SyncTables::has_pending_operations. Value: 0 or 1. Parts needed: as entitable_rpc_read.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_has_pending_operations(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const auto answer = entitable::SyncTables(h.store).has_pending_operations();
    if (const auto* need = std::get_if<entitable::PartsNeeded>(&answer))
      return h.return_parts_needed(need->ids);
    return return_done(h, std::get<bool>(answer) ? 1 : 0);
  });
}

// Input: an RPC request message that reads the table (core/rpc/sync_messages.h). Bytes: its
// response message. Parts needed: as entitable_rpc_read.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_sync_read(Handle* handle, std::uint32_t table,
                                                           std::uint32_t size) {
  return guarded_response(handle, [&](Handle& h) {
    const std::vector<PartId> parts = entitable::rpc::handle_sync_read(
        h.store, table, h.input_view(size), h.page_writer, h.response);
    return parts.empty() ? h.return_view(h.response.view()) : h.return_parts_needed(parts);
  });
}

// Input: a filter of `filter_size` bytes, and an RPC write message (core/rpc/sync_filter.h). Value:
// 1 if the entity matches, else 0.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_matches_filter(Handle* handle, std::uint32_t size,
                                                                std::uint32_t filter_size) {
  return guarded(handle, [&](Handle& h) {
    const std::string_view input = h.input_view(size);
    const auto matches =
        h.sync_filter.matches(input.substr(0, filter_size), input.substr(filter_size));
    return matches.ok() ? return_done(h, *matches ? 1 : 0) : h.return_error(matches.error());
  });
}

// Applies changes of a synced table and of its hidden tables, in one commit, unless a commit was
// made after `seen_commit`. Input: `count` times four words: the number of a table
// (core/rpc/sync_messages.h), 0, the operations and the size of a message; then a u64 timestamp per
// operation; then the messages, each an RPC write of the synced table. Stages the changes, and
// publishes them if `publishes`. Value: as entitable_stage.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_apply_synced(Handle* handle, std::uint32_t count,
                                                              std::uint32_t size,
                                                              double seen_commit,
                                                              std::uint32_t publishes,
                                                              double now_ms) {
  return guarded(handle, [&](Handle& h) {
    entitable::SyncedChanges changes;
    changes.seen_commit = static_cast<std::uint64_t>(seen_commit);
    if (auto error = read_synced_changes(h.input_view(size), count, changes))
      return h.return_error(*error);
    return stage_sync(h, entitable::SyncTables::apply(changes), publishes != 0, now_ms);
  });
}

// ---- Instrumentation ----------------------------------------------------------------------------

// Returns the number of rows that the last entitable_rpc_read or entitable_rest_read examined.
EMSCRIPTEN_KEEPALIVE double entitable_rows_read(Handle* handle) {
  return static_cast<double>(handle->rows.read);
}
// Returns the number of rows that the last entitable_rpc_read or entitable_rest_read returned.
EMSCRIPTEN_KEEPALIVE double entitable_rows_returned(Handle* handle) {
  return static_cast<double>(handle->rows.returned);
}

// Bytes: the partition of the rows that the last read examined (RowCounts in core/query/query.h).
// Value: 1 if the partition is known.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_last_read_partition(Handle* handle) {
  return guarded(handle, [&](Handle& h) {
    return h.return_bytes(h.rows.partition.value_or(""), h.rows.partition.has_value() ? 1 : 0);
  });
}

// Input: an RPC or HTTP request message. Bytes: its description as JSON
// (core/dispatch/instrumentation.h).
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_describe_request(Handle* handle,
                                                                  std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    return h.return_bytes(entitable::dispatch::description_json(
        entitable::dispatch::describe_request(h.account, h.input_view(size))));
  });
}

// Input: an RPC or HTTP request message, then the simulated error as JSON
// (core/dispatch/instrumentation.h). Bytes: the response message.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_make_error_response(Handle* handle,
                                                                     std::uint32_t message_size,
                                                                     std::uint32_t size,
                                                                     double now_ms) {
  return guarded(handle, [&](Handle& h) {
    const std::string_view in = h.input_view(size);
    const Result<void> encoded = entitable::dispatch::make_error_response(
        h.account, h.store, in.substr(0, message_size), in.substr(message_size),
        entitable::rpc::ticks_from_unix_ms(now_ms), h.response);
    return encoded.ok() ? h.return_view(h.response.view()) : h.return_error(encoded.error());
  });
}

// Input: an RPC or HTTP request message, then its response. Value: the HTTP status. Bytes: the
// error code, if any.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_response_outcome(Handle* handle,
                                                                  std::uint32_t message_size,
                                                                  std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    const std::string_view in = h.input_view(size);
    entitable::ResponseOutcome outcome =
        entitable::dispatch::response_outcome(in.substr(0, message_size), in.substr(message_size));
    return h.return_bytes(std::move(outcome.code), outcome.status);
  });
}

// ---- Storing ------------------------------------------------------------------------------------

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_publish(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.publish();
    return return_done(h);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_discard(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.discard();
    return return_done(h);
  });
}

// Seals the oldest unstored commits; if `next` is set, the commits after the last sealed segment
// instead. Bytes: a segment, at most `bytes_max` long unless it has only one commit. Number: its
// sequence. Nothing: all commits are sealed.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_seal(Handle* handle, std::uint32_t bytes_max,
                                                      std::uint32_t next) {
  return guarded(handle, [&](Handle& h) {
    std::optional<SealedSegment> segment =
        next != 0 ? h.store.seal_next(bytes_max) : h.store.seal(bytes_max);
    if (!segment.has_value()) return h.return_nothing();
    return h.return_bytes(std::move(segment->bytes), 0, segment->sequence);
  });
}

// Bytes: the claim segment. Number: its sequence.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_make_claim_segment(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    SealedSegment segment = h.store.make_claim_segment();
    return h.return_bytes(std::move(segment.bytes), 0, segment.sequence);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_mark_segments_stored(Handle* handle,
                                                                      double sequence) {
  return guarded(handle, [&](Handle& h) {
    h.store.mark_stored(static_cast<std::uint64_t>(sequence));
    return return_done(h);
  });
}

// ---- Checkpoint ---------------------------------------------------------------------------------

// Value: 1 if a checkpoint was begun, 0 if there is nothing to write.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_begin_checkpoint(Handle* handle) {
  return guarded(handle,
                 [](Handle& h) { return return_done(h, h.store.begin_checkpoint() ? 1 : 0); });
}

// Returns the memory of all rows, which the memory limit limits.
EMSCRIPTEN_KEEPALIVE double entitable_memory_bytes(Handle* handle) {
  return static_cast<double>(handle->store.memory_bytes());
}

// Returns the part of that memory which no unloading can free.
EMSCRIPTEN_KEEPALIVE double entitable_unsaved_memory(Handle* handle) {
  return static_cast<double>(handle->store.unsaved_memory());
}

EMSCRIPTEN_KEEPALIVE double entitable_estimate_checkpoint_bytes(Handle* handle) {
  return static_cast<double>(handle->store.estimate_checkpoint_bytes());
}

// Bytes: the next part. Number: its id. Nothing: there are no more parts. Parts needed: load them
// with entitable_load_part_for_checkpoint() before the next call.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_next_checkpoint_part(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    CheckpointStep step = h.store.next_checkpoint_part();
    if (const auto* parts = std::get_if<PartsNeeded>(&step)) {
      return h.return_parts_needed(parts->ids);
    }
    auto* part = std::get_if<CheckpointPart>(&step);
    if (part == nullptr) return h.return_nothing();
    return h.return_bytes(std::move(part->bytes), 0, part->id);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_mark_checkpoint_part_stored(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.mark_checkpoint_part_stored();
    return return_done(h);
  });
}

// Bytes: the ids of the obsolete parts as u64 each, then id and size of the extra part as u64 each
// (0: there is none), then its bytes, then the manifest. Value: the number of obsolete parts.
// Nothing: there is no interim manifest now.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_interim_checkpoint(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const auto interim = h.store.interim_checkpoint();
    if (!interim.has_value()) return h.return_nothing();
    const CheckpointPart extra = interim->extra_part.value_or(CheckpointPart{0, {}});
    std::string bytes;
    ByteWriter out(bytes);
    for (const PartId part : interim->obsolete_parts) out.u64(part);
    out.u64(extra.id);
    out.u64(extra.bytes.size());
    out.raw(extra.bytes);
    out.raw(interim->manifest);
    const auto obsolete = static_cast<std::uint32_t>(interim->obsolete_parts.size());
    return h.return_bytes(std::move(bytes), obsolete, 0);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_mark_interim_checkpoint_committed(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.mark_interim_checkpoint_committed();
    return return_done(h);
  });
}

// The history that is kept for durable readers: at most `history_bytes` of segments, and no segment
// that is older than `history_ms`. Bytes: first_kept_sequence and the ids of the obsolete parts as
// u64 each, then the manifest. Value: the number of obsolete parts. Number: first_live_sequence.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_finish_checkpoint(Handle* handle,
                                                                   double history_bytes,
                                                                   double history_ms,
                                                                   double now_ms) {
  return guarded(handle, [=](Handle& h) {
    const entitable::Ticks age =
        static_cast<entitable::Ticks>(history_ms) * entitable::ticks_per_millisecond;
    const FinishedCheckpoint end =
        h.store.finish_checkpoint({static_cast<std::uint64_t>(history_bytes), age,
                                   entitable::rpc::ticks_from_unix_ms(now_ms)});
    std::string bytes;
    ByteWriter out(bytes);
    out.u64(end.first_kept_sequence);
    for (const PartId part : end.obsolete_parts) out.u64(part);
    out.raw(end.manifest);
    return h.return_bytes(std::move(bytes), static_cast<std::uint32_t>(end.obsolete_parts.size()),
                          end.first_live_sequence);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_mark_checkpoint_committed(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.mark_checkpoint_committed();
    return return_done(h);
  });
}

// Bytes: the ids of the parts that may be deleted, as u64 each. Value: their number.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_abandon_checkpoint(Handle* handle) {
  return guarded(handle, [](Handle& h) { return return_parts(h, h.store.abandon_checkpoint()); });
}

// ---- Snapshot and restore -----------------------------------------------------------------------

// Value: the number of the snapshot. Several may be open at the same time.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_begin_snapshot(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.snapshots.try_emplace(++h.last_snapshot, h.store);
    return return_done(h, h.last_snapshot);
  });
}

// Bytes: the next chunk of the snapshot file. Nothing: the file is complete.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_next_snapshot_chunk(Handle* handle,
                                                                     std::uint32_t number) {
  return guarded(handle, [&](Handle& h) {
    auto next = open_snapshot(h, number).next_chunk();
    if (auto* chunk = std::get_if<std::string>(&next)) return h.return_bytes(std::move(*chunk));
    const auto* parts = std::get_if<PartsNeeded>(&next);
    return parts == nullptr ? h.return_nothing() : h.return_parts_needed(parts->ids);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_end_snapshot(Handle* handle,
                                                              std::uint32_t number) {
  return guarded(handle, [&](Handle& h) {
    h.snapshots.erase(number);
    h.bytes = std::string();
    return return_done(h);
  });
}

// Input: nothing, or the names of tables with a comma after each (Restore::keep_as_synced).
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_begin_restore(Handle* handle, std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    std::vector<std::string> synced;
    std::string_view names = h.input_view(size);
    for (std::size_t end = 0; !names.empty(); names.remove_prefix(end + 1)) {
      end = names.find(',');
      synced.emplace_back(names.substr(0, end));
    }
    h.restore.emplace(h.store, entitable::rest::is_stored_service_properties);
    if (!synced.empty()) h.restore->keep_as_synced(std::move(synced));
    return return_done(h);
  });
}

// Input: the next chunk of the snapshot file.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_restore_chunk(Handle* handle, std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    open_restore(h).add(h.input_view(size));
    return return_done(h);
  });
}

// Bytes: the next part, which must be stored before the next call. Number: its id. Nothing: the
// next chunk is needed.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_next_restored_part(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    auto next = open_restore(h).next_part();
    if (!next.ok()) return h.return_error(next.error());
    if (!next->has_value()) return h.return_nothing();
    return h.return_bytes(std::move((*next)->bytes), 0, (*next)->id);
  });
}

// Bytes: the number of tables and the number of entities, as u64 each.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_finish_restore_reading(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const auto report = open_restore(h).finish_reading();
    if (!report.ok()) return h.return_error(report.error());
    std::string bytes;
    ByteWriter out(bytes);
    out.u64(report->tables);
    out.u64(report->entities);
    return h.return_bytes(std::move(bytes));
  });
}

// Input: empty, or number and client id of a call, as in its header (core/dispatch/call_header.h).
// Value: 1 if the replacement was begun; the host then writes it like a checkpoint. 0: the call was
// applied before.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_begin_replace(Handle* handle, std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    std::optional<ClientCall> call;
    if (size > 0) {
      ByteReader in(h.input_view(size));
      call.emplace();
      call->number = in.u64();
      const std::string_view client = in.raw(call->client.size());
      ENTITABLE_CHECK(in.ok());
      std::memcpy(call->client.data(), client.data(), client.size());
    }
    return return_done(h, open_restore(h).begin_replace(call) ? 1 : 0);
  });
}

// Value: 1 if a candidate was staged, 0 if the whole file is merged.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_stage_merge_chunk(Handle* handle, double now_ms) {
  return guarded(handle, [&](Handle& h) {
    DiscardUnlessDone discard{h};
    const auto staged =
        open_restore(h).stage_merge_chunk(entitable::rpc::ticks_from_unix_ms(now_ms));
    if (const auto* error = std::get_if<Error>(&staged)) return h.return_error(*error);
    discard.done = true;
    if (const auto* parts = std::get_if<PartsNeeded>(&staged))
      return h.return_parts_needed(parts->ids);
    return return_done(h, std::get<Restore::Merge>(staged) == Restore::Merge::staged ? 1 : 0);
  });
}

// Bytes: the ids of the parts that may be deleted, as u64 each. Value: their number.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_end_restore(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    std::vector<PartId> unused;
    if (h.restore.has_value()) unused = h.restore->unused_parts();
    h.restore.reset();
    return return_parts(h, unused);
  });
}

// ---- Versions -----------------------------------------------------------------------------------

// Value: the address of a new handle, which the caller must close.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_fork(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    auto fork = std::make_unique<Handle>();
    fork->store = Versions(h.store).fork_store();
    fork->account = h.account;
    fork->poisoned = h.poisoned;
    return return_done(h, entitable::bindings::address_of(fork.release()));
  });
}

// Number: the number of the kept version.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_retain_version(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const std::uint64_t version = Versions(h.store).keep();
    h.result = CallResult{Status::done, 0, 0, 0, version};
    return &h.result;
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_rollback_to_version(Handle* handle,
                                                                     double version) {
  return guarded(handle, [&](Handle& h) {
    Versions(h.store).rollback(static_cast<std::uint64_t>(version));
    return return_done(h);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_release_version(Handle* handle, double version) {
  return guarded(handle, [&](Handle& h) {
    Versions(h.store).release(static_cast<std::uint64_t>(version));
    return return_done(h);
  });
}

}  // extern "C"
