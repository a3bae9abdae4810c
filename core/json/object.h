// The members of a parsed JSON object.
#pragma once

#include <cstdint>
#include <forward_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace entitable::json {

enum class Kind : std::uint8_t { null, boolean, number, string, structure };

struct Member {
  std::string_view name;  // WTF-8
  Kind kind;
  // A number: its text (an integer within 64 bits in canonical form). A string: its characters in
  // WTF-8. A boolean: "true" or "false". Otherwise empty: the content of an array or object is
  // checked and dropped.
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

  std::string_view keep(std::string text) { return decoded.emplace_front(std::move(text)); }
};

}  // namespace entitable::json
