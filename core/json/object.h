// One JSON object whose members are scalars, as it was read.
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
  // A number: its text (of an integer within 64 bits the usual one). A string: its characters,
  // WTF-8. A boolean: "true" or "false". Otherwise empty: what is inside an array or object is
  // checked and dropped.
  std::string_view text;
};

// Names and texts look at the text that was read, or at what had to be decoded: they live as long
// as both.
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
