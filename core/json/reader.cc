#include "core/json/reader.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json/lone_surrogates.h"

namespace entitable::json {
namespace {

using Parser = nlohmann::json;

constexpr int number_overflow = 406;  // nlohmann's number for 1e400

// Receives the events of the text. What is inside of a member's array or object is let pass.
class Members {
 public:
  explicit Members(LoneSurrogates& lone) : lone_(lone) { members_.reserve(usual_members); }

  bool null() { return add(Kind::null, {}); }
  bool boolean(bool value) { return add(Kind::boolean, value ? "true" : "false"); }
  // Only a number with a sign comes this way, so 0 was written -0.
  bool number_integer(Parser::number_integer_t value) {
    return add(Kind::number, value == 0 ? "-0" : std::to_string(value));
  }
  bool number_unsigned(Parser::number_unsigned_t value) {
    return add(Kind::number, std::to_string(value));
  }
  bool number_float(Parser::number_float_t, const std::string& text) {
    return add(Kind::number, text);
  }
  bool string(std::string& text) {
    lone_.restore(text);
    return add(Kind::string, std::move(text));
  }
  bool binary(Parser::binary_t&) { return false; }  // JSON has none

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

  Result<std::vector<Member>> take(bool complete) {
    if (!complete) return error_;
    return std::move(members_);
  }

 private:
  bool add(Kind kind, std::string text) {
    if (depth_ == 0) return false;  // a document that is no object
    if (depth_ == 1) members_.push_back(Member{std::move(name_), kind, std::move(text)});
    return true;
  }
  bool open() {
    const bool added = add(Kind::structure, {});
    ++depth_;
    return added;
  }

  static constexpr std::size_t usual_members = 24;

  LoneSurrogates& lone_;
  std::size_t depth_ = 0;
  std::string name_;
  std::vector<Member> members_;
  Error error_ = Error(Code::invalid_input);
};

}  // namespace

Result<std::vector<Member>> read_object(std::string_view text) {
  // The parser takes it for the end of the text.
  if (text.find('\0') != std::string_view::npos) return Error(Code::invalid_input);
  LoneSurrogates lone(text);
  Members members(lone);
  const std::string_view disguised = lone.text();
  const bool complete = Parser::sax_parse(disguised.begin(), disguised.end(), &members);
  return members.take(complete);
}

}  // namespace entitable::json
