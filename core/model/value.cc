#include "core/model/value.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "core/base/base64.h"
#include "core/base/check.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

static_assert(sizeof(double) == sizeof(std::int64_t));

template <typename T>
Ordering order_of(const T& a, const T& b) {
  return a < b ? Ordering::less : b < a ? Ordering::greater : Ordering::equal;
}

Ordering order_of_sign(int sign) {
  return sign < 0 ? Ordering::less : sign > 0 ? Ordering::greater : Ordering::equal;
}

// string_view compares unsigned bytes, and a prefix sorts first.
Ordering order_of_bytes(const ValueView& a, const ValueView& b) {
  return order_of_sign(a.bytes().compare(b.bytes()));
}

Error does_not_fit() {
  return Error(ErrorCode::invalid_input, "An error occurred while processing this request.");
}

// Returns make(*parsed), or the error if there is no parsed value. For types whose values cannot
// exceed a limit.
template <typename T>
Result<Value> value_or_error(const std::optional<T>& parsed, Value (*make)(T)) {
  if (!parsed) return does_not_fit();
  return make(*parsed);
}

// In any letter case, because some tools write TRUE or False.
std::optional<bool> parse_boolean(std::string_view text) {
  const auto is = [&](std::string_view lower) {
    return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
  };
  if (is("true")) return true;
  if (is("false")) return false;
  return std::nullopt;
}

std::optional<double> parse_edm_double(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return parse_double(text);
}

Result<Value> parse_binary(std::string_view text, std::string_view property) {
  const std::optional<std::string> bytes = base64_decode(text);
  if (!bytes) return does_not_fit();
  if (const Result<void> fits = check_value(ValueView::of_binary(*bytes), property); !fits.ok()) {
    return fits.error();
  }
  return Value::of_binary(*bytes);
}

Result<Value> parse_string(std::string_view text, std::string_view property) {
  if (!is_wtf8(text)) return does_not_fit();
  if (const Result<void> fits = check_value(ValueView::of_string(text), property); !fits.ok()) {
    return fits.error();
  }
  return Value::of_string(text);
}

Result<Value> parse_guid_value(std::string_view text) {
  const std::optional<Guid> guid = parse_guid(text);
  if (!guid) return does_not_fit();
  return Value::of_guid(*guid);
}

Result<Value> parse_date_time_value(std::string_view text, std::string_view property) {
  const Result<Ticks> ticks = parse_date_time(text, property);
  if (!ticks.ok()) return ticks.error();
  return Value::of_date_time(*ticks);
}

bool string_fits(std::string_view text) {
  // A unit takes one to three bytes, so most strings fit without counting.
  if (text.size() <= limits::string_units_max) return true;
  return text.size() <= 3 * limits::string_units_max &&
         utf16_length(text) <= limits::string_units_max;
}

}  // namespace

ValueView ValueView::of_double(double v) {
  std::int64_t bits;
  std::memcpy(&bits, &v, sizeof(bits));
  return {EdmType::float64, bits};
}

double ValueView::float64() const {
  double v;
  std::memcpy(&v, &number_, sizeof(v));
  return v;
}

ValueView ValueView::from_parts(EdmType type, std::int64_t bits, std::string_view bytes) {
  ValueView view(type, bits);
  view.bytes_ = bytes;
  return view;
}

Value Value::of_guid(const Guid& guid) {
  char bytes[std::tuple_size_v<Guid>];
  std::memcpy(bytes, guid.data(), sizeof(bytes));
  return Value(ValueView::of_guid(std::string_view(bytes, sizeof(bytes))));
}

Ordering compare_values(const ValueView& a, const ValueView& b) {
  ENTITABLE_DCHECK(a.type() == b.type());
  switch (a.type()) {
    case EdmType::string:
      return order_of_sign(compare_utf16(a.string(), b.string()));
    case EdmType::binary:
    case EdmType::guid:
      return order_of_bytes(a, b);
    case EdmType::boolean:
    case EdmType::date_time:
    case EdmType::int32:
    case EdmType::int64:
      return order_of(a.bits(), b.bits());
    case EdmType::float64: {
      const double x = a.float64();
      const double y = b.float64();
      return x != x || y != y ? Ordering::unordered : order_of(x, y);
    }
  }
  ENTITABLE_CHECK(false);
}

Result<void> check_value(const ValueView& value, std::string_view property) {
  switch (value.type()) {
    case EdmType::string:
      if (!string_fits(value.string())) return Error(ErrorCode::property_value_too_large);
      return {};
    case EdmType::binary:
      if (value.binary().size() > limits::binary_bytes_max) {
        return Error(ErrorCode::property_value_too_large);
      }
      return {};
    case EdmType::date_time: {
      const Result<Ticks> ticks = check_date_time_range(value.date_time(), property);
      if (!ticks.ok()) return ticks.error();
      return {};
    }
    case EdmType::boolean:
    case EdmType::float64:
    case EdmType::guid:
    case EdmType::int32:
    case EdmType::int64:
      return {};
  }
  ENTITABLE_CHECK(false);
}

Result<Value> parse_value(EdmType type, std::string_view text, std::string_view property) {
  switch (type) {
    case EdmType::string:
      return parse_string(text, property);
    case EdmType::binary:
      return parse_binary(text, property);
    case EdmType::boolean:
      return value_or_error(parse_boolean(text), Value::of_boolean);
    case EdmType::date_time:
      return parse_date_time_value(text, property);
    case EdmType::float64:
      return value_or_error(parse_edm_double(text), Value::of_double);
    case EdmType::guid:
      return parse_guid_value(text);
    case EdmType::int32:
      return value_or_error(parse_int32(text), Value::of_int32);
    case EdmType::int64:
      return value_or_error(parse_int64(text), Value::of_int64);
  }
  ENTITABLE_CHECK(false);
}

void append_value_text(std::string& out, const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
      out.append(value.string());
      return;
    case EdmType::binary:
      return append_base64(out, value.binary());
    case EdmType::boolean:
      out.append(value.boolean() ? "true" : "false");
      return;
    case EdmType::date_time: {
      DateTimeBuffer buffer;
      out.append(write_date_time(value.date_time(), buffer));
      return;
    }
    case EdmType::float64:
      return append_text(out, value.float64());
    case EdmType::guid: {
      Guid guid;
      ENTITABLE_CHECK(value.guid_bytes().size() == guid.size());
      std::memcpy(guid.data(), value.guid_bytes().data(), guid.size());
      out.append(guid_text(guid));
      return;
    }
    case EdmType::int32:
      return append_text(out, value.int32());
    case EdmType::int64:
      return append_text(out, value.int64());
  }
  ENTITABLE_CHECK(false);
}

std::string value_text(const ValueView& value) {
  std::string text;
  append_value_text(text, value);
  return text;
}

}  // namespace entitable
