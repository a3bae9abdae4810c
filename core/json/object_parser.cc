#include "core/json/object_parser.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json/fast_object_parser.h"
#include "core/json/surrogate_placeholders.h"

namespace entitable::json {
namespace {

using Parser = nlohmann::json;

constexpr std::size_t typical_member_count = 24;

constexpr int number_overflow = 406;  // nlohmann's error id for numbers such as 1e400

// Receives the events of nlohmann/json's parser. Ignores what is inside a member's array or object.
class MemberCollector {
 public:
  explicit MemberCollector(SurrogatePlaceholders& lone) : lone_(lone) {
    object_.members.reserve(typical_member_count);
  }

  bool null() { return add(ValueKind::null, {}); }
  bool boolean(bool value) { return add(ValueKind::boolean, value ? "true" : "false"); }
  // The parser calls this only for numbers with a minus sign, so the text of a 0 was "-0".
  bool number_integer(Parser::number_integer_t value) {
    return add(ValueKind::number, value == 0 ? "-0" : std::to_string(value));
  }
  bool number_unsigned(Parser::number_unsigned_t value) {
    return add(ValueKind::number, std::to_string(value));
  }
  bool number_float(Parser::number_float_t, const std::string& text) {
    return add(ValueKind::number, text);
  }
  bool string(std::string& text) {
    lone_.restore(text);
    return add(ValueKind::string, std::move(text));
  }
  bool binary(Parser::binary_t&) { return false; }  // never called: JSON has no binary values

  bool key(std::string& name) {
    lone_.restore(name);
    if (depth_ == 1) name_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t) {
    if (depth_ > 0) return open();
    depth_ = 1;
    return true;
  }
  bool end_object() { return --depth_, true; }
  bool start_array(std::size_t) { return depth_ > 0 && open(); }
  bool end_array() { return end_object(); }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& problem) {
    if (problem.id == number_overflow) {
      error_.message = "An error occurred while processing this request.";
    }
    return false;
  }

  Result<Object> take(bool complete) {
    if (!complete) return error_;
    return std::move(object_);
  }

 private:
  bool add(ValueKind kind, std::string text) {
    if (depth_ == 0) return false;  // the document is not an object
    if (depth_ > 1) return true;
    const std::string_view name = object_.keep_decoded_text(std::move(name_));
    object_.members.push_back(Member{name, kind, object_.keep_decoded_text(std::move(text))});
    return true;
  }
  bool open() {
    const bool added = add(ValueKind::structure, {});
    ++depth_;
    return added;
  }

  SurrogatePlaceholders& lone_;
  std::size_t depth_ = 0;
  std::string name_;
  Object object_;
  Error error_ = Error(ErrorCode::invalid_input);
};

Result<Object> parse(std::string_view text) {
  // The parser would treat a NUL as the end of the text.
  if (text.find('\0') != std::string_view::npos) return Error(ErrorCode::invalid_input);
  SurrogatePlaceholders lone(text);
  MemberCollector collector(lone);
  const std::string_view replaced_text = lone.text();
  const bool complete = Parser::sax_parse(replaced_text.begin(), replaced_text.end(), &collector);
  return collector.take(complete);
}

}  // namespace

Result<Object> parse_object(std::string_view text) {
  Object object;
  object.members.reserve(typical_member_count);
  if (try_parse_simple_object(text, object)) return object;
  return parse(text);
}

}  // namespace entitable::json
