// Table names: ^[A-Za-z][A-Za-z0-9]{2,62}$, compared case-insensitively, with spelling preserved.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace entitable {

class TableName {
 public:
  // Parses a name. Checks, in this order: reserved "tables" in any case (InvalidInput); length
  // outside 3..63 (OutOfRangeInput "The specified resource name length is not within the
  // permissible limits."); invalid characters (InvalidResourceName).
  static Result<TableName> parse(std::string_view text);
  // Returns the empty name, which hidden tables have.
  static TableName of_hidden_table() { return {}; }

  const std::string& text() const { return text_; }
  const std::string& folded() const { return folded_; }  // lower case; identifies and orders tables

 private:
  TableName() = default;
  std::string text_;
  std::string folded_;
};

// Returns any text folded (ASCII lower case), for lookups of names that may not be valid.
std::string fold_table_name(std::string_view text);
// Compares a folded name with fold_table_name(text): negative, zero or positive.
int compare_folded(std::string_view folded, std::string_view text);

}  // namespace entitable
