#include "core/rest/xml.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/utf8.h"

namespace entitable::rest {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view blanks = " \t\r\n";

bool is_blank(char c) {
  return blanks.find(c) != std::string_view::npos;
}

bool is_xml_character(char32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  return c < 0xD800 || (c >= 0xE000 && c <= 0x10FFFF && c != 0xFFFE && c != 0xFFFF);
}

bool is_xml_text(std::string_view text) {
  if (!is_wtf8(text)) return false;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_xml_character(next_code_point(text, at))) return false;
  }
  return true;
}

// Accepts every character beyond ASCII in a name. That is more than XML allows, but harmless: all
// known names are ASCII, so the caller rejects any other name.
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool continues_name(char c) {
  return starts_name(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

bool equal_ignoring_ascii_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&](char x, char y) { return lower(x) == lower(y); });
}

// Reads a document from front to back.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  bool looking_at(std::string_view piece) const { return text_.substr(at_, piece.size()) == piece; }
  bool try_consume(std::string_view piece) {
    if (!looking_at(piece)) return false;
    at_ += piece.size();
    return true;
  }
  bool skip_blanks() {
    const std::size_t start = at_;
    while (!at_end() && is_blank(text_[at_])) ++at_;
    return at_ != start;
  }
  // Returns the text before the next `end` and moves past `end`. Returns nothing if there is none.
  std::optional<std::string_view> until(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) return std::nullopt;
    const std::string_view piece = text_.substr(at_, found - at_);
    at_ = found + end.size();
    return piece;
  }
  // Returns the text before the next of these characters, or all text that is left.
  std::string_view before_any(std::string_view ends) {
    const std::size_t found = std::min(text_.find_first_of(ends, at_), text_.size());
    const std::string_view piece = text_.substr(at_, found - at_);
    at_ = found;
    return piece;
  }
  // Returns the name that starts here, or "" if none does.
  std::string_view name() {
    const std::size_t start = at_;
    if (!at_end() && starts_name(text_[at_])) {
      while (!at_end() && continues_name(text_[at_])) ++at_;
    }
    return text_.substr(start, at_ - start);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// Returns the character of an entity or character reference such as "lt", "#38" or "#x26".
std::optional<char32_t> entity(std::string_view name) {
  if (name == "lt") return U'<';
  if (name == "gt") return U'>';
  if (name == "amp") return U'&';
  if (name == "quot") return U'"';
  if (name == "apos") return U'\'';
  if (name.size() < 2 || name[0] != '#') return std::nullopt;
  const bool hex = name[1] == 'x';
  name.remove_prefix(hex ? 2 : 1);
  if (name.empty()) return std::nullopt;
  char32_t value = 0;
  for (const char c : name) {
    const char32_t digit = c >= '0' && c <= '9'          ? static_cast<char32_t>(c - '0')
                           : hex && c >= 'a' && c <= 'f' ? static_cast<char32_t>(c - 'a' + 10)
                           : hex && c >= 'A' && c <= 'F' ? static_cast<char32_t>(c - 'A' + 10)
                                                         : 99;
    if (digit == 99) return std::nullopt;
    value = value * (hex ? 16 : 10) + digit;
    if (value > 0x10FFFF) return std::nullopt;
  }
  if (!is_xml_character(value)) return std::nullopt;
  return value;
}

// Appends text with CR and CR LF replaced by LF (XML 1.0, section 2.11).
void append_lines(std::string& out, std::string_view raw) {
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\r') {
      out.push_back(raw[i]);
    } else if (i + 1 == raw.size() || raw[i + 1] != '\n') {
      out.push_back('\n');
    }
  }
}

// Parses a document. Functions that return bool return false if the document is malformed; the
// caller then stops.
class Parser {
 public:
  explicit Parser(std::string_view document) : scan_(document) {}

  std::optional<XmlElement> parse() {
    if (!declaration() || !outside() || !scan_.try_consume("<") || !start_tag())
      return std::nullopt;
    while (!open_.empty()) {
      if (!content()) return std::nullopt;
    }
    if (!outside() || !scan_.at_end()) return std::nullopt;
    return std::move(root_);
  }

 private:
  // Skips <?xml version="1.0" encoding="utf-8" standalone="yes"?>, if it is there.
  bool declaration() {
    if (!scan_.looking_at("<?xml ") && !scan_.looking_at("<?xml\t")) return true;
    scan_.try_consume("<?xml");
    bool first = true;
    while (true) {
      const bool blank = scan_.skip_blanks();
      if (scan_.try_consume("?>")) return !first;
      std::string name;
      std::string value;
      if (!blank || !attribute(name, value)) return false;
      if (first && (name != "version" || value.substr(0, 2) != "1.")) return false;
      if (name == "encoding" && !equal_ignoring_ascii_case(value, "utf-8") &&
          !equal_ignoring_ascii_case(value, "us-ascii")) {
        return false;
      }
      first = false;
    }
  }

  // Skips blanks, comments and processing instructions before or after the root. Does not skip a
  // DTD, which then fails as a malformed start tag.
  bool outside() {
    while (true) {
      scan_.skip_blanks();
      if (scan_.try_consume("<!--")) {
        if (!comment()) return false;
      } else if (scan_.try_consume("<?")) {
        if (!instruction()) return false;
      } else {
        return true;
      }
    }
  }

  bool comment() {
    const auto text = scan_.until("--");
    return text.has_value() && scan_.try_consume(">");
  }

