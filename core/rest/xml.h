// A strict reader and a writer for the small XML documents of the Table service. Their elements
// hold either text or other elements.
//
// We wrote our own because no library fits. The only one that Debian packages, that needs no
// run-time library and that compiles to wasm is rapidxml. It is unmaintained since 2009 and checks
// neither names nor end tags nor UTF-8.
//
// The reader requires one root, matching tags, UTF-8 and legal characters. CDATA counts as text. A
// byte order mark, the XML declaration, comments, processing instructions and attributes are
// checked but dropped, because they mean nothing in the service's documents. A DTD is an error. So
// the only entities are &lt; &gt; &amp; &quot; &apos; and character references, and no entity can
// expand.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace entitable::rest {

// Far more than any valid document of the service needs.
inline constexpr std::size_t xml_depth_max = 16;
inline constexpr std::size_t xml_elements_max = 1000;

struct XmlElement {
  std::string name;  // as written, with its namespace prefix
  std::string text;  // the text directly in the element; empty if it has children
  std::vector<XmlElement> children;

  // Returns the first child of that name, or nullptr.
  const XmlElement* find(std::string_view child) const;
  friend bool operator==(const XmlElement&, const XmlElement&) = default;
};

// Returns the root element. InvalidXmlDocument: the document breaks a rule above, exceeds a limit,
// or has text other than blanks between elements.
Result<XmlElement> parse_xml(std::string_view document);

// Returns `text` without XML's blanks (space, tab, CR, LF) around it.
std::string_view trim_xml_whitespace(std::string_view text);

// Writes a document, with its elements in the order of the calls. Characters that are illegal in
// XML become U+FFFD. REQUIRES: every open() has its close(), and texts are WTF-8
// (core/base/utf8.h).
class XmlWriter {
 public:
  XmlWriter() : text_(R"(<?xml version="1.0" encoding="utf-8"?>)") {}
  void open(std::string_view name);
  void close();
  void element(std::string_view name, std::string_view text);
  void empty(std::string_view name);  // writes <Name />
  std::string finish();

 private:
  std::string text_;
  std::vector<std::string> open_;
};

// Appends text that stands between tags, escaped. REQUIRES: `text` is WTF-8.
void append_xml_text(std::string& out, std::string_view text);

}  // namespace entitable::rest
