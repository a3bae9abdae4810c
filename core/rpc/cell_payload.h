// The payload of one column of a row in a page (LAYOUT.md, "Page"): how large it may be, and how it
// is written. Both depend on the column's type only, and are listed here side by side. Internal to
// core/rpc.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/date_time.h"
#include "core/model/value.h"
#include "core/rpc/unchecked_response_writer.h"

namespace entitable::rpc {

// The column types of a page are the numbers of EdmType and the following.
inline constexpr std::uint8_t column_null = 0;
inline constexpr std::uint8_t column_etag = 16;
inline constexpr std::uint8_t column_partition = 17;
inline constexpr std::uint8_t column_row = 18;
inline constexpr std::uint8_t column_timestamp = 19;

inline constexpr std::size_t guid_units = 36;

struct PayloadSize {
  std::size_t words_max;   // includes the word that may be needed for alignment
  std::size_t text_bytes;  // bytes of text that are formatted, not copied from the row
};

// Returns the size of write_payload(). The text of an ETag and of a Timestamp is not counted.
constexpr PayloadSize payload_size(std::uint8_t type) {
  switch (type) {
    case column_null:
      return {0, 0};
    case static_cast<std::uint8_t>(EdmType::float64):
    case static_cast<std::uint8_t>(EdmType::int64):
      return {3, 0};
    case static_cast<std::uint8_t>(EdmType::date_time):
      return {4, 0};
    case static_cast<std::uint8_t>(EdmType::guid):
      return {0, guid_units};
    default:
      return {1, 0};
  }
}

namespace detail {

[[gnu::always_inline]] inline void write_date_time(UncheckedResponseWriter& out, Ticks ticks) {
  const Ticks since_epoch = ticks - ticks_at_unix_epoch;
  Ticks milliseconds = since_epoch / ticks_per_millisecond;
  Ticks rest = since_epoch - milliseconds * ticks_per_millisecond;
  if (rest < 0) {
    --milliseconds;
    rest += ticks_per_millisecond;
  }
  out.float64(static_cast<double>(milliseconds));
  out.word(static_cast<std::uint32_t>(rest));
}

// Writes lower-case hexadecimal digits with hyphens, as model/guid.h does.
[[gnu::always_inline]] inline void write_guid(UncheckedResponseWriter& out,
                                              std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  char* to = out.allocate_ascii(guid_units);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    *to++ = digits[byte >> 4];
    *to++ = digits[byte & 15];
  }
}

}  // namespace detail

// Writes the payload of a column of this type. `value` has the accessors of ValueView. For a system
// column calls write_system_column(type) instead.
template <typename AnyValue, typename WriteSystemColumn>
[[gnu::always_inline]] inline void write_payload(UncheckedResponseWriter& out, std::uint8_t type,
                                                 const AnyValue& value,
                                                 WriteSystemColumn write_system_column) {
  switch (type) {
    case column_null:
      return;
    case static_cast<std::uint8_t>(EdmType::string):
      return out.text(value.string());
    case static_cast<std::uint8_t>(EdmType::binary):
      return out.binary(value.binary());
    case static_cast<std::uint8_t>(EdmType::boolean):
      return out.word(static_cast<std::uint32_t>(value.boolean()));
    case static_cast<std::uint8_t>(EdmType::date_time):
      return detail::write_date_time(out, value.date_time());
    case static_cast<std::uint8_t>(EdmType::float64):
    case static_cast<std::uint8_t>(EdmType::int64):
      return out.two_words(static_cast<std::uint64_t>(value.bits()));
    case static_cast<std::uint8_t>(EdmType::guid):
      return detail::write_guid(out, value.guid_bytes());
    case static_cast<std::uint8_t>(EdmType::int32):
      return out.word(static_cast<std::uint32_t>(value.int32()));
    default:
      return write_system_column(type);
  }
}

}  // namespace entitable::rpc
