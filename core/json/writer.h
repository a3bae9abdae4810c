// Appends JSON text. Callers pass numbers as text, because the service distinguishes 3 from 3.0.
#pragma once

#include <string>
#include <string_view>

namespace entitable::json {

// Appends a string with its quotes. `wtf8` is WTF-8 (core/base/utf8.h). Escapes only what JSON
// requires, and lone surrogates (\ud800), because the output must be UTF-8.
void append_string(std::string& out, std::string_view wtf8);

// Writes an object or array member by member and inserts the commas.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(&out) {}

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  void name(std::string_view wtf8);
  void raw_name(std::string_view json);  // a name with its quotes and colon: "age":
  void string(std::string_view wtf8);
  void raw(std::string_view json);  // a number, true, false, null, or finished JSON
  std::string& raw();  // as raw(json), but the caller appends the value to the returned output

 private:
  void write_separator();
  std::string* out_;
  bool first_ = true;  // the next item needs no comma before it
};

}  // namespace entitable::json
