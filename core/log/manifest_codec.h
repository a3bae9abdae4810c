// Encodes and decodes the manifest (FORMAT.md, "Manifest"): the state of the store that a
// checkpoint has stored, apart from the rows in parts. A checkpoint writes the manifest last. From
// then on the parts that the manifest lists are valid, and the segments below its first live
// sequence are obsolete.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/commit.h"

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
  std::string name;
  std::vector<AccessPolicy> acl;
  std::vector<ManifestPart> parts;  // in ascending order of their lower bounds
  friend bool operator==(const ManifestTable&, const ManifestTable&) = default;
};

// A default Manifest is that of a store that has never had a checkpoint.
struct Manifest {
  std::uint64_t epoch = 1;
  std::uint64_t first_live_sequence = 1;  // the first segment that the checkpoint does not cover
  std::uint64_t last_commit = 0;          // the newest commit that the checkpoint covers
  Ticks last_timestamp = 0;  // the newest timestamp issued in what the checkpoint covers
  TableId next_table = 1;
  PartId next_part = 1;
  std::string service_properties;              // opaque
  std::map<std::string, std::string> options;  // options of the store
  std::vector<ClientCall> calls;               // recently answered calls, oldest first
  std::vector<ManifestTable> tables;           // in ascending order of ids
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Returns the bytes of the manifest file. REQUIRES: what decode_manifest() checks: epoch and
// first_live_sequence > 0; table ids ascend and are below next_table; table names are valid and
// unique without regard to case; part ids are unique, at least 1 and below next_part; lower bounds
// ascend and could be stored as keys; texts are WTF-8; no result of a call is newer than
// last_timestamp.
std::string encode_manifest(const Manifest& manifest);

// Decodes the whole file. Returns ErrorCode::corrupted with the place and the reason if anything in
// it is bad, or ErrorCode::format_too_new.
Result<Manifest> decode_manifest(std::string_view file);

}  // namespace entitable
