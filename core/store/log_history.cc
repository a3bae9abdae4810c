#include "core/store/log_history.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"

namespace entitable {
namespace {

// Manifests join neighbouring stretches up to this share of the limits. So there are few of them,
// although each checkpoint begins a new one.
constexpr std::uint64_t joined_share = 64;

void join(LogStretch& stretch, const LogStretch& next) {
  stretch.segments += next.segments;
  stretch.commits += next.commits;
  stretch.bytes += next.bytes;
  stretch.last_timestamp = std::max(stretch.last_timestamp, next.last_timestamp);
}

bool may_join(const LogStretch& stretch, const LogStretch& next, const HistoryLimits& limits) {
  return stretch.storage_bytes() + next.storage_bytes() <= limits.bytes / joined_share &&
         next.last_timestamp - stretch.last_timestamp <=
             limits.age / static_cast<Ticks>(joined_share);
}

}  // namespace

LogHistory::LogHistory(const Manifest& manifest)
    : first_sequence_(manifest.first_live_sequence),
      next_sequence_(manifest.first_live_sequence),
      stretch_ended_(true) {
  if (!manifest.history.has_value()) return;
  const ManifestHistory& history = *manifest.history;
  dropped_.assign(history.dropped.begin(), history.dropped.end());
  if (history.stretches.empty()) return;
  first_sequence_ = history.first_sequence;
  first_commit_ = next_commit_ = history.first_commit;
  stretches_ = history.stretches;
  for (const LogStretch& stretch : stretches_) next_commit_ += stretch.commits;
}

void LogHistory::add_segment(const SegmentCommits& commits, std::uint64_t bytes) {
  const bool has_commits = commits.first != 0;
  if (has_commits && next_commit_ != 0 && commits.first != next_commit_) {
    stretches_.clear();
    first_sequence_ = next_sequence_;
    first_commit_ = 0;
  }
  ++next_sequence_;
  LogStretch segment{1, 0, bytes, commits.last_timestamp};
  if (has_commits) {
    segment.commits = commits.last - commits.first + 1;
    if (first_commit_ == 0) first_commit_ = commits.first;
    next_commit_ = commits.last + 1;
  }
  const bool joins =
      !stretches_.empty() && !stretch_ended_ && stretches_.back().storage_bytes() < stretch_bytes;
  stretch_ended_ = false;
  if (joins) return join(stretches_.back(), segment);
  stretches_.push_back(segment);
}

void LogHistory::clear() {
  stretches_.clear();
  first_sequence_ = next_sequence_;
  first_commit_ = 0;
  dropped_.clear();
}

std::optional<ManifestHistory> LogHistory::history_to_keep(
    const Manifest& manifest, std::optional<std::uint64_t> first_needed,
    const HistoryLimits& limits) const {
  if (first_commit_ == 0) first_needed.reset();
  const std::uint64_t first_known = first_commit_ != 0 ? first_commit_ : next_commit_;
  ManifestHistory kept{first_sequence_, std::max(first_known, std::uint64_t{1}), {}, {}};
  std::uint64_t bytes = bytes_before(manifest.first_live_sequence);
  std::uint64_t sequence = first_sequence_;
  for (const LogStretch& stretch : stretches_) {
    sequence += stretch.segments;
    if (sequence > manifest.first_live_sequence) break;
    const bool is_needed =
        first_needed.has_value() && kept.first_commit + stretch.commits > *first_needed;
    const bool is_old = stretch.last_timestamp < limits.now - limits.age;
    if (kept.stretches.empty() && (!is_needed || is_old || bytes > limits.bytes)) {
      kept.first_sequence = sequence;
      kept.first_commit += stretch.commits;
      bytes -= stretch.storage_bytes();
    } else if (!kept.stretches.empty() && may_join(kept.stretches.back(), stretch, limits)) {
      join(kept.stretches.back(), stretch);
    } else {
      kept.stretches.push_back(stretch);
    }
  }
  if (kept.stretches.empty()) kept.first_sequence = manifest.first_live_sequence;
  std::copy_if(dropped_.begin(), dropped_.end(), std::back_inserter(kept.dropped),
               [&](const DroppedTable& table) {
                 return table.commit >= kept.first_commit && table.commit <= manifest.last_commit;
               });
  if (kept.stretches.empty() && kept.dropped.empty()) return std::nullopt;
  return kept;
}

void LogHistory::mark_committed(const Manifest& manifest) {
  std::uint64_t sequence = first_sequence_;
  std::uint64_t commit = first_commit_;
  auto live = stretches_.begin();
  for (; live != stretches_.end() && sequence < manifest.first_live_sequence; ++live) {
    sequence += live->segments;
    commit += live->commits;
  }
  if (commit == next_commit_) commit = 0;
  auto kept = stretches_.begin();
  if (const auto& history = manifest.history; history.has_value() && !history->stretches.empty()) {
    ENTITABLE_CHECK(history->stretches.size() <= static_cast<std::size_t>(live - kept));
    sequence = history->first_sequence;
    commit = history->first_commit;
    kept = std::copy(history->stretches.begin(), history->stretches.end(), kept);
  }
  stretches_.erase(kept, live);
  first_sequence_ = sequence;
  first_commit_ = commit;
  const std::uint64_t first_known = commit != 0 ? commit : next_commit_;
  dropped_.remove_if([&](const DroppedTable& table) { return table.commit < first_known; });
}

std::uint64_t LogHistory::first_commit(std::uint64_t last_commit, std::uint64_t pending) const {
  const std::uint64_t first_pending = last_commit - pending + 1;
  return first_commit_ != 0 && next_commit_ >= first_pending ? first_commit_ : first_pending;
}

std::uint64_t LogHistory::segment_before(std::uint64_t commit) const {
  std::uint64_t sequence = first_sequence_;
  std::uint64_t next = first_commit_;
  for (const LogStretch& stretch : stretches_) {
    next += stretch.commits;
    if (commit < next) break;
    sequence += stretch.segments;
  }
  return sequence;
}

std::uint64_t LogHistory::bytes_before(std::uint64_t sequence) const {
  std::uint64_t bytes = 0;
  std::uint64_t next = first_sequence_;
  for (const LogStretch& stretch : stretches_) {
    next += stretch.segments;
    if (next > sequence) break;
    bytes += stretch.storage_bytes();
  }
  return bytes;
}

}  // namespace entitable
