// Appends JSON text. Numbers are written as the text that they are given in, since the service
// tells 3 from 3.0.
#pragma once

#include <string>
#include <string_view>

namespace entitable::json {

// A string with its quotes, on one line, ASCII left as it is. WTF-8 in; a lone surrogate comes out
// as an escape (\ud800), since the text of a message must be UTF-8.
void append_string(std::string& out, std::string_view wtf8);

// Writes an object or array a member at a time: puts the commas.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(&out) {}

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  void name(std::string_view wtf8);
  void raw_name(std::string_view json);  // a name with what follows it: "age":
  void string(std::string_view wtf8);
  void raw(std::string_view json);  // a number, true, false, null, or finished JSON
  std::string& raw();               // to which the caller appends the same

 private:
  void write_separator();
  std::string* out_;
  bool first_ = true;  // of the innermost object or array
};

}  // namespace entitable::json
