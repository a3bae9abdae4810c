#include "core/model/table_name.h"

#include <algorithm>

#include "core/base/utf8.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
char fold(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool is_letter_or_digit(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

}  // namespace

Result<TableName> TableName::parse(std::string_view text) {
  TableName name;
  name.text_ = text;
  name.folded_ = fold_table_name(text);
  if (name.folded_ == "tables") return Error(ErrorCode::invalid_input);
  const std::size_t units = utf16_length(text);
  if (units < limits::table_name_units_min || units > limits::table_name_units_max) {
    return Error(ErrorCode::out_of_range_input,
                 "The specified resource name length is not within the permissible limits.");
  }
  if (!is_letter(text.front()) || !std::all_of(text.begin(), text.end(), is_letter_or_digit)) {
    return Error(ErrorCode::invalid_resource_name);
  }
  return name;
}

std::string fold_table_name(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = fold(c);
  return folded;
}

int compare_folded(std::string_view folded, std::string_view text) {
  const std::size_t shorter = std::min(folded.size(), text.size());
  for (std::size_t i = 0; i < shorter; ++i) {
    const char c = fold(text[i]);
    if (folded[i] != c) {
      return static_cast<unsigned char>(folded[i]) < static_cast<unsigned char>(c) ? -1 : 1;
    }
  }
  return folded.size() == text.size() ? 0 : folded.size() < text.size() ? -1 : 1;
}

}  // namespace entitable
