// The module's raw exports: plain C functions over memory, the only way in which entities cross.
//
// Bytes go in through the handle's input buffer (entitable_input gives its address, the call its
// length) and come out as a CallResult (handle.h). Sequences, part ids and times are doubles, exact
// up to 2^53, since 64-bit integers would be BigInts on the other side. Who owns what is in
// README.md.

#include <emscripten/emscripten.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <variant>

#include "bindings/handle.h"
#include "core/base/bytes.h"
#include "core/base/check.h"

using entitable::ByteReader;
using entitable::ByteWriter;
using entitable::CheckpointEnd;
using entitable::CheckpointPart;
using entitable::ClientCall;
using entitable::Damage;
using entitable::Error;
using entitable::NeedParts;
using entitable::PartId;
using entitable::PartInfo;
using entitable::Result;
using entitable::SealedSegment;
using entitable::Store;
using entitable::bindings::CallResult;
using entitable::bindings::guarded;
using entitable::bindings::guarded_reply;
using entitable::bindings::Handle;
using entitable::bindings::Status;

namespace {

const CallResult* done(Handle& h, std::uint32_t value = 0) {
  h.result = CallResult{Status::done, 0, 0, value};
  return &h.result;
}

// `count` lengths of one word each, then that many blocks.
void find_blocks(const Handle& h, std::uint32_t count, std::uint32_t size,
                 std::vector<std::string_view>& blocks) {
  blocks.clear();
  blocks.reserve(count);
  std::size_t at = std::size_t{count} * 4;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t length;
    std::memcpy(&length, h.input.data() + std::size_t{i} * 4, 4);
    blocks.push_back(h.in(size).substr(at, length));
    at += length;
  }
}

// Memory ran out half-way: as if nothing had been staged.
struct DiscardUnlessDone {
  Handle& handle;
  bool done = false;
  ~DiscardUnlessDone() {
    if (!done) handle.store.discard();
  }
};

// What entitable_stage and entitable_write have in common.
template <typename Take>
const CallResult* take(Handle& h, Take through_doors, std::uint32_t count, std::uint32_t size,
                       double now_ms) {
  if (h.poisoned) {
    return h.fail(Error(entitable::Code::internal_error,
                        "The store failed before and accepts no more writes. Open it again."));
  }
  h.words.clear();
  h.words.reserve(std::size_t{count} * 3);  // now: behind the write nothing may fail
  DiscardUnlessDone discard{h};
  find_blocks(h, count, size, h.blocks);
  through_doors(h.account, h.store, h.blocks, entitable::direct::ticks_from_unix_ms(now_ms),
                h.staged);
  if (!h.staged.need_parts.empty()) return h.need(h.staged.need_parts);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& reply = h.staged.replies[i];
    h.words.push_back(entitable::bindings::address_of(reply.data()));
    h.words.push_back(static_cast<std::uint32_t>(reply.size()));
    h.words.push_back(h.staged.failed[i] ? 1 : 0);
  }
  discard.done = true;
  return h.give({reinterpret_cast<const char*>(h.words.data()), h.words.size() * 4},
                h.staged.changes ? 1 : 0);
}

}  // namespace

extern "C" {

// ---- Handles and memory -------------------------------------------------------------------------

// 0: out of memory.
EMSCRIPTEN_KEEPALIVE Handle* entitable_open() {
  try {
    entitable::bindings::catch_failed_checks();
    return new Handle();
  } catch (...) {
    return nullptr;
  }
}

EMSCRIPTEN_KEEPALIVE void entitable_close(Handle* handle) {
  try {
    delete handle;
  } catch (
      ...) {  // a failed check while taking memory apart: what is left of it is lost, nothing else
  }
}

// Room for `size` bytes of input, valid until the next entitable_input on the handle; 0: out of
// memory.
EMSCRIPTEN_KEEPALIVE char* entitable_input(Handle* handle, std::uint32_t size) {
  constexpr std::size_t least_bytes = 512;  // there may be a thousand handles
  constexpr std::size_t kept_bytes =
      1 << 20;  // a bigger buffer is given back when a small one does again
  std::vector<char>& input = handle->input;
  handle->let_go();
  try {
    if (input.size() < size || input.empty() || (input.size() > kept_bytes && size <= kept_bytes)) {
      const std::size_t doubled = std::min(2 * input.size(), kept_bytes);
      input = std::vector<char>();
      input.resize(std::max({std::size_t{size}, doubled, least_bytes}));
    }
    return input.data();
  } catch (...) {
    return nullptr;
  }
}

// ---- Opening ------------------------------------------------------------------------------------

// Input: the manifest, if has_manifest. Bytes: per part u64 id, u64 bytes.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_recover(Handle* handle, std::uint32_t size,
                                                         std::uint32_t has_manifest) {
  return guarded(handle, [&](Handle& h) {
    std::optional<std::string_view> manifest;
    if (has_manifest != 0) manifest = h.in(size);
    const Result<std::vector<PartInfo>> parts = h.store.recover(manifest);
    if (!parts.ok()) return h.fail(parts.error());
    std::string bytes;
    ByteWriter out(bytes);
    for (const PartInfo& part : *parts) {
      out.u64(part.id);
      out.u64(part.bytes);
    }
    return h.give_bytes(std::move(bytes));
  });
}

