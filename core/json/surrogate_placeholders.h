// Lone surrogate escapes in JSON text (\ud800). RFC 8259 lets them be, a string of JavaScript may
// hold them, and the parser that we use refuses them. So they pass it in disguise:
//
//   SurrogatePlaceholders lone(text);      each lone one becomes \ufffd, all else stays as it is
//   parse(lone.text());
//   lone.restore(string);           for every string of the document, in its order
//
// Text without any (nearly all there is) is looked through once and not copied.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace entitable::json {

class SurrogatePlaceholders {
 public:
  explicit SurrogatePlaceholders(std::string_view text);  // which must outlive this

  std::string_view text() const { return found_ ? std::string_view(replaced_text_) : original_; }

  // Puts back what stood in place of U+FFFD: a surrogate, or U+FFFD itself. REQUIRES: every string
  // of the document is given once, names too, in the order of the text.
  void restore(std::string& decoded);

 private:
  void replace_lone_surrogates();

  std::string_view original_;
  bool found_ = false;
  std::string replaced_text_;
  std::vector<char16_t> originals_;  // one for each U+FFFD in text(), in its order
  std::size_t restored_ = 0;
};

}  // namespace entitable::json
