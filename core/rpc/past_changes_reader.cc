#include "core/rpc/past_changes_reader.h"

#include <algorithm>
#include <utility>

#include "core/rpc/operations.h"
#include "core/store/live_queries.h"

namespace entitable::rpc {
namespace {

constexpr std::uint32_t flag_forget = 2;  // reads nothing, and frees what is kept

enum class PastState : std::uint8_t {
  more = 0,             // changes; others follow
  end = 1,              // changes, up to the last commit that is published
  segments_needed = 2,  // the host must repeat the request with segments
  truncated = 3,        // commits are missing
};

void append(TakenChanges& taken, PastChanges&& more) {
  taken.batches.splice(taken.batches.end(), more.batches);
  for (TableIndex& pin : more.pins) taken.pins.push_back(std::move(pin));
}

void encode(ResponseBuffer& out, PastState state, std::uint64_t number, std::string_view changes) {
  constexpr std::size_t words_max = 1 + 1 + 2 + 1;
  ResponseWriter writer(out, ResponseKind::past_changes, words_max);
  writer.align_binary();
  writer.word(static_cast<std::uint32_t>(state));
  writer.two_words(number);
  writer.binary(changes);
  writer.finish();
}

}  // namespace

void PastChangesReader::read(Store& store, std::uint32_t client, const OpenedAt& opened_at,
                             MessageReader& in, ResponseBuffer& out) {
  const ReadPastFields fields = read_read_past_fields(in);
  if (!in.ok()) return encode_error(out, malformed_error());
  if ((fields.feed.flags & flag_forget) != 0) {
    forget();
    return encode(out, PastState::end, 0, {});
  }
  Result<Filter> filter = parse_optional_filter(fields.feed.filter);
  if (!filter.ok()) return encode_error(out, filter.error());
  const FeedSelection selection(feed_query(fields.feed, std::move(*filter)));
  ChangeHistory history(store, position_of(fields.since), {past_batches_max, past_bytes_max});
  const bool is_answered = read_history(store, fields, selection, history, out);
  LogReaders& readers = LiveQueries(store).log_readers();
  const LogReaders::Id reader{client, fields.feed.number};
  const std::optional<FeedPosition> opened = opened_at(fields.feed.number);
  const bool is_live = opened.has_value() && history.position() >= *opened;
  // The last segment may have commits that are not published yet, so the reader does not skip it.
  if (is_answered && !is_live) {
    readers.set(reader, history.position().commit);
  } else {
    readers.erase(reader);
  }
}

// Writes the response. Returns whether the reader may go on.
bool PastChangesReader::read_history(Store& store, const ReadPastFields& fields,
                                     const FeedSelection& selection, ChangeHistory& history,
                                     ResponseBuffer& out) {
  const FeedPosition since = history.position();
  TakenChanges taken;
  std::uint64_t next_segment = fields.next_segment;
  const bool reads_kept = keep_needed(history, fields.segments);
  if (reads_kept) {
    const Result<void> done = read_segments(history, taken, next_segment);
    if (!done.ok()) {
      encode_error(out, done.error());
      return false;
    }
  }
  if (history.needs_segment() && !(history.position() > since)) {
    encode(out, PastState::segments_needed, std::max(history.first_segment(), next_segment), {});
    return true;
  }
  if (!history.needs_segment()) append(taken, history.read_pending());
  const bool has_read = history.position() > since;
  if (history.is_truncated() && !has_read) {
    forget();
    encode(out, PastState::truncated, sequence_of(history.first_known()), {});
    return false;
  }
  const bool is_at_end = history.is_at_end() && !(store.is_damaged() && has_read);
  if (is_at_end && store.is_damaged()) {
    encode_error(out, Error(ErrorCode::corrupted, "the store is damaged: commits may be missing"));
    return false;
  }
  const ClientListeners listeners{fields.client, {}, {{0, &selection, FeedPosition{}, false}}};
  ResponseBuffer changes;
  ChangesWriter().write(changes, taken, {history.position(), store.stored_position()}, listeners);
  if (is_at_end && reads_kept) forget();
  const PastState state = is_at_end ? PastState::end : PastState::more;
  encode(out, state, is_at_end ? 0 : next_segment, changes.view());
  return true;
}

// Keeps what the host has passed. Returns whether reading goes on in what is kept now.
bool PastChangesReader::keep_needed(const ChangeHistory& history,
                                    const std::vector<ReadPastFields::Segment>& passed) {
  const std::uint64_t next = history.position().commit + 1;
  if (passed.empty()) {
    if (kept_.empty()) return false;
    return kept_.front().segment.has_value() ? kept_.front().contains(next) : next == next_commit_;
  }
  kept_.clear();
  next_commit_ = next;
  for (const auto& [sequence, bytes] : passed)
    kept_.push_back({sequence, std::string(bytes), std::nullopt});
  return true;
}

// Reads until a response is full, and drops the segments that were read whole.
Result<void> PastChangesReader::read_segments(ChangeHistory& history, TakenChanges& taken,
                                              std::uint64_t& next_segment) {
  while (!kept_.empty()) {
    KeptSegment& first = kept_.front();
    next_segment = first.sequence;
    if (history.is_full() || history.is_truncated()) break;
    if (!first.segment.has_value()) {
      Result<Segment> segment = decode_segment(first.bytes, first.sequence);
      if (!segment.ok()) {
        const Error& error = segment.error();
        if (error.code != ErrorCode::corrupted) {
          forget();
          return error;
        }
        // If the reader needs its commits, the next segment shows that they are missing.
        next_segment = first.sequence + 1;
        kept_.pop_front();
        continue;
      }
      first.segment = std::move(*segment);
    }
    append(taken, history.read_segment(*first.segment));
    if (first.contains(history.position().commit + 1)) break;
    next_segment = first.sequence + 1;
    kept_.pop_front();
    next_commit_ = history.position().commit + 1;  // here, because the next segment may throw
  }
  next_commit_ = history.position().commit + 1;
  return {};
}

bool PastChangesReader::KeptSegment::contains(std::uint64_t commit) const {
  const std::vector<Commit>& commits = segment->commits;
  return !commits.empty() && commits.front().number <= commit && commit <= commits.back().number;
}

}  // namespace entitable::rpc