// Input: the part's bytes, if the file is there.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_load_part(Handle* handle, double id,
                                                           std::uint32_t size,
                                                           std::uint32_t is_there) {
  return guarded(handle, [&](Handle& h) {
    std::optional<std::string_view> file;
    if (is_there != 0) file = h.in(size);
    const Result<void> loaded = h.store.load_part(static_cast<PartId>(id), file);
    return loaded.ok() ? done(h) : h.fail(loaded.error());
  });
}

// Input: the segment's bytes.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_replay(Handle* handle, double sequence,
                                                        std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    const Result<void> applied = h.store.replay(static_cast<std::uint64_t>(sequence), h.in(size));
    return applied.ok() ? done(h) : h.fail(applied.error());
  });
}

// Needs the parts without which rows can't be counted exactly.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_count(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const std::vector<PartId> parts = h.store.uncounted_parts();
    return parts.empty() ? done(h) : h.need(parts);
  });
}

// Bytes of memory; 0: as many as there are.
EMSCRIPTEN_KEEPALIVE void entitable_limit_memory(Handle* handle, double bytes) {
  handle->store.limit_memory(static_cast<std::uint64_t>(bytes));
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_trim(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.trim();
    return done(h);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_recovered(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.recovered();
    return done(h);
  });
}

EMSCRIPTEN_KEEPALIVE double entitable_first_live_sequence(Handle* handle) {
  return static_cast<double>(handle->store.first_live_sequence());
}

EMSCRIPTEN_KEEPALIVE std::uint32_t entitable_read_only(Handle* handle) {
  return handle->store.read_only() || handle->poisoned ? 1 : 0;
}

// Input: the file's name, then the message.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_report_damage(Handle* handle,
                                                               std::uint32_t file_size,
                                                               std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    const std::string_view text = h.in(size);
    h.store.report_damage(
        Damage{std::string(text.substr(0, file_size)), std::string(text.substr(file_size))});
    return done(h);
  });
}

// ---- Reading and writing ------------------------------------------------------------------------

// Store::cut_pages: of all reads to come.
EMSCRIPTEN_KEEPALIVE void entitable_cut_pages(Handle* handle, double share) {
  handle->store.cut_pages(share);
}

// Store::read_as_service: likewise.
EMSCRIPTEN_KEEPALIVE void entitable_read_as_service(Handle* handle, std::uint32_t on) {
  handle->store.read_as_service(on != 0);
}

// Input: a read block. Bytes: its reply block.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_read(Handle* handle, std::uint32_t size) {
  return guarded_reply(handle, [&](Handle& h) {
    const std::vector<PartId> parts =
        entitable::direct::read(h.store, h.in(size), h.pages, h.reply, &h.rows);
    return parts.empty() ? h.give(h.reply.view()) : h.need(parts);
  });
}

// Input: an HTTP request block (core/protocol/http_codec.h) that reads. Bytes: its response block,
// or an error block of the direct door.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_handle(Handle* handle, std::uint32_t size,
                                                        double now_ms) {
  return guarded_reply(handle, [&](Handle& h) {
    const std::vector<PartId> parts =
        entitable::doors::handle(h.account, h.store, h.in(size),
                                 entitable::direct::ticks_from_unix_ms(now_ms), h.reply, &h.rows);
    return parts.empty() ? h.give(h.reply.view()) : h.need(parts);
  });
}