  bool instruction() {
    const std::string_view target = scan_.name();
    return !target.empty() && !equal_ignoring_ascii_case(target, "xml") &&
           scan_.until("?>").has_value();
  }

  // Parses one tag, comment, instruction, reference or text inside the innermost open element.
  bool content() {
    if (scan_.at_end()) return false;
    if (scan_.try_consume("</")) return end_tag();
    if (scan_.try_consume("<!--")) return comment();
    if (scan_.try_consume("<![CDATA[")) {
      const auto text = scan_.until("]]>");
      if (text.has_value()) append_lines(open_.back().text, *text);
      return text.has_value();
    }
    if (scan_.try_consume("<?")) return instruction();
    if (scan_.try_consume("<")) return start_tag();
    if (scan_.try_consume("&")) return reference(open_.back().text);
    const std::string_view text = scan_.before_any("<&");
    append_lines(open_.back().text, text);
    return text.find("]]>") == std::string_view::npos;
  }

  bool reference(std::string& out) {
    const auto name = scan_.until(";");
    const auto character = name.has_value() ? entity(*name) : std::nullopt;
    if (character.has_value()) append_code_point(out, *character);
    return character.has_value();
  }

  // Parses a start tag whose '<' has been read.
  bool start_tag() {
    const std::string_view name = scan_.name();
    if (name.empty() || open_.size() == xml_depth_max || ++elements_ > xml_elements_max) {
      return false;
    }
    std::vector<std::string> attributes;
    while (true) {
      const bool blank = scan_.skip_blanks();
      const bool closed = scan_.try_consume("/>");
      if (closed || scan_.try_consume(">")) {
        open_.push_back({std::string(name), {}, {}});
        return !closed || close();
      }
      std::string attribute_name;
      std::string value;
      if (!blank || !attribute(attribute_name, value)) return false;
      if (std::find(attributes.begin(), attributes.end(), attribute_name) != attributes.end() ||
          attributes.size() == xml_depth_max) {
        return false;
      }
      attributes.push_back(std::move(attribute_name));
    }
  }

  bool attribute(std::string& name, std::string& value) {
    name = scan_.name();
    scan_.skip_blanks();
    if (name.empty() || !scan_.try_consume("=")) return false;
    scan_.skip_blanks();
    const std::string_view quote = scan_.looking_at("'") ? "'" : "\"";
    if (!scan_.try_consume(quote)) return false;
    while (!scan_.try_consume(quote)) {
      if (scan_.at_end() || scan_.looking_at("<")) return false;
      if (scan_.try_consume("&")) {
        if (!reference(value)) return false;
      } else {
        append_lines(value, scan_.before_any(quote == "'" ? "'<&" : "\"<&"));
      }
    }
    return true;
  }

  // Parses an end tag whose "</" has been read.
  bool end_tag() {
    if (scan_.name() != open_.back().name) return false;
    scan_.skip_blanks();
    return scan_.try_consume(">") && close();
  }

  bool close() {
    XmlElement element = std::move(open_.back());
    open_.pop_back();
    if (!element.children.empty()) {
      if (element.text.find_first_not_of(blanks) != std::string::npos) return false;
      element.text.clear();
    }
    (open_.empty() ? root_.emplace() : open_.back().children.emplace_back()) = std::move(element);
    return true;
  }

  Scanner scan_;
  std::vector<XmlElement> open_;  // the open elements, the root first
  std::size_t elements_ = 0;
  std::optional<XmlElement> root_;
};

}  // namespace

const XmlElement* XmlElement::find(std::string_view child) const {
  for (const XmlElement& element : children) {
    if (element.name == child) return &element;
  }
  return nullptr;
}

Result<XmlElement> parse_xml(std::string_view document) {
  if (document.substr(0, byte_order_mark.size()) == byte_order_mark) {
    document.remove_prefix(byte_order_mark.size());
  }
  if (!is_xml_text(document)) return Error(ErrorCode::invalid_xml_document);
  std::optional<XmlElement> root = Parser(document).parse();
  if (!root.has_value()) return Error(ErrorCode::invalid_xml_document);
  return std::move(*root);
}

std::string_view trim_xml_whitespace(std::string_view text) {
  const std::size_t start = text.find_first_not_of(blanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(blanks) - start + 1);
}

void append_xml_text(std::string& out, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t c = next_code_point(text, at);
    if (c == U'<') {
      out += "&lt;";
    } else if (c == U'>') {
      out += "&gt;";
    } else if (c == U'&') {
      out += "&amp;";
    } else if (c == U'\r') {
      out += "&#xD;";  // a reader would turn an unescaped CR into LF
    } else if (!is_xml_character(c)) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(start, at - start);
    }
  }
}

void XmlWriter::open(std::string_view name) {
  text_ += "<";
  text_ += name;
  text_ += ">";
  open_.emplace_back(name);
}

void XmlWriter::close() {
  ENTITABLE_CHECK(!open_.empty());
  text_ += "</" + open_.back() + ">";
  open_.pop_back();
}

void XmlWriter::element(std::string_view name, std::string_view text) {
  open(name);
  append_xml_text(text_, text);
  close();
}

void XmlWriter::empty(std::string_view name) {
  text_ += "<";
  text_ += name;
  text_ += " />";
}

std::string XmlWriter::finish() {
  ENTITABLE_CHECK(open_.empty());
  return std::move(text_);
}

}  // namespace entitable::rest
