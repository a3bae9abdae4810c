// ETag: the Timestamp in the service's weak entity tag form.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/date_time.h"

namespace entitable {

// Returns W/"datetime'2020-07-24T14%3A34%3A48.4767Z'".
std::string etag_text(Ticks timestamp);
// Writes etag_text() to the caller's buffer. The result is a view of that buffer.
using EtagBuffer = std::array<char, 46>;
std::string_view write_etag(Ticks timestamp, EtagBuffer& buffer);

// A write's If-Match condition on the stored entity.
class IfMatch {
 public:
  IfMatch() = default;                                     // no condition
  static IfMatch any() { return IfMatch(Kind::any, {}); }  // "*": it must exist
  // Parses "*" or one weak tag W/"…". Empty text is no condition. Any other text is InvalidInput
  // with the service's message "The etag value '…' specified in one of the request headers is not
  // valid. Please make sure only one etag value is specified and is valid."
  static Result<IfMatch> parse(std::string_view text);

  bool has_condition() const { return kind_ != Kind::none; }
  // Returns whether the condition holds for a stored entity with this timestamp. Compares whole
  // strings, as the service does. True if there is no condition.
  bool matches(Ticks timestamp) const;

 private:
  enum class Kind { none, any, exact };
  IfMatch(Kind kind, std::string tag) : kind_(kind), tag_(std::move(tag)) {}
  Kind kind_ = Kind::none;
  std::string tag_;
};

}  // namespace entitable