// Input: `count` lengths of one word each, then that many blocks, each a write of the direct door
// or an HTTP request. Bytes: per block three words (address and size of its reply, 1 if it changes
// nothing). Value: 1 if there are changes.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_stage(Handle* handle, std::uint32_t count,
                                                       std::uint32_t size, double now_ms) {
  return guarded(handle,
                 [&](Handle& h) { return take(h, entitable::doors::stage, count, size, now_ms); });
}

// As entitable_stage, and published if there are changes.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_write(Handle* handle, std::uint32_t count,
                                                       std::uint32_t size, double now_ms) {
  return guarded(handle,
                 [&](Handle& h) { return take(h, entitable::doors::write, count, size, now_ms); });
}

// ---- Watching -----------------------------------------------------------------------------------

// Rows that the last entitable_read or entitable_handle looked at, and that it gave.
EMSCRIPTEN_KEEPALIVE double entitable_rows_read(Handle* handle) {
  return static_cast<double>(handle->rows.read);
}
EMSCRIPTEN_KEEPALIVE double entitable_rows_returned(Handle* handle) {
  return static_cast<double>(handle->rows.returned);
}

// The partition that they are of (core/query/query.h). Value: 1 if it is known.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_read_partition(Handle* handle) {
  return guarded(handle, [&](Handle& h) {
    return h.give_bytes(h.rows.partition.value_or(""), h.rows.partition.has_value() ? 1 : 0);
  });
}

// Input: a block of either door. Bytes: what it asks for, as JSON (core/doors/watch.h).
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_describe(Handle* handle, std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    return h.give_bytes(
        entitable::doors::description_json(entitable::doors::describe(h.account, h.in(size))));
  });
}

// Input: a block of either door, then a refusal as JSON (core/doors/watch.h). Bytes: the reply.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_refuse(Handle* handle, std::uint32_t block_size,
                                                        std::uint32_t size, double now_ms) {
  return guarded(handle, [&](Handle& h) {
    const std::string_view in = h.in(size);
    const Result<void> refused = entitable::doors::refuse(
        h.account, h.store, in.substr(0, block_size), in.substr(block_size),
        entitable::direct::ticks_from_unix_ms(now_ms), h.reply);
    return refused.ok() ? h.give(h.reply.view()) : h.fail(refused.error());
  });
}

// Input: a block of either door, then its reply. Value: the status. Bytes: the error code, if any.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_outcome(Handle* handle, std::uint32_t block_size,
                                                         std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    const std::string_view in = h.in(size);
    entitable::Outcome outcome =
        entitable::doors::outcome_of(in.substr(0, block_size), in.substr(block_size));
    return h.give_bytes(std::move(outcome.code), outcome.status);
  });
}

// ---- Storing ------------------------------------------------------------------------------------

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_publish(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.publish();
    return done(h);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_discard(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.discard();
    return done(h);
  });
}

// Bytes: a segment, of `bytes_max` if it has more than one commit. Number: its sequence. Nothing:
// all is sealed. `next`: of what the call before did not seal.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_seal(Handle* handle, std::uint32_t bytes_max,
                                                      std::uint32_t next) {
  return guarded(handle, [&](Handle& h) {
    std::optional<SealedSegment> segment =
        next != 0 ? h.store.seal_next(bytes_max) : h.store.seal(bytes_max);
    if (!segment.has_value()) return h.nothing();
    return h.give_bytes(std::move(segment->bytes), 0, segment->sequence);
  });
}

// As entitable_seal; there always is one.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_claim(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    SealedSegment segment = h.store.claim();
    return h.give_bytes(std::move(segment.bytes), 0, segment.sequence);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_stored(Handle* handle, double sequence) {
  return guarded(handle, [&](Handle& h) {
    h.store.stored(static_cast<std::uint64_t>(sequence));
    return done(h);
  });
}

// ---- Checkpoint ---------------------------------------------------------------------------------

// Value: 1 if there is something to do.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_begin_checkpoint(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const std::variant<bool, NeedParts> begun = h.store.begin_checkpoint();
    if (const auto* parts = std::get_if<NeedParts>(&begun)) return h.need(parts->ids);
    return done(h, std::get<bool>(begun) ? 1 : 0);
  });
}

EMSCRIPTEN_KEEPALIVE double entitable_checkpoint_bytes(Handle* handle) {
  return static_cast<double>(handle->store.checkpoint_bytes());
}

