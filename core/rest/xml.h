// XML as the Table service's few small documents need it: elements that hold text or elements.
//
// Written here because none of the libraries at hand fits: the only one that is packaged for
// Debian, free of a run-time library and buildable for wasm is rapidxml, unmaintained since 2009;
// it checks neither names nor end tags nor UTF-8. What is needed is two pages.
//
// Read strictly: one root, matching tags, UTF-8, legal characters only. A byte order mark, an XML
// declaration, comments, processing instructions, CDATA and attributes are understood and left out
// (no document of the service means anything by them). There is no DTD, so the only entities are
// &lt; &gt; &amp; &quot; &apos; and characters by number; nothing can expand.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace entitable::rest {

// Far more than any document has that the service would take.
inline constexpr std::size_t xml_depth_max = 16;
inline constexpr std::size_t xml_elements_max = 1000;

struct XmlElement {
  std::string name;  // as written, with its prefix
  std::string text;  // what stands directly in it; empty if it has children
  std::vector<XmlElement> children;

  // The first child of that name, or nullptr.
  const XmlElement* find(std::string_view child) const;
  friend bool operator==(const XmlElement&, const XmlElement&) = default;
};

// The root. InvalidXmlDocument: not XML as above, deeper or larger than the limits, or text other
// than blanks between elements.
Result<XmlElement> parse_xml(std::string_view document);

// Without the blanks of XML (space, tab, CR, LF) around it.
std::string_view trimmed_xml(std::string_view text);

// Writes a document, elements in the order of the calls. Characters that XML cannot hold become
// U+FFFD. REQUIRES: every open() is closed, and texts are WTF-8.
class XmlWriter {
 public:
  XmlWriter() : text_(R"(<?xml version="1.0" encoding="utf-8"?>)") {}
  void open(std::string_view name);
  void close();
  void element(std::string_view name, std::string_view text);
  void empty(std::string_view name);  // <Name />
  std::string finish();

 private:
  std::string text_;
  std::vector<std::string> open_;
};

// Text between tags, escaped.
void append_xml_text(std::string& out, std::string_view text);

}  // namespace entitable::rest
