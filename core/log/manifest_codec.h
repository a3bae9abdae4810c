// Encodes and decodes the manifest (FORMAT.md, "Manifest"): everything that a checkpoint stores,
// except the rows, which are in parts. A checkpoint writes the manifest last. The parts that the
// manifest lists then become valid, and the segments before first_live_sequence become obsolete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/commit.h"
#include "core/model/feed_position.h"

namespace entitable {

struct ManifestPart {
  EntityKey lower;  // the part covers keys from here to the lower bound of the next part
  PartId id = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;     // size of the packed rows in memory
  std::uint32_t checksum = 0;  // part_checksum() of the part file
  friend bool operator==(const ManifestPart&, const ManifestPart&) = default;
};

struct ManifestTable {
  TableId id = 0;
  std::string name;                 // empty for a hidden table
  std::vector<AccessPolicy> acl;    // likewise
  std::vector<ManifestPart> parts;  // in ascending order of their lower bounds
  bool synced = false;              // it may have hidden tables; false for a hidden table
  friend bool operator==(const ManifestTable&, const ManifestTable&) = default;
};

// The commits that applied the calls of each client (core/store/call_window.h).
struct CallCommits {
  std::uint64_t dropped_through = 0;  // the greatest of a client whose calls are not recorded; or 0
  // The greatest of each client, in the order in which the clients first appear among the calls.
  std::vector<std::uint64_t> newest;
  friend bool operator==(const CallCommits&, const CallCommits&) = default;
};

// A claim of the log by a new owner (core/store/claim_history.h).
struct Claim {
  std::uint64_t epoch;        // that it began
  std::uint64_t last_commit;  // of the log at that time
  friend bool operator==(const Claim&, const Claim&) = default;
};
struct ManifestClaims {
  std::uint64_t known_from = 1;  // the claims of later epochs are among `newest`, unless merged
  std::vector<Claim> newest;     // in ascending order of epochs
  friend bool operator==(const ManifestClaims&, const ManifestClaims&) = default;
};

// Consecutive segments of the log.
struct LogStretch {
  // What a segment takes in storage beside its bytes, about: it is a file or a database record.
  static constexpr std::uint64_t file_bytes = 4096;

  std::uint64_t segments = 0;
  std::uint64_t commits = 0;  // in these segments
  std::uint64_t bytes = 0;    // of these segments
  Ticks last_timestamp = 0;   // about when the last commit was made; 0: there are no commits
  std::uint64_t storage_bytes() const { return bytes + segments * file_bytes; }
  friend bool operator==(const LogStretch&, const LogStretch&) = default;
};
// Commits may refer to a table that a later commit dropped.
struct DroppedTable {
  TableId id;
  std::string name;
  std::uint64_t commit;  // that dropped it
  friend bool operator==(const DroppedTable&, const DroppedTable&) = default;
};
// The segments before first_live_sequence that are kept for readers of the change feed. If there
// are none, the segments from first_live_sequence on may nevertheless have commits that the
// manifest covers, and that refer to dropped tables.
struct ManifestHistory {
  std::uint64_t first_sequence = 1;
  std::uint64_t first_commit = 1;
  std::vector<LogStretch> stretches;  // oldest first
  std::vector<DroppedTable> dropped;  // by commits from first_commit on, in their order
  friend bool operator==(const ManifestHistory&, const ManifestHistory&) = default;
};

// A durable reader of the change feed (core/store/feed_readers.h).
struct FeedReader {
  FeedPosition acknowledged;
  Ticks acknowledged_at = 0;
  friend bool operator==(const FeedReader&, const FeedReader&) = default;
};
using FeedReadersByName = std::map<std::string, FeedReader, std::less<>>;
inline constexpr std::size_t feed_reader_name_bytes_max = 255;
// Returns whether a durable reader may have this name: text of 1 to 255 bytes.
bool is_feed_reader_name(std::string_view name);

// The default value describes a store that has never had a checkpoint.
struct Manifest {
  std::uint64_t epoch = 1;  // of the owner that wrote the manifest; every new owner adds 1
  std::uint64_t first_live_sequence = 1;  // the first segment that the checkpoint does not cover
  std::uint64_t last_commit = 0;          // the newest commit that the checkpoint covers
  Ticks last_timestamp = 0;               // the newest timestamp that the checkpoint covers
  TableId next_table = 1;
  PartId next_part = 1;
  std::string service_properties;              // opaque
  std::map<std::string, std::string> options;  // options of the store
  std::vector<ClientCall> calls;               // recently answered calls, grouped by client
  std::optional<CallCommits> call_commits;     // not in manifests of version 1.0
  std::optional<ManifestClaims> claims;        // not in manifests before version 1.2
  std::optional<ManifestHistory> history;
  FeedReadersByName readers;
  // In ascending order of ids, so hidden tables are last. Only those that have had a row are here.
  std::vector<ManifestTable> tables;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Returns the bytes of the manifest file. REQUIRES: decode_manifest() would accept it: epoch and
// first_live_sequence > 0; table ids ascend, and those of tables that are not hidden are below
// next_table; hidden tables belong to synced tables, whose ids are at most synced_table_id_max;
// table names are valid, and unique when case is ignored;
// part ids are unique, at least 1 and below next_part; lower bounds ascend and are valid keys
// (check_key); texts are WTF-8; no timestamp of a call is newer than last_timestamp; call_commits
// has one number for each client; the epochs of claims ascend, are above claims->known_from, and
// are not above `epoch`; the history ends at first_live_sequence, and takes at most counter_max
// bytes in storage; names, positions and times of readers are valid.
std::string encode_manifest(const Manifest& manifest);

// Decodes the whole file. Errors: ErrorCode::corrupted, whose message names the place and the
// reason; ErrorCode::format_too_new.
Result<Manifest> decode_manifest(std::string_view file);

}  // namespace entitable