// Bytes: the part. Number: its id. Nothing: no more parts.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_next_checkpoint_part(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    std::optional<CheckpointPart> part = h.store.next_checkpoint_part();
    if (!part.has_value()) return h.nothing();
    return h.give_bytes(std::move(part->bytes), 0, part->id);
  });
}

// Bytes: the obsolete parts as u64 each, then the manifest. Value: how many obsolete parts. Number:
// segments_below.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_finish_checkpoint(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const CheckpointEnd end = h.store.finish_checkpoint();
    std::string bytes;
    ByteWriter out(bytes);
    for (const PartId part : end.obsolete_parts) out.u64(part);
    out.raw(end.manifest);
    return h.give_bytes(std::move(bytes), static_cast<std::uint32_t>(end.obsolete_parts.size()),
                        end.segments_below);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_checkpoint_committed(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.checkpoint_committed();
    return done(h);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_abandon_checkpoint(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.abandon_checkpoint();
    return done(h);
  });
}

// ---- Snapshot and restore -----------------------------------------------------------------------

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_begin_snapshot(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.begin_snapshot();
    return done(h);
  });
}

// Bytes: the next of the file. Nothing: no more.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_next_snapshot_piece(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    auto next = h.store.next_snapshot_piece();
    if (auto* piece = std::get_if<std::string>(&next)) return h.give_bytes(std::move(*piece));
    const auto* parts = std::get_if<NeedParts>(&next);
    return parts == nullptr ? h.nothing() : h.need(parts->ids);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_end_snapshot(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.end_snapshot();
    h.bytes = std::string();
    return done(h);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_begin_restore(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.begin_restore();
    return done(h);
  });
}

// Input: the next bytes of the file.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_restore(Handle* handle, std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    const Result<void> read = h.store.restore(h.in(size));
    return read.ok() ? done(h) : h.fail(read.error());
  });
}

// Bytes: u64 tables, u64 entities.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_restored(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const auto report = h.store.restored();
    if (!report.ok()) return h.fail(report.error());
    std::string bytes;
    ByteWriter out(bytes);
    out.u64(report->tables);
    out.u64(report->entities);
    return h.give_bytes(std::move(bytes));
  });
}

// Input: nothing, or the number and the client of a call, as in core/doors/group.h. Value: 1 if
// there is something to do; then on as with a checkpoint.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_begin_replace(Handle* handle, std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    std::optional<ClientCall> call;
    if (size > 0) {
      ByteReader in(h.in(size));
      call.emplace();
      call->number = in.u64();
      const std::string_view client = in.raw(call->client.size());
      ENTITABLE_CHECK(in.ok());
      std::memcpy(call->client.data(), client.data(), client.size());
    }
    return done(h, h.store.begin_replace(call) ? 1 : 0);
  });
}

// Value: 1 if a candidate was staged; 0: all is merged.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_stage_merge(Handle* handle, double now_ms) {
  return guarded(handle, [&](Handle& h) {
    DiscardUnlessDone discard{h};
    const auto staged = h.store.stage_merge(entitable::direct::ticks_from_unix_ms(now_ms));
    if (const auto* error = std::get_if<Error>(&staged)) return h.fail(*error);
    discard.done = true;
    if (const auto* parts = std::get_if<NeedParts>(&staged)) return h.need(parts->ids);
    return done(h, std::get<Store::Merge>(staged) == Store::Merge::staged ? 1 : 0);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_end_restore(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    h.store.end_restore();
    return done(h);
  });
}

// ---- Versions -----------------------------------------------------------------------------------

// Value: the address of another handle, which is to be closed like this one.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_fork(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    auto fork = std::make_unique<Handle>();
    fork->store = h.store.fork();
    fork->account = h.account;
    fork->poisoned = h.poisoned;
    return done(h, entitable::bindings::address_of(fork.release()));
  });
}

// Number: that of the version.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_keep(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const std::uint64_t version = h.store.keep();
    h.result = CallResult{Status::done, 0, 0, 0, version};
    return &h.result;
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_rollback(Handle* handle, double version) {
  return guarded(handle, [&](Handle& h) {
    h.store.rollback(static_cast<std::uint64_t>(version));
    return done(h);
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_forget(Handle* handle, double version) {
  return guarded(handle, [&](Handle& h) {
    h.store.forget(static_cast<std::uint64_t>(version));
    return done(h);
  });
}

}  // extern "C"
