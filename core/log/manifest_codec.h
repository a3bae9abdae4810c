// The manifest: what a checkpoint leaves besides parts (FORMAT.md, "Manifest"). Committed last, it
// makes the parts it lists count and the segments below its first live sequence obsolete.
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
  EntityKey lower;  // the part holds the keys from here to the next part's lower bound
  PartId id = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;     // packed bytes of rows
  std::uint32_t checksum = 0;  // part_checksum() of the file
  friend bool operator==(const ManifestPart&, const ManifestPart&) = default;
};

struct ManifestTable {
  TableId id = 0;
  std::string name;
  std::vector<AccessPolicy> acl;
  std::vector<ManifestPart> parts;  // ascending lower bounds
  friend bool operator==(const ManifestTable&, const ManifestTable&) = default;
};

// A default one is that of a store that has never had a checkpoint.
struct Manifest {
  std::uint64_t epoch = 1;
  std::uint64_t first_live_sequence = 1;  // the first segment that is not covered
  std::uint64_t last_commit = 0;          // the newest commit covered
  Ticks last_timestamp = 0;               // the newest issued, in what is covered
  TableId next_table = 1;
  PartId next_part = 1;
  std::string service_properties;              // opaque
  std::map<std::string, std::string> options;  // of the store
  std::vector<ClientCall> calls;               // answered lately, oldest first
  std::vector<ManifestTable> tables;           // ascending ids
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// REQUIRES: what decode_manifest checks: epoch and first_live_sequence > 0; table ids ascending,
// below next_table; valid names, unique in any case; part ids unique, from 1, below next_part;
// lower bounds that ascend and could be stored as keys; texts that are WTF-8; no answer newer than
// last_timestamp.
std::string encode_manifest(const Manifest& manifest);

// Everything in the file, or nothing of it: Code::corrupted with what and where, or
// Code::format_too_new.
Result<Manifest> decode_manifest(std::string_view file);

}  // namespace entitable
