// The functions that are called rarely and return JavaScript objects, exported with embind.
// Creating these objects takes microseconds, so entities cross the boundary through exports.cc
// instead.

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <string>
#include <string_view>
#include <utility>

#include "bindings/handle.h"

namespace {

using emscripten::val;
using entitable::Damage;
using entitable::StoreStats;
using entitable::TableStats;
using entitable::bindings::error_from_exception;
using entitable::bindings::Handle;
using entitable::rest::Account;

Handle& handle_at(std::uint32_t address) {
  return *reinterpret_cast<Handle*>(static_cast<std::uintptr_t>(address));
}

// JavaScript gets counts as doubles, which are exact up to 2^53.
val count(std::uint64_t n) {
  return val(static_cast<double>(n));
}

// Runs `call` and returns its result. An exception becomes undefined and poisons the handle
// (error_from_exception).
template <typename Call>
val guarded_val(std::uint32_t address, Call call) {
  Handle& handle = handle_at(address);
  try {
    return call(handle);
  } catch (...) {
    try {
      error_from_exception(handle);
    } catch (...) {  // no memory for the error message
    }
    return val::undefined();
  }
}

val stats(std::uint32_t address) {
  return guarded_val(address, [](Handle& handle) {
    const StoreStats stats = handle.store.stats();
    val tables = val::array();
    for (std::size_t i = 0; i < stats.tables.size(); ++i) {
      const TableStats& info = stats.tables[i];
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
    out.set("epoch", count(stats.epoch));
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

// Returns the first violated invariant, or an empty string if all invariants hold.
val verify(std::uint32_t address) {
  return guarded_val(address, [](Handle& handle) { return val(handle.store.verify()); });
}

std::string bytes_of(const val& array) {
  const auto bytes = emscripten::convertJSArrayToNumberVector<char>(array);
  return std::string(bytes.begin(), bytes.end());
}

val view_of(std::string_view bytes) {
  return val(emscripten::typed_memory_view(bytes.size(),
                                           reinterpret_cast<const unsigned char*>(bytes.data())));
}

// Sets the account that the REST entry point serves. `hmac` computes HMAC-SHA256 of (key, message)
// as 32 bytes; its arguments are views of wasm memory, valid only during the call. `hmac` is
// undefined if requests are not authorized.
val configure(std::uint32_t address, const val& account, const val& hmac) {
  return guarded_val(address, [&](Handle& handle) {
    Account next;
    next.name = account["name"].as<std::string>();
    for (const val& key : emscripten::vecFromJSArray<val>(account["keys"])) {
      next.keys.push_back(bytes_of(key));
    }
    next.authorize = account["authorize"].as<bool>();
    next.bearer_tokens = account["bearerTokens"].as<bool>();
    next.strict_versions = account["strictVersions"].as<bool>();
    next.strict_dates = account["strictDates"].as<bool>();
    next.limit_comparisons = account["limitComparisons"].as<bool>();
    next.permissive_cors = account["permissiveCors"].as<bool>();
    if (!hmac.isUndefined()) {
      next.hmac = [hmac](std::string_view key, std::string_view message) {
        return bytes_of(hmac(view_of(key), view_of(message)));
      };
    }
    handle.account = std::move(next);
    return val(true);
  });
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
  emscripten::function("configure", &configure);
}
