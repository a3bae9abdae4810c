// The members of a parsed JSON object.
#pragma once

#include <cstdint>
#include <forward_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace entitable::json {

enum class ValueKind : std::uint8_t { null, boolean, number, string, structure };

struct Member {
  std::string_view name;  // WTF-8
  ValueKind kind;
  // Number: its text. String: its characters, unescaped, in WTF-8. Boolean: "true" or "false".
  // Otherwise empty: the content of an array or object is only checked to be valid.
  std::string_view text;
};

// Member names and texts are views into the parsed text or into `decoded`, and are valid as long as
// both exist.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object(Object&&) = default;
  Object& operator=(Object&&) = default;

  std::vector<Member> members;  // in the order of the text
  std::forward_list<std::string> decoded;

  std::string_view keep_decoded_text(std::string text) {
    return decoded.emplace_front(std::move(text));
  }
};

}  // namespace entitable::json
