// Random model values for random tests. There are few different values, so that keys and names
// collide, and limits and special cases are frequent. The same seed gives the same values
// everywhere. The values are valid, unless a comment says otherwise.
#pragma once

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/utf8.h"
#include "core/model/entity.h"
#include "core/model/limits.h"
#include "tests/support/prng.h"

namespace entitable::test {

template <typename T>
const T& pick(Prng& prng, const std::vector<T>& from) {
  return from[prng.below(from.size())];
}

// Characters around which order, length or validity change: ASCII, characters before and after the
// surrogates, unpaired surrogates, and pairs. All are allowed in keys.
inline const std::vector<std::u16string>& edge_characters() {
  static const std::vector<std::u16string> characters = {u"a",
                                                         u"a",
                                                         u"b",
                                                         u"B",
                                                         u"0",
                                                         u"9",
                                                         u" ",
                                                         u"'",
                                                         u"%",
                                                         u"~",
                                                         u"\u00A0",
                                                         u"\u00E4",
                                                         u"\u07FF",
                                                         u"\u0800",
                                                         u"\uD7FF",
                                                         u"\uE000",
                                                         u"\uFF5E",
                                                         u"\uFFFF",
                                                         u"\uFEFF",
                                                         u"\U00010000",
                                                         u"\U0001F600",
                                                         u"\U0010FFFF",
                                                         std::u16string(1, char16_t{0xD83D}),
                                                         std::u16string(1, char16_t{0xDBFF}),
                                                         std::u16string(1, char16_t{0xDC00}),
                                                         std::u16string(1, char16_t{0xDE00})};
  return characters;
}

// Returns WTF-8 of at most `characters_max` edge characters, each one or two UTF-16 units long.
inline std::string random_text(Prng& prng, std::size_t characters_max) {
  std::u16string text;
  for (std::uint64_t i = prng.below(characters_max + 1); i > 0; --i) {
    text += pick(prng, edge_characters());
  }
  return wtf8_from_utf16(text);
}

// Returns a key: half of the time one of a small set, otherwise short, and rarely of maximum
// length.
inline std::string random_key(Prng& prng) {
  static const std::vector<std::string> favourites = {"",
                                                      "a",
                                                      "b",
                                                      "aa",
                                                      "ab",
                                                      "b0",
                                                      "1",
                                                      "10",
                                                      "2",
                                                      "partition-1",
                                                      "partition-10",
                                                      "partition-2",
                                                      "A",
                                                      "a ",
                                                      "o'x",
                                                      "%41",
                                                      "\xC3\xA4",
                                                      "\xEF\xBD\x9E",
                                                      "\xF0\x9F\x98\x80"};
  if (prng.chance(2)) return pick(prng, favourites);
  if (prng.chance(50)) {
    std::string longest(limits::key_units_max - 1, 'k');
    longest.push_back(static_cast<char>('a' + prng.below(3)));
    return longest;
  }
  return random_text(prng, 4);
}

inline EntityKey random_entity_key(Prng& prng) {
  std::string partition = random_key(prng);
  return EntityKey(partition, random_key(prng));
}

// Returns a key for lookups, which may also be too long or have forbidden characters.
inline std::string random_probe_key(Prng& prng) {
  std::string key = random_key(prng);
  if (prng.chance(6)) key.push_back('\0');
  if (prng.chance(12)) key.append("/");
  if (prng.chance(40)) key.append(2 * limits::key_units_max, 'z');
  return key;
}

// Returns one of a few names that are similar (case, prefix), contain characters beyond ASCII, or
// have minimum or maximum length.
inline std::string random_property_name(Prng& prng) {
  static const std::vector<std::string> names = {"a",
                                                 "b",
                                                 "c",
                                                 "A",
                                                 "ab",
                                                 "a_b",
                                                 "_",
                                                 "Name",
                                                 "name",
                                                 "count",
                                                 "Age",
                                                 "ETag",
                                                 "etag",
                                                 "partitionkey",
                                                 "RowKey2",
                                                 "true",
                                                 "eq",
                                                 "not",
                                                 "x1",
                                                 "value",
                                                 "\xC3\xA4",
                                                 "\xCE\xA9",
                                                 "\xF0\x90\x90\x80",
                                                 "d\xC3\xA9j\xC3\xA0",
                                                 std::string(limits::property_name_units_max, 'p')};
  if (prng.chance(8)) return "n" + std::to_string(prng.below(300));
  // Prefers the first names.
  return names[prng.chance(2) ? prng.below(6) : prng.below(names.size())];
}

inline EdmType random_type(Prng& prng) {
  return static_cast<EdmType>(1 + prng.below(edm_type_last));
}

inline std::int64_t random_int64(Prng& prng) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  static const std::vector<std::int64_t> edges = {0,
                                                  1,
                                                  -1,
                                                  2,
                                                  3,
                                                  42,
                                                  127,
                                                  128,
                                                  2147483647,
                                                  2147483648,
                                                  -2147483648LL,
                                                  -2147483649LL,
                                                  9007199254740992,
                                                  9007199254740993,
                                                  least,
                                                  least + 1,
                                                  most,
                                                  most - 1};
  if (prng.chance(2)) return pick(prng, edges);
  if (prng.chance(2)) return static_cast<std::int64_t>(prng.below(20)) - 10;
  return static_cast<std::int64_t>(prng.next() >> prng.below(64));
}

inline std::int32_t random_int32(Prng& prng) {
  static const std::vector<std::int32_t> edges = {0,  1,   -1,   2,          3,
                                                  42, 127, -128, 2147483647, -2147483647 - 1};
  if (prng.chance(2)) return pick(prng, edges);
  return static_cast<std::int32_t>(prng.next()) >> prng.below(32);
}

