// A typed property value. Value owns its bytes; ValueView refers to bytes owned elsewhere (a packed
// row, a filter literal, a Value). A property is never null: null means that the property is
// absent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/date_time.h"
#include "core/model/edm.h"
#include "core/model/guid.h"
#include "core/model/limits.h"

namespace entitable {

// Cheap to copy. Valid only as long as the bytes that the view refers to.
class ValueView {
 public:
  static ValueView of_string(std::string_view wtf8) { return {EdmType::string, wtf8}; }
  static ValueView of_binary(std::string_view bytes) { return {EdmType::binary, bytes}; }
  static ValueView of_boolean(bool v) { return {EdmType::boolean, static_cast<std::int64_t>(v)}; }
  static ValueView of_date_time(Ticks v) { return {EdmType::date_time, v}; }
  static ValueView of_double(double v);
  static ValueView of_guid(std::string_view bytes16) { return {EdmType::guid, bytes16}; }
  static ValueView of_int32(std::int32_t v) { return {EdmType::int32, v}; }
  static ValueView of_int64(std::int64_t v) { return {EdmType::int64, v}; }

  EdmType type() const { return type_; }
  // REQUIRES for each accessor: type() is the type of its name.
  std::string_view string() const { return bytes_; }
  std::string_view binary() const { return bytes_; }
  std::string_view guid_bytes() const { return bytes_; }
  bool boolean() const { return number_ != 0; }
  Ticks date_time() const { return number_; }
  double float64() const;
  std::int32_t int32() const { return static_cast<std::int32_t>(number_); }
  std::int64_t int64() const { return number_; }

  // The bytes of a String, Binary or Guid; empty for other types.
  std::string_view bytes() const { return bytes_; }
  // The value of any other type as 64 bits (Double: bit pattern; Boolean: 0 or 1; Int32:
  // sign-extended). 0 for String, Binary and Guid.
  std::int64_t bits() const { return number_; }
  // Creates a view from bits() and bytes(), for codecs.
  static ValueView from_parts(EdmType type, std::int64_t bits, std::string_view bytes);

  // Returns whether type and value are equal bit by bit (NaN equals itself, and 0.0 is not -0.0).
  friend bool operator==(const ValueView& a, const ValueView& b) {
    return a.type_ == b.type_ && a.number_ == b.number_ && a.bytes_ == b.bytes_;
  }

 private:
  ValueView(EdmType type, std::string_view bytes) : type_(type), bytes_(bytes) {}
  ValueView(EdmType type, std::int64_t number) : type_(type), number_(number) {}
  EdmType type_;
  std::int64_t number_ = 0;
  std::string_view bytes_;
};

class Value {
 public:
  explicit Value(const ValueView& view)
      : type_(view.type()), number_(view.bits()), bytes_(view.bytes()) {}
  static Value of_string(std::string_view wtf8) { return Value(ValueView::of_string(wtf8)); }
  static Value of_binary(std::string_view bytes) { return Value(ValueView::of_binary(bytes)); }
  static Value of_boolean(bool v) { return Value(ValueView::of_boolean(v)); }
  static Value of_date_time(Ticks v) { return Value(ValueView::of_date_time(v)); }
  static Value of_double(double v) { return Value(ValueView::of_double(v)); }
  static Value of_guid(const Guid& guid);
  static Value of_int32(std::int32_t v) { return Value(ValueView::of_int32(v)); }
  static Value of_int64(std::int64_t v) { return Value(ValueView::of_int64(v)); }

  EdmType type() const { return type_; }
  ValueView view() const { return ValueView::from_parts(type_, number_, bytes_); }

  friend bool operator==(const Value& a, const Value& b) { return a.view() == b.view(); }

 private:
  EdmType type_;
  std::int64_t number_ = 0;
  std::string bytes_;
};

// The result of comparing two values of one type as $filter does: String by UTF-16 unit, Boolean
// false < true, numbers numerically (-0.0 equals 0.0), DateTime by time, Guid and Binary by bytes
// (a prefix is less than the longer value). `unordered`: at least one of the values is NaN.
enum class Ordering : std::int8_t { less, equal, greater, unordered };
// REQUIRES: a.type() == b.type().
Ordering compare_values(const ValueView& a, const ValueView& b);

// Checks the limits of one value. Errors: PropertyValueTooLarge for a String or Binary that is too
// long; OutOfRangeInput, whose message names `property`, for a DateTime outside its range.
// REQUIRES: is_wtf8() of a String.
Result<void> check_value(const ValueView& value, std::string_view property);

// A fast check. True guarantees that check_value() accepts the value; false is inconclusive.
inline bool is_trivially_valid(const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
    case EdmType::binary:
      return value.bytes().size() <= limits::string_units_max;  // a unit takes at least one byte
    case EdmType::date_time:
      return is_date_time_in_range(value.date_time());
    case EdmType::boolean:
    case EdmType::float64:
    case EdmType::guid:
    case EdmType::int32:
    case EdmType::int64:
      return true;
  }
  return false;
}

// Parses the text of a value of a known type, as requests contain it: Int32, Int64, Double ("1.5",
// "NaN", "Infinity", "-Infinity"), Boolean ("true", "false"), DateTime, Guid, Binary (base64),
// String (WTF-8). Errors: text that is not of this type is InvalidInput "An error occurred while
// processing this request."; a value over its limits has the error of check_value().
Result<Value> parse_value(EdmType type, std::string_view text, std::string_view property);
// Returns a value as the service writes it (Double as "3.0", Guid in lower case, Binary in base64).
std::string value_text(const ValueView& value);
void append_value_text(std::string& out, const ValueView& value);

}  // namespace entitable
