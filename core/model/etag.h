// ETag: the Timestamp in the service's weak entity tag form.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/date_time.h"

namespace entitable {

// W/"datetime'2020-07-24T14%3A34%3A48.4767Z'"
std::string etag_text(Ticks timestamp);
// The same into memory of the caller, which the result looks at.
using EtagBuffer = std::array<char, 46>;
std::string_view write_etag(Ticks timestamp, EtagBuffer& buffer);

// What a writer asks of the entity that is there.
class IfMatch {
 public:
  IfMatch() = default;                                     // no condition was given
  static IfMatch any() { return IfMatch(Kind::any, {}); }  // "*": it must exist
  // "*" or one weak tag W/"…"; anything else is InvalidInput with the service's text
  // "The etag value '…' specified in one of the request headers is not valid. Please make sure only
  // one etag value is specified and is valid." Empty text is no condition.
  static Result<IfMatch> parse(std::string_view text);

  bool has_condition() const { return kind_ != Kind::none; }
  // Whole-string comparison, as the service does it. True if no condition was given.
  bool matches(Ticks timestamp) const;

 private:
  enum class Kind { none, any, exact };
  IfMatch(Kind kind, std::string tag) : kind_(kind), tag_(std::move(tag)) {}
  Kind kind_ = Kind::none;
  std::string tag_;
};

}  // namespace entitable