inline double random_double(Prng& prng) {
  using numbers = std::numeric_limits<double>;
  static const std::vector<double> edges = {0.0,
                                            -0.0,
                                            1.0,
                                            -1.0,
                                            3.0,
                                            0.5,
                                            0.1,
                                            1e15,
                                            1e16,
                                            1e-5,
                                            9007199254740993.0,
                                            1e300,
                                            numbers::max(),
                                            -numbers::max(),
                                            numbers::min(),
                                            numbers::denorm_min(),
                                            numbers::infinity(),
                                            -numbers::infinity(),
                                            numbers::quiet_NaN()};
  if (prng.chance(2)) return pick(prng, edges);
  if (prng.chance(2)) return static_cast<double>(prng.below(2000)) / 100 - 10;
  const std::uint64_t bits = prng.next();  // any bit pattern, including unusual NaNs
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline Ticks random_ticks(Prng& prng) {
  constexpr Ticks some_day = 637'311'980'884'767'000;  // 2020-07-24T14:34:48.4767Z
  static const std::vector<Ticks> edges = {limits::date_time_ticks_min,
                                           limits::date_time_ticks_min + 1,
                                           limits::date_time_ticks_max,
                                           limits::date_time_ticks_max - 1,
                                           ticks_at_unix_epoch,
                                           ticks_at_unix_epoch - 1,
                                           some_day};
  if (prng.chance(3)) return pick(prng, edges);
  if (prng.chance(2)) return some_day + static_cast<Ticks>(prng.below(100)) * 1000;
  constexpr auto span =
      static_cast<std::uint64_t>(limits::date_time_ticks_max - limits::date_time_ticks_min) + 1;
  return limits::date_time_ticks_min + static_cast<Ticks>(prng.below(span));
}

inline Guid random_guid(Prng& prng) {
  Guid guid{};
  if (prng.chance(2)) {
    guid[15] = static_cast<std::uint8_t>(prng.below(4));
  } else {
    for (std::uint8_t& byte : guid) byte = static_cast<std::uint8_t>(prng.next());
  }
  return guid;
}

inline std::string random_bytes(Prng& prng, std::size_t size_max) {
  std::string bytes;
  for (std::uint64_t i = prng.below(size_max + 1); i > 0; --i) {
    bytes.push_back("\x00\x01\x7F\x80\xFF"[prng.below(5)]);
  }
  return bytes;
}

// Returns a text for a property: mostly short, sometimes a few kilobytes or with U+0000.
inline std::string random_string(Prng& prng) {
  std::string text = random_text(prng, 6);
  if (prng.chance(20)) text += std::string(1 + prng.below(3000), 's');
  if (prng.chance(20)) text.push_back('\0');
  return text;
}

inline Value random_value(Prng& prng, EdmType type) {
  switch (type) {
    case EdmType::string:
      return Value::of_string(random_string(prng));
    case EdmType::binary:
      return Value::of_binary(random_bytes(prng, prng.chance(20) ? 2000 : 5));
    case EdmType::boolean:
      return Value::of_boolean(prng.chance(2));
    case EdmType::date_time:
      return Value::of_date_time(random_ticks(prng));
    case EdmType::float64:
      return Value::of_double(random_double(prng));
    case EdmType::guid:
      return Value::of_guid(random_guid(prng));
    case EdmType::int32:
      return Value::of_int32(random_int32(prng));
    case EdmType::int64:
      return Value::of_int64(random_int64(prng));
  }
  return Value::of_boolean(false);
}

inline Value random_value(Prng& prng) {
  return random_value(prng, random_type(prng));
}

// Returns properties with unique names in random order. Most names always have the same type, as in
// real tables.
inline std::vector<Property> random_properties(Prng& prng, std::size_t count_max) {
  std::vector<Property> properties;
  for (std::uint64_t i = prng.below(count_max + 1); i > 0; --i) {
    std::string name = random_property_name(prng);
    bool taken = false;
    for (const Property& property : properties) taken = taken || property.name == name;
    if (taken) continue;
    const auto usual = static_cast<EdmType>(1 + (name.size() + static_cast<std::uint8_t>(name[0])) %
                                                    edm_type_last);
    Value value = random_value(prng, prng.chance(5) ? random_type(prng) : usual);
    properties.push_back({std::move(name), std::move(value)});
  }
  return properties;
}

// Returns an entity that was not stored yet, so its timestamp is 0. It mostly has few properties,
// sometimes the maximum number.
inline Entity random_entity(Prng& prng) {
  Entity entity;
  entity.key = random_entity_key(prng);
  if (prng.chance(100)) {
    for (std::size_t i = 0; i < limits::custom_properties_max; ++i) {
      entity.properties.push_back({"n" + std::to_string(i), Value::of_int32(random_int32(prng))});
    }
  } else {
    entity.properties = random_properties(prng, 8);
  }
  return entity;
}

// Returns an entity with a timestamp, as the index holds entities.
inline Entity random_stored_entity(Prng& prng) {
  Entity entity = random_entity(prng);
  entity.timestamp = random_ticks(prng);
  return entity;
}

inline std::string random_table_name(Prng& prng) {
  static const std::vector<std::string> names = {"aaa",
                                                 "AAA",
                                                 "people",
                                                 "People",
                                                 "t01",
                                                 "zzz",
                                                 std::string(limits::table_name_units_max, 'T')};
  if (prng.chance(2)) return pick(prng, names);
  return "table" + std::to_string(prng.below(20));
}

}  // namespace entitable::test
