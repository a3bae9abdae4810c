// The cold control surface, through embind: what is asked for seldom and by name. Never per entity
// (a call that makes JavaScript objects here costs microseconds); entities cross in exports.cc.

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <string>

#include "bindings/handle.h"

namespace {

using emscripten::val;
using entitable::Damage;
using entitable::StoreStats;
using entitable::TableInfo;
using entitable::bindings::caught;
using entitable::bindings::Handle;

Handle& handle_at(std::uint32_t address) {
  return *reinterpret_cast<Handle*>(static_cast<std::uintptr_t>(address));
}

// Counts are doubles on the other side: exact up to 2^53.
val count(std::uint64_t n) {
  return val(static_cast<double>(n));
}

// An exception becomes undefined; it poisons the handle as everywhere (handle.h).
template <typename Call>
val guarded_val(std::uint32_t address, Call call) {
  Handle& handle = handle_at(address);
  try {
    return call(handle);
  } catch (...) {
    try {
      caught(handle);
    } catch (...) {  // no memory for the error's text
    }
    return val::undefined();
  }
}

val stats(std::uint32_t address) {
  return guarded_val(address, [](Handle& handle) {
    const StoreStats stats = handle.store.stats();
    val tables = val::array();
    for (std::size_t i = 0; i < stats.tables.size(); ++i) {
      const TableInfo& info = stats.tables[i];
      val table = val::object();
      table.set("name", info.name);
      table.set("rows", count(info.rows));
      table.set("bytes", count(info.bytes));
      tables.set(i, table);
    }
    val out = val::object();
    out.set("tables", tables);
    out.set("rows", count(stats.rows));
    out.set("bytes", count(stats.bytes));
    out.set("memoryBytes", count(stats.memory_bytes));
    out.set("lastCommit", count(stats.last_commit));
    out.set("pendingCommits", count(stats.pending_commits));
    out.set("pendingBytes", count(stats.pending_bytes));
    out.set("nextSequence", count(stats.next_sequence));
    out.set("segmentsSinceCheckpoint", count(stats.segments_since_checkpoint));
    out.set("segmentBytesSinceCheckpoint", count(stats.segment_bytes_since_checkpoint));
    return out;
  });
}

val damage(std::uint32_t address) {
  return guarded_val(address, [](Handle& handle) {
    val out = val::array();
    std::size_t i = 0;
    for (const Damage& damage : handle.store.damage()) {
      val entry = val::object();
      entry.set("file", damage.file);
      entry.set("message", damage.message);
      out.set(i++, entry);
    }
    return out;
  });
}

// Empty: every invariant holds.
val verify(std::uint32_t address) {
  return guarded_val(address, [](Handle& handle) { return val(handle.store.verify()); });
}

std::string version() {
  return ENTITABLE_VERSION;
}

}  // namespace

EMSCRIPTEN_BINDINGS(entitable) {
  emscripten::function("version", &version);
  emscripten::function("stats", &stats);
  emscripten::function("damage", &damage);
  emscripten::function("verify", &verify);
}
