// Placeholders for lone surrogate escapes (\ud800). RFC 8259 allows such escapes and JavaScript
// strings may hold lone surrogates, but nlohmann/json rejects them. They are therefore replaced
// before parsing and restored afterwards:
//
//   SurrogatePlaceholders lone(text);  // replaces each lone surrogate escape by \ufffd
//   parse(lone.text());
//   lone.restore(string);              // for every string of the document, in order
//
// Text without surrogate escapes (nearly all text) is scanned once and not copied.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace entitable::json {

class SurrogatePlaceholders {
 public:
  explicit SurrogatePlaceholders(std::string_view text);  // REQUIRES: `text` outlives this object

  std::string_view text() const { return found_ ? std::string_view(replaced_text_) : original_; }

  // Replaces each U+FFFD by what the original text had there: a lone surrogate, or U+FFFD itself.
  // REQUIRES: called once for every string of the document, including names, in the order of the
  // text.
  void restore(std::string& decoded);

 private:
  void replace_lone_surrogates();

  std::string_view original_;
  bool found_ = false;
  std::string replaced_text_;
  std::vector<char16_t> originals_;  // one for each U+FFFD in text(), in order
  std::size_t restored_ = 0;
};

}  // namespace entitable::json
