#include "core/rpc/past_changes_reader.h"

#include <algorithm>
#include <utility>

#include "core/filter/parser.h"
#include "core/rpc/listener_request_fields.h"
#include "core/rpc/operations.h"

namespace entitable::rpc {
namespace {

enum class PastState : std::uint8_t {
  more = 0,             // changes; others follow
  end = 1,              // changes, up to the last commit that is published
  segments_needed = 2,  // the host must repeat the request with segments
  truncated = 3,        // commits are missing
};

Error malformed_error() {
  return Error(ErrorCode::invalid_input, "The request message is malformed.");
}

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

void read_past_changes(Store& store, MessageReader& in, ResponseBuffer& out) {
  const ReadPastFields fields = read_read_past_fields(in);
  if (!in.ok()) return encode_error(out, malformed_error());
  auto filter = fields.feed.filter.has_value() ? parse_filter(*fields.feed.filter) : Filter{};
  if (!filter.ok()) return encode_error(out, filter.error());
  const FeedPosition since = position_of(fields.since);
  ChangeHistory history(store, since, {past_batches_max, past_row_bytes_max});
  TakenChanges taken;
  std::uint64_t next_segment = fields.next_segment;
  for (const auto& [sequence, bytes] : fields.segments) {
    Result<PastChanges> more = history.read_segment(sequence, bytes);
    if (!more.ok()) return encode_error(out, more.error());
    append(taken, std::move(*more));
    next_segment = history.is_full() ? sequence : sequence + 1;
    if (history.is_full()) break;
  }
  const bool has_read = history.position() > since;
  if (history.needs_segment() && !has_read) {
    const std::uint64_t first = std::max(history.first_segment(), next_segment);
    return encode(out, PastState::segments_needed, first, {});
  }
  if (!history.needs_segment()) append(taken, history.read_pending());
  if (history.is_truncated() && history.position() == since)
    return encode(out, PastState::truncated, sequence_of(history.first_known()), {});
  const FeedSelection selection(feed_query(fields.feed, std::move(*filter)));
  const ClientListeners listeners{fields.client, {}, {{0, &selection, FeedPosition{}, false}}};
  ResponseBuffer changes;
  ChangesWriter().write(changes, taken, {history.position(), store.stored_position()}, listeners);
  // The last segment may have commits that are not published yet, so the reader does not skip it.
  if (history.is_at_end()) return encode(out, PastState::end, 0, changes.view());
  encode(out, PastState::more, next_segment, changes.view());
}

}  // namespace entitable::rpc
