#include "core/rpc/feed_reader_requests.h"

#include "core/model/date_time.h"
#include "core/rpc/listener_request_fields.h"
#include "core/rpc/operations.h"
#include "core/store/change_history.h"
#include "core/store/feed_readers.h"

namespace entitable::rpc {
namespace {

enum class ReaderOperation : std::uint8_t {
  open = 0,  // adds the reader, unless there is one of this name
  acknowledge = 1,
  remove = 2,
};

enum class ReaderState : std::uint8_t {
  missing = 0,  // there is no reader of this name
  done = 1,
  refused = 2,  // too many readers, an invalid name, or a position that was not reached
};

// Returns where a new reader begins.
FeedPosition begin_of(Store& store, std::uint64_t sequence) {
  if (sequence == sequence_max) return store.position();
  if (sequence != 0) return position_of(sequence);
  const FeedPosition first = ChangeHistory(store, FeedPosition{}).first_known();
  return first.commit == 1 ? FeedPosition{} : FeedPosition{first.epoch, first.commit - 1};
}

// Returns whether the operation was done.
bool run(Store& store, FeedReaders& readers, const FeedReaderFields& fields, Ticks now) {
  switch (static_cast<ReaderOperation>(fields.operation)) {
    case ReaderOperation::open: {
      if (readers.find(fields.name) != nullptr) return true;
      return readers.add(fields.name, begin_of(store, fields.sequence), now);
    }
    case ReaderOperation::acknowledge:
      return readers.acknowledge(fields.name, position_of(fields.sequence), now);
    case ReaderOperation::remove:
      return readers.remove(fields.name);
  }
  return false;
}

}  // namespace

void handle_feed_reader(Store& store, MessageReader& in, ResponseBuffer& out) {
  const FeedReaderFields fields = read_feed_reader_fields(in);
  if (!in.ok() || fields.operation > static_cast<std::uint32_t>(ReaderOperation::remove))
    return encode_error(out, malformed_error());
  FeedReaders readers(store);
  const bool existed = readers.find(fields.name) != nullptr;
  const bool done = run(store, readers, fields, ticks_from_unix_ms(fields.unix_ms));
  const FeedReader* const reader = readers.find(fields.name);
  ReaderState state = done ? ReaderState::done : ReaderState::refused;
  if (!existed && reader == nullptr &&
      fields.operation != static_cast<std::uint32_t>(ReaderOperation::open))
    state = ReaderState::missing;
  constexpr std::size_t words_max = 2 + 2;
  ResponseWriter writer(out, ResponseKind::feed_reader, words_max);
  writer.word(static_cast<std::uint32_t>(state));
  writer.word(readers.are_stored() ? 1 : 0);
  writer.two_words(sequence_of(reader == nullptr ? FeedPosition{} : reader->acknowledged));
  writer.finish();
}

}  // namespace entitable::rpc
