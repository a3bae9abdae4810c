// Reads the fields of requests about live queries and the change feed in the order of LAYOUT.md,
// without checking their meaning. MessageReader::ok() reports whether all fields were present.
// Internal to core/rpc.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/live/feed_selection.h"
#include "core/model/commit.h"
#include "core/rpc/message.h"

namespace entitable::rpc {

// The id of a listening client, as the host adds it to requests: 16 bytes, as four words.
inline ClientId read_client_id(MessageReader& in) {
  ClientId id;
  for (std::size_t at = 0; at < id.size(); at += sizeof(std::uint32_t)) {
    const std::uint32_t word = in.word();
    std::memcpy(id.data() + at, &word, sizeof word);
  }
  return id;
}

struct OpenWatchFields {
  std::uint32_t flags = 0;
  std::string_view table;
  std::optional<std::string_view> filter;
  std::uint32_t limit = none;
  std::optional<std::string_view> partition, row;  // the first key
};

struct ReadWatchFields {
  std::uint32_t watch = 0;
  std::uint32_t rows_max = 0;
};

struct OpenFeedFields {
  std::uint32_t flags = 0;
  std::uint32_t number = 0;  // of the client for this feed
  std::vector<std::string_view> tables;
  std::optional<std::string_view> filter;
  std::string_view lower_partition, lower_row;
  std::optional<std::string_view> upper_partition, upper_row;
};

struct CloseFeedFields {
  std::uint32_t feed = 0;
  std::uint32_t number = 0;
  std::uint64_t since = 0;  // the feed will read what follows from the log
};

struct ReadPastFields {
  std::uint64_t since = 0;
  std::uint64_t next_segment = 0;  // the reader has read all segments before; 0: that is not known
  OpenFeedFields feed;
  ClientId client{};
  struct Segment {
    std::uint64_t sequence;
    std::string_view bytes;
  };
  std::vector<Segment> segments;
};

struct FeedReaderFields {
  std::uint32_t operation = 0;
  std::string_view name;
  std::uint64_t sequence = 0;
  double unix_ms = 0;  // the present time
};

// Braced initializers are evaluated from left to right, so fields are read in the listed order.
inline OpenWatchFields read_open_watch_fields(MessageReader& in) {
  return OpenWatchFields{in.word(), in.text(),          in.optional_text(),
                         in.word(), in.optional_text(), in.optional_text()};
}
inline ReadWatchFields read_read_watch_fields(MessageReader& in) {
  return ReadWatchFields{in.word(), in.word()};
}
inline OpenFeedFields read_open_feed_fields(MessageReader& in) {
  OpenFeedFields fields;
  fields.flags = in.word();
  fields.number = in.word();
  const std::uint32_t count = in.word();
  if (in.words_left() < count) {
    in.fail();
    return fields;
  }
  fields.tables.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) fields.tables.push_back(in.text());
  fields.filter = in.optional_text();
  fields.lower_partition = in.text();
  fields.lower_row = in.text();
  fields.upper_partition = in.optional_text();
  fields.upper_row = in.optional_text();
  return fields;
}
inline CloseFeedFields read_close_feed_fields(MessageReader& in) {
  return CloseFeedFields{in.word(), in.word(), in.two_words()};
}
inline FeedReaderFields read_feed_reader_fields(MessageReader& in) {
  return FeedReaderFields{in.word(), in.text(), in.two_words(), in.float64()};
}
inline ReadPastFields read_read_past_fields(MessageReader& in) {
  ReadPastFields fields;
  fields.since = in.two_words();
  fields.next_segment = in.two_words();
  fields.feed = read_open_feed_fields(in);
  const std::uint32_t segments = in.word();
  fields.client = read_client_id(in);
  for (std::uint32_t i = 0; i < segments && in.ok(); ++i) {
    const std::uint64_t sequence = in.two_words();
    fields.segments.push_back({sequence, in.binary(in.word())});
  }
  return fields;
}

// Returns the range of keys that a feed covers, and its tables.
inline FeedQuery feed_query(const OpenFeedFields& fields, Filter&& filter) {
  FeedQuery query;
  query.tables.assign(fields.tables.begin(), fields.tables.end());
  query.range.lower = EntityKey(fields.lower_partition, fields.lower_row);
  if (fields.upper_partition.has_value())
    query.range.upper =
        EntityKey(*fields.upper_partition, fields.upper_row.value_or(std::string_view()));
  query.filter = std::move(filter);
  return query;
}

}  // namespace entitable::rpc
