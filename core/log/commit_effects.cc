#include "core/log/commit_effects.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/log/field_codec.h"

namespace entitable {
namespace {

// A run is a count and a byte: the origin, and PutEffects in the upper four bits. Codes follow if
// the puts of the run's commit differ, 2 bits for each put, the first in the lowest bits.
constexpr unsigned puts_shift = 4;
constexpr unsigned code_bits = 2;
constexpr std::size_t codes_per_byte = 4;

PutEffects all_with(PutEffect effect) {
  return static_cast<PutEffects>(effect);
}

void append_run(std::uint64_t commits, const CommitEffects& effects, std::string& out) {
  ByteWriter writer(out);
  writer.varint(commits);
  writer.u8(static_cast<std::uint8_t>(static_cast<unsigned>(effects.origin) |
                                      static_cast<unsigned>(effects.puts) << puts_shift));
  writer.raw(effects.codes);
}

std::string codes_of(const Commit& commit) {
  std::string codes;
  std::size_t puts = 0;
  for (const Mutation& mutation : commit.mutations) {
    const auto* const put = std::get_if<PutRow>(&mutation);
    if (put == nullptr) continue;
    if (puts % codes_per_byte == 0) codes.push_back(0);
    const unsigned code = static_cast<unsigned>(put->effect)
                          << code_bits * (puts++ % codes_per_byte);
    codes.back() = static_cast<char>(static_cast<std::uint8_t>(codes.back()) | code);
  }
  return codes;
}

std::size_t count_puts(const Commit& commit) {
  return static_cast<std::size_t>(std::count_if(
      commit.mutations.begin(), commit.mutations.end(),
      [](const Mutation& mutation) { return std::holds_alternative<PutRow>(mutation); }));
}

// Returns whether the codes are valid.
bool apply_codes(std::string_view codes, Commit& commit) {
  unsigned byte = 0;
  std::size_t puts = 0;
  for (Mutation& mutation : commit.mutations) {
    auto* const put = std::get_if<PutRow>(&mutation);
    if (put == nullptr) continue;
    if (puts % codes_per_byte == 0) byte = static_cast<std::uint8_t>(codes[puts / codes_per_byte]);
    const unsigned code = byte & ((1U << code_bits) - 1);
    if (code > static_cast<unsigned>(PutEffect::update)) return false;
    put->effect = static_cast<PutEffect>(code);
    byte >>= code_bits;
    ++puts;
  }
  return byte == 0;
}

}  // namespace

CommitEffects effects_of_group(const Commit& commit, std::string& codes) {
  CommitEffects effects{commit.origin, PutEffects::insert, {}, uses_hidden_tables(commit)};
  bool has_put = false;
  for (const Mutation& mutation : commit.mutations) {
    const auto* const put = std::get_if<PutRow>(&mutation);
    if (put == nullptr) continue;
    if (has_put && effects.puts != all_with(put->effect)) {
      codes = codes_of(commit);
      return {commit.origin, PutEffects::different, codes, effects.uses_hidden_tables};
    }
    effects.puts = all_with(put->effect);
    has_put = true;
  }
  return effects;
}

void EffectsWriter::begin_run(const CommitEffects& effects) {
  has_effects_ = true;
  if (commits_ > 0) append_run(std::exchange(commits_, 0), run_, runs_);
  if (effects.puts == PutEffects::different) return append_run(1, effects, runs_);
  run_ = {effects.origin, effects.puts, {}};
  commits_ = 1;
}

std::size_t EffectsWriter::size_with(const CommitEffects& effects) const {
  return runs_.size() + 2 * (varint_bytes_max + 1) + effects.codes.size();
}

void EffectsWriter::append_payload(std::string& out) const {
  out.append(runs_);
  if (commits_ > 0) append_run(commits_, run_, out);
}

bool apply_effects(const CommitEffects& effects, Commit& commit) {
  commit.origin = effects.origin;
  if (effects.puts == PutEffects::different) return apply_codes(effects.codes, commit);
  for (Mutation& mutation : commit.mutations) {
    if (auto* const put = std::get_if<PutRow>(&mutation))
      put->effect = static_cast<PutEffect>(effects.puts);
  }
  return true;
}

void set_default_effects(std::vector<Commit>& commits) {
  for (Commit& commit : commits) apply_effects(CommitEffects{}, commit);
}

const char* read_effects(ByteReader& reader, std::vector<Commit>& commits) {
  for (auto next = commits.begin(); next != commits.end();) {
    const std::uint64_t count = reader.varint();
    const std::uint8_t byte = reader.u8();
    if (!reader.ok()) return field_truncated;
    if (count == 0 || count > static_cast<std::uint64_t>(commits.end() - next))
      return "a run has the wrong number of commits";
    const unsigned origin = byte & ((1U << puts_shift) - 1);
    const unsigned puts = byte >> puts_shift;
    if (origin > static_cast<unsigned>(CommitOrigin::restore)) return "an origin is unknown";
    if (puts > static_cast<unsigned>(PutEffects::different)) return "the effect of puts is unknown";
    CommitEffects effects{static_cast<CommitOrigin>(origin), static_cast<PutEffects>(puts), {}};
    if (effects.puts == PutEffects::different) {
      if (count != 1) return "several commits whose puts differ are one run";
      effects.codes = reader.raw((count_puts(*next) + codes_per_byte - 1) / codes_per_byte);
      if (!reader.ok()) return field_truncated;
    }
    for (std::uint64_t left = count; left > 0; --left) {
      if (!apply_effects(effects, *next++)) return "the codes of a commit are invalid";
    }
  }
  return reader.at_end() ? nullptr : "it has the wrong length";
}

}  // namespace entitable
