// Reads the fields of requests about live queries and the change feed in the order of LAYOUT.md,
// without checking their meaning. MessageReader::ok() reports whether all fields were present.
// Internal to core/rpc.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/rpc/message.h"

namespace entitable::rpc {

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
  std::vector<std::string_view> tables;
  std::optional<std::string_view> filter;
  std::string_view lower_partition, lower_row;
  std::optional<std::string_view> upper_partition, upper_row;
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

}  // namespace entitable::rpc
