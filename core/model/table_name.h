// Table names: ^[A-Za-z][A-Za-z0-9]{2,62}$, compared without case, spelling preserved.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace entitable {

class TableName {
 public:
  // Reserved "tables" in any case: InvalidInput. Length outside 3..63: OutOfRangeInput "The
  // specified resource name length is not within the permissible limits." Bad characters:
  // InvalidResourceName. In this order.
  static Result<TableName> parse(std::string_view text);

  const std::string& text() const { return text_; }
  const std::string& folded() const { return folded_; }  // lower case: identity and listing order

 private:
  TableName() = default;
  std::string text_;
  std::string folded_;
};

// The folded form of any text, for look-ups of names that may not be valid (ASCII lower case).
std::string fold_table_name(std::string_view text);
// The order of a folded name and of fold_table_name(text): negative, zero, positive.
int compare_folded(std::string_view folded, std::string_view text);

}  // namespace entitable
