#include "core/model/table_name.h"

#include <algorithm>

#include "core/base/utf8.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_letter_or_digit(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

}  // namespace

Result<TableName> TableName::parse(std::string_view text) {
  TableName name;
  name.text_ = text;
  name.folded_ = fold_table_name(text);
  if (name.folded_ == "tables") return Error(Code::invalid_input);
  const std::size_t units = utf16_units(text);
  if (units < limits::table_name_units_min || units > limits::table_name_units_max) {
    return Error(Code::out_of_range_input,
                 "The specified resource name length is not within the permissible limits.");
  }
  if (!is_letter(text.front()) || !std::all_of(text.begin(), text.end(), is_letter_or_digit)) {
    return Error(Code::invalid_resource_name);
  }
  return name;
}

std::string fold_table_name(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return folded;
}

}  // namespace entitable
