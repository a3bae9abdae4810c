// Runs every parser of a small text on the same bytes. An accepted value, printed and parsed again,
// must be the same. If the format allows only one text per value (base64, ETags, names), printing
// must give the input.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/model/etag.h"
#include "core/model/key.h"
#include "core/model/limits.h"
#include "core/model/property_name.h"
#include "core/model/table_name.h"
#include "core/model/value.h"

using namespace entitable;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void typed_values(std::string_view text) {
  for (std::uint8_t number = 1; number <= edm_type_last; ++number) {
    const EdmType type = *edm_from_number(number);
    const Result<Value> value = parse_value(type, text, "p");
    if (!value.ok()) {
      require(
          value.error().code == ErrorCode::invalid_input ||
          (type == EdmType::date_time && value.error().code == ErrorCode::out_of_range_input) ||
          (type == EdmType::string && value.error().code == ErrorCode::property_value_too_large) ||
          (type == EdmType::binary && value.error().code == ErrorCode::property_value_too_large));
      continue;
    }
    require(check_value(value->view(), "p").ok());
    const Result<Value> back = parse_value(type, value_text(value->view()), "p");
    require(back.ok() && *back == *value);
  }
}

void base64(std::string_view text) {
  if (const std::optional<std::string> bytes = base64_decode(text)) {
    require(base64_encode(*bytes) == text);
  }
  if (const std::optional<std::string> bytes = base64url_decode(text)) {
    require(base64url_encode(*bytes) == text);
  }
  require(base64_decode(base64_encode(text)) == text);
  require(base64url_decode(base64url_encode(text)) == text);
}

// Prints eight bytes as a double; parsing the text must give the same bits.
void double_bits(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto bits = static_cast<std::int64_t>(reader.u64());
  const double value = ValueView::from_parts(EdmType::float64, bits, {}).float64();
  if (!reader.ok() || !std::isfinite(value)) return;
  const std::optional<double> back = parse_double(to_text(value));
  require(back.has_value() && ValueView::of_double(*back).bits() == bits);
}

void byte_reader(std::string_view bytes) {
  ByteReader reader(bytes);
  while (reader.ok() && !reader.at_end()) {
    const std::string_view before = bytes.substr(bytes.size() - reader.remaining());
    const std::uint64_t value = reader.varint();
    if (!reader.ok()) break;
    std::string again;
    ByteWriter(again).varint(value);
    require(before.substr(0, again.size()) == again);  // a value has only one encoding
    reader.bytes();
  }
}

// Converts to UTF-16 and back, and compares the order of the text's two halves with their order in
// UTF-16.
void wtf8(std::string_view text) {
  if (!is_wtf8(text)) return;
  const std::u16string units = utf16_from_wtf8(text);
  require(units.size() == utf16_length(text));
  require(wtf8_from_utf16(units) == text);
  std::string rebuilt;
  bool surrogates = false;
  for_each_code_point(text, [&](char32_t c) {
    append_code_point(rebuilt, c);
    surrogates = surrogates || (c >= 0xD800 && c <= 0xDFFF);
  });
  require(rebuilt == text);
  require(is_well_formed(text) != surrogates);

  const std::u16string low = units.substr(0, units.size() / 2);
  const std::u16string high = units.substr(units.size() / 2);
  const int order = compare_utf16(wtf8_from_utf16(low), wtf8_from_utf16(high));
  require((order < 0) == (low < high) && (order == 0) == (low == high));
}

void names_and_keys(std::string_view text) {
  if (const Result<TableName> name = TableName::parse(text); name.ok()) {
    require(name->text() == text && name->folded() == fold_table_name(text));
  }
  if (const Result<IfMatch> condition = IfMatch::parse(text); condition.ok()) {
    require(condition->has_condition() == !text.empty());
    require(condition->matches(limits::date_time_ticks_min) ==
            (text.empty() || text == "*" || text == etag_text(limits::date_time_ticks_min)));
  }
  if (!is_wtf8(text)) return;
  const Result<void> property = check_property_name(text);
  require(!property.ok() || (!text.empty() && is_well_formed(text)));
  const Result<void> key = check_key({text, ""});
  require(!key.ok() || text.find_first_of("/\\#?") == std::string_view::npos);
  const bool too_long = !key.ok() && key.error().code == ErrorCode::property_value_too_large;
  require(too_long || check_url_key({"", text}).ok() == key.ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  typed_values(text);
  base64(text);
  double_bits(text);
  byte_reader(text);
  wtf8(text);
  names_and_keys(text);
  return 0;
}
