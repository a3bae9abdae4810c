// Reads the fields of read requests in the order of LAYOUT.md, without checking their meaning.
// MessageReader::ok() reports whether all fields were present. Internal to core/rpc.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model/key.h"
#include "core/rpc/message.h"

namespace entitable::rpc {

struct GetFields {
  std::string_view table;
  KeyView key;
  std::vector<std::string_view> select;
};

struct QueryFields {
  std::string_view table;
  std::optional<std::string_view> filter;
  std::uint32_t top = none;
  std::optional<std::string_view> partition, row;  // the continuation
  std::vector<std::string_view> select;
};

struct ListTablesFields {
  std::optional<std::string_view> filter;
  std::uint32_t top = none;
  std::optional<std::string_view> from;
};

struct PartitionKeysFields {
  std::string_view table;
  std::uint32_t top = none;
  std::optional<std::string_view> from;
};

struct MultiGetFields {
  std::string_view table;
  std::vector<KeyView> keys;
};

inline std::vector<std::string_view> read_select(MessageReader& in) {
  const std::uint32_t count = in.word();
  std::vector<std::string_view> names;
  if (in.words_left() < count) {
    in.fail();
    return names;
  }
  names.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) names.push_back(in.text());
  return names;
}

// Braced initializers are evaluated from left to right, so fields are read in the listed order.
inline GetFields read_get_fields(MessageReader& in) {
  return GetFields{in.text(), KeyView{in.text(), in.text()}, read_select(in)};
}
inline MultiGetFields read_multi_get_fields(MessageReader& in) {
  MultiGetFields fields{in.text(), {}};
  const std::uint32_t count = in.word();
  if (in.words_left() / 2 < count) {
    in.fail();
    return fields;
  }
  fields.keys.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) fields.keys.push_back(KeyView{in.text(), in.text()});
  return fields;
}
inline QueryFields read_query_fields(MessageReader& in) {
  return QueryFields{in.text(),          in.optional_text(), in.word(),
                     in.optional_text(), in.optional_text(), read_select(in)};
}
inline PartitionKeysFields read_partition_keys_fields(MessageReader& in) {
  return PartitionKeysFields{in.text(), in.word(), in.optional_text()};
}
inline ListTablesFields read_list_tables_fields(MessageReader& in) {
  return ListTablesFields{in.optional_text(), in.word(), in.optional_text()};
}

}  // namespace entitable::rpc
