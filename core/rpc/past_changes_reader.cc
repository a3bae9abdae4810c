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

// The changes of a response. It has a limited number of batches, because the reader keeps them
// until its user has read them.
class Collected {
 public:
  explicit Collected(const FeedPosition& since) : position_(since) {}

  // `position`: that of the history after these changes.
  void append(PastChanges&& more, const FeedPosition& position) {
    taken_.batches.splice(taken_.batches.end(), more.batches);
    for (TableIndex& pin : more.pins) taken_.pins.push_back(std::move(pin));
    position_ = position;
    is_cut_ = taken_.batches.size() > PastChangesReader::batches_max;
    if (!is_cut_) return;
    taken_.batches.resize(PastChangesReader::batches_max);
    position_ = taken_.batches.back().position;
  }

  const TakenChanges& taken() const { return taken_; }
  const FeedPosition& position() const { return position_; }  // up to which changes are there
  bool is_cut() const { return is_cut_; }                     // not all changes had room

 private:
  TakenChanges taken_;
  FeedPosition position_;
  bool is_cut_ = false;
};

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

void PastChangesReader::handle(Store& store, MessageReader& in, ResponseBuffer& out) {
  const ReadPastFields fields = read_read_past_fields(in);
  if (!in.ok()) return encode_error(out, malformed_error());
  auto filter = fields.feed.filter.has_value() ? parse_filter(*fields.feed.filter) : Filter{};
  if (!filter.ok()) return encode_error(out, filter.error());
  ChangeHistory history(store, position_of(fields.since));
  Collected collected(history.position());
  std::uint64_t next_segment = fields.next_segment;
  for (const auto& [sequence, bytes] : fields.segments) {
    Result<PastChanges> more = history.read_segment(sequence, bytes);
    if (!more.ok()) return encode_error(out, more.error());
    collected.append(std::move(*more), history.position());
    next_segment = collected.is_cut() ? sequence : sequence + 1;
    if (collected.is_cut()) break;
  }
  const bool has_read = collected.position() > position_of(fields.since);
  if (history.needs_segment() && !has_read) {
    const std::uint64_t first = std::max(history.first_segment(), next_segment);
    return encode(out, PastState::segments_needed, first, {});
  }
  if (!history.is_truncated() && !history.needs_segment() && !collected.is_cut()) {
    PastChanges pending = history.read_pending();
    collected.append(std::move(pending), history.position());
  }
  if (history.is_truncated() && !has_read)
    return encode(out, PastState::truncated, sequence_of(history.first_known()), {});
  const FeedSelection selection(feed_query(fields.feed, std::move(*filter)));
  const ClientListeners listeners{fields.client, {}, {{0, &selection, FeedPosition{}, false}}};
  changes_.write(message_, collected.taken(), collected.position(), listeners);
  // The last segment may have commits that are not published yet, so the reader does not skip it.
  const bool is_end = history.is_at_end() && !collected.is_cut();
  if (is_end) return encode(out, PastState::end, 0, message_.view());
  encode(out, PastState::more, next_segment, message_.view());
}

}  // namespace entitable::rpc
