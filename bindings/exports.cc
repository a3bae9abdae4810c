// The module's raw exports: plain C functions over memory, the only way in which entities cross.
//
// Bytes go in through the handle's input buffer (entitable_input gives its address, the call its
// length) and come out as a CallResult (handle.h). Sequences, part ids and times are doubles, exact
// up to 2^53, since 64-bit integers would be BigInts on the other side. Who owns what is in
// README.md.

#include <emscripten/emscripten.h>

#include <cstring>
#include <optional>

#include "bindings/handle.h"
#include "core/base/bytes.h"

using entitable::ByteWriter;
using entitable::CheckpointEnd;
using entitable::CheckpointPart;
using entitable::Damage;
using entitable::Error;
using entitable::PartId;
using entitable::PartInfo;
using entitable::Result;
using entitable::SealedSegment;
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

void put_count(ByteWriter& out, std::uint64_t count) {
  out.u64(count);
}

}  // namespace

extern "C" {

// ---- Handles and memory
// ------------------------------------------------------------------------------------------

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
  constexpr std::size_t least_bytes = 4096;
  constexpr std::size_t kept_bytes =
      1 << 20;  // a bigger buffer is given back when a small one does again
  std::vector<char>& input = handle->input;
  const std::size_t wanted = size < least_bytes ? least_bytes : size;
  try {
    if (input.size() < wanted || (input.size() > kept_bytes && wanted <= kept_bytes)) {
      input = std::vector<char>();
      input.resize(wanted);
    }
    return input.data();
  } catch (...) {
    return nullptr;
  }
}

// ---- Opening
// -------------------------------------------------------------------------------------------------------

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
      put_count(out, part.id);
      put_count(out, part.bytes);
    }
    return h.give_bytes(std::move(bytes));
  });
}

// Input: the part's bytes.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_load_part(Handle* handle, double id,
                                                           std::uint32_t size) {
  return guarded(handle, [&](Handle& h) {
    const Result<void> loaded = h.store.load_part(static_cast<PartId>(id), h.in(size));
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

// ---- Reading and writing
// -------------------------------------------------------------------------------------------

// Input: a read block. Bytes: its reply block.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_read(Handle* handle, std::uint32_t size) {
  return guarded_reply(handle, [&](Handle& h) {
    entitable::direct::read(h.store, h.in(size), h.pages, h.reply);
    return h.give(h.reply.view());
  });
}

// Input: `count` lengths of one word each, then that many write blocks. Bytes: per block three
// words (offset and size of its reply within the bytes, 1 if it failed), then the replies, each at
// a multiple of 8. Value: 1 if there are changes.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_stage(Handle* handle, std::uint32_t count,
                                                       std::uint32_t size, double now_ms) {
  return guarded(handle, [&](Handle& h) {
    if (h.poisoned) {
      return h.fail(Error(entitable::Code::internal_error,
                          "The store failed before and accepts no more writes. Open it again."));
    }
    const std::string_view input = h.in(size);
    std::vector<std::string_view> blocks;
    std::size_t at = std::size_t{count} * 4;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t length;
      std::memcpy(&length, input.data() + std::size_t{i} * 4, 4);
      blocks.push_back(input.substr(at, length));
      at += length;
    }
    bool staged_whole = false;
    struct DiscardUnlessWhole {  // memory ran out half-way: as if nothing had been staged
      Handle& handle;
      const bool& whole;
      ~DiscardUnlessWhole() {
        if (!whole) handle.store.discard();
      }
    } discard_unless_whole{h, staged_whole};
    const entitable::direct::StagedReplies staged =
        entitable::direct::stage(h.store, blocks, entitable::direct::ticks_from_unix_ms(now_ms));
    std::size_t total = std::size_t{count} * 12;
    for (const auto& reply : staged.replies) total = (total + 7) / 8 * 8 + reply.size();
    std::string bytes;
    bytes.reserve(total);
    ByteWriter out(bytes);
    std::size_t offset = std::size_t{count} * 12;
    for (std::uint32_t i = 0; i < count; ++i) {
      offset = (offset + 7) / 8 * 8;
      out.u32(static_cast<std::uint32_t>(offset));
      out.u32(static_cast<std::uint32_t>(staged.replies[i].size()));
      out.u32(staged.failed[i] ? 1 : 0);
      offset += staged.replies[i].size();
    }
    for (const auto& reply : staged.replies) {
      bytes.resize((bytes.size() + 7) / 8 * 8);
      bytes.append(reply.view());
    }
    staged_whole = true;
    return h.give_bytes(std::move(bytes), staged.changes ? 1 : 0);
  });
}

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

// Bytes: u64 sequence, then the segment. Nothing: nothing is pending.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_seal(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    std::optional<SealedSegment> segment = h.store.seal();
    if (!segment.has_value()) return h.nothing();
    std::string bytes;
    bytes.reserve(segment->bytes.size() + 8);
    ByteWriter out(bytes);
    put_count(out, segment->sequence);
    out.raw(segment->bytes);
    return h.give_bytes(std::move(bytes));
  });
}

EMSCRIPTEN_KEEPALIVE const CallResult* entitable_stored(Handle* handle, double sequence) {
  return guarded(handle, [&](Handle& h) {
    h.store.stored(static_cast<std::uint64_t>(sequence));
    return done(h);
  });
}

// ---- Checkpoint
// ----------------------------------------------------------------------------------------------------

// Value: 1 if there is something to do.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_begin_checkpoint(Handle* handle) {
  return guarded(handle, [](Handle& h) { return done(h, h.store.begin_checkpoint() ? 1 : 0); });
}

// Bytes: u64 id, then the part. Nothing: no more parts.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_next_checkpoint_part(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    std::optional<CheckpointPart> part = h.store.next_checkpoint_part();
    if (!part.has_value()) return h.nothing();
    std::string bytes;
    bytes.reserve(part->bytes.size() + 8);
    ByteWriter out(bytes);
    put_count(out, part->id);
    out.raw(part->bytes);
    return h.give_bytes(std::move(bytes));
  });
}

// Bytes: u64 segments_below, the obsolete parts as u64 each, then the manifest. Value: how many
// obsolete parts.
EMSCRIPTEN_KEEPALIVE const CallResult* entitable_finish_checkpoint(Handle* handle) {
  return guarded(handle, [](Handle& h) {
    const CheckpointEnd end = h.store.finish_checkpoint();
    std::string bytes;
    ByteWriter out(bytes);
    put_count(out, end.segments_below);
    for (const PartId part : end.obsolete_parts) put_count(out, part);
    out.raw(end.manifest);
    return h.give_bytes(std::move(bytes), static_cast<std::uint32_t>(end.obsolete_parts.size()));
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

}  // extern "C"
