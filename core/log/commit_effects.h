// What the log records of a commit in addition to the commit itself, for readers of the change
// feed: where its write came from, and for each put whether it inserted a row or replaced one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/bytes.h"
#include "core/log/pending_records.h"
#include "core/model/commit.h"
#include "core/model/hidden_table.h"

namespace entitable {

// Returns the effects of a commit. `codes`: receives the codes to which the result refers, if any.
CommitEffects effects_of_group(const Commit& commit, std::string& codes);
inline CommitEffects effects_of(const Commit& commit, std::string& codes) {
  if (commit.mutations.size() != 1) return effects_of_group(commit, codes);
  const auto* const put = std::get_if<PutRow>(&commit.mutations.front());
  const PutEffect effect = put == nullptr ? PutEffect::insert : put->effect;
  return {commit.origin,
          static_cast<PutEffects>(effect),
          {},
          uses_hidden_tables(commit.mutations.front())};
}
// Returns an upper bound of the bytes of the codes.
inline std::size_t effect_codes_bytes_max(const Commit& commit) {
  return (commit.mutations.size() + 3) / 4;
}

// Sets Commit::origin and PutRow::effect. Returns whether the codes are valid. REQUIRES: there is
// one code for each put, if the effects have codes.
bool apply_effects(const CommitEffects& effects, Commit& commit);

// The payload of a record of effects (FORMAT.md, "Segment"): runs of commits with equal effects.
class EffectsWriter {
 public:
  // Appends the effects of the next commit.
  void add(const CommitEffects& effects) {
    if (effects.puts == run_.puts && effects.origin == run_.origin) {
      ++commits_;
    } else {
      begin_run(effects);
    }
  }
  // Returns an upper bound of the payload's size if `effects` were added as the last ones.
  std::size_t size_with(const CommitEffects& effects) const;
  // Returns whether there is anything to record: effects other than the default.
  bool has_effects() const { return has_effects_; }
  void append_payload(std::string& out) const;

 private:
  void begin_run(const CommitEffects& effects);

  std::string runs_;           // complete
  CommitEffects run_;          // of the run that is not complete; the puts never differ
  std::uint64_t commits_ = 0;  // in that run
  bool has_effects_ = false;
};

// Sets Commit::origin and PutRow::effect of all commits of a segment. Returns null, or why the
// payload is bad.
const char* read_effects(ByteReader& reader, std::vector<Commit>& commits);
// Does the same for a segment without a record of effects.
void set_default_effects(std::vector<Commit>& commits);

}  // namespace entitable
