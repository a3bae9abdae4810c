// The words of the requests that read, in the order of LAYOUT.md; what they mean is not looked at.
// Whether they were there at all is the reader's to say (BlockReader::ok). Internal to core/direct.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/direct/block.h"
#include "core/model/key.h"

namespace entitable::direct {

struct GetWords {
  std::string_view table;
  KeyView key;
  std::vector<std::string_view> select;
};

struct QueryWords {
  std::string_view table;
  std::optional<std::string_view> filter;
  std::uint32_t top = none;
  std::optional<std::string_view> partition, row;  // where it goes on
  std::vector<std::string_view> select;
};

struct TablesWords {
  std::optional<std::string_view> filter;
  std::uint32_t top = none;
  std::optional<std::string_view> from;
};

struct GetEachWords {
  std::string_view table;
  std::vector<KeyView> keys;
};

inline std::vector<std::string_view> read_select_words(BlockReader& in) {
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

// In braces what is read stands in the order in which it is read.
inline GetWords read_get_words(BlockReader& in) {
  return GetWords{in.text(), KeyView{in.text(), in.text()}, read_select_words(in)};
}
inline GetEachWords read_get_each_words(BlockReader& in) {
  GetEachWords words{in.text(), {}};
  const std::uint32_t count = in.word();
  if (in.words_left() / 2 < count) {
    in.fail();
    return words;
  }
  words.keys.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) words.keys.push_back(KeyView{in.text(), in.text()});
  return words;
}
inline QueryWords read_query_words(BlockReader& in) {
  return QueryWords{in.text(),          in.optional_text(), in.word(),
                    in.optional_text(), in.optional_text(), read_select_words(in)};
}
inline TablesWords read_tables_words(BlockReader& in) {
  return TablesWords{in.optional_text(), in.word(), in.optional_text()};
}

}  // namespace entitable::direct
