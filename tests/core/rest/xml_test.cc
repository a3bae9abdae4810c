#include "core/rest/xml.h"

#include "tests/support/catch.h"

using namespace entitable;
using namespace entitable::rest;

namespace {

// Prints a tree as name=text[children].
std::string tree(const XmlElement& element) {
  std::string text = element.name;
  if (!element.text.empty()) text += "=" + element.text;
  if (element.children.empty()) return text;
  text += "[";
  for (const XmlElement& child : element.children) {
    text += (text.back() == '[' ? "" : " ") + tree(child);
  }
  return text + "]";
}

std::string parsed(std::string_view document) {
  const auto root = parse_xml(document);
  if (root.ok()) return tree(*root);
  CHECK(root.error() == Error(ErrorCode::invalid_xml_document));
  return "refused";
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

}  // namespace

TEST_CASE("elements hold text or elements") {
  CHECK(parsed("<a/>") == "a");
  CHECK(parsed("<a />") == "a");
  CHECK(parsed("<a></a >") == "a");
  CHECK(parsed("<a>x</a>") == "a=x");
  CHECK(parsed("<a> x\ty </a>") == "a= x\ty ");
  CHECK(parsed("<a> <b>1</b>\r\n<c/> <b>2</b> </a>") == "a[b=1 c b=2]");
  CHECK(parsed("<m:error_1.x-y xmlns:m='u'>1</m:error_1.x-y>") == "m:error_1.x-y=1");
  CHECK(parsed("<\xC3\xA9>\xF0\x9F\x98\x80</\xC3\xA9>") == "\xC3\xA9=\xF0\x9F\x98\x80");
}

TEST_CASE("text around the root and between elements is dropped") {
  CHECK(parsed("\xEF\xBB\xBF<a/>") == "a");
  CHECK(parsed("<?xml version=\"1.0\" encoding=\"utf-8\"?><a/>") == "a");
  CHECK(parsed("\xEF\xBB\xBF<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n<a/>\n") ==
        "a");
  CHECK(parsed("<!-- x - <y> & --><?pi some ?><a><!---->1<?pi?>2</a><!-- z -->") == "a=12");
  CHECK(parsed("<a b='1' c = \"2 > 1 &amp; '\"><d e='&#65;'/></a>") == "a[d]");
}

TEST_CASE("entities are the five predefined ones and numeric characters") {
  CHECK(parsed("<a>&lt;&gt;&amp;&quot;&apos;</a>") == "a=<>&\"'");
  CHECK(parsed("<a>&#65;&#x41;&#x4a;&#x4A;&#128512;</a>") == "a=AAJJ\xF0\x9F\x98\x80");
  CHECK(parsed("<a>&amp;lt;</a>") == "a=&lt;");
  CHECK(parsed("<a><![CDATA[<b>&amp;]]]]><![CDATA[>]]></a>") == "a=<b>&amp;]]>");
  for (const char* wrong : {"&nbsp;", "&", "&;", "&#;", "&#x;", "&#xG;", "&#6A;", "&lt", "& lt;",
                            "&#0;", "&#31;", "&#xD800;", "&#xDFFF;", "&#xFFFE;", "&#x110000;",
                            "&#99999999999999999999;", "&#X41;", "&LT;"}) {
    CAPTURE(wrong);
    CHECK(parsed("<a>" + std::string(wrong) + "</a>") == "refused");
    CHECK(parsed("<a b='" + std::string(wrong) + "'/>") == "refused");
  }
}

TEST_CASE("line ends become LF") {
  CHECK(parsed("<a>1\r\n2\r3\n4</a>") == "a=1\n2\n3\n4");
  CHECK(parsed("<a>1&#13;2</a>") == "a=1\r2");
  CHECK(parsed("<a>\r</a>") == "a=\n");
}

TEST_CASE("invalid documents are rejected") {
  for (const char* wrong : {"",
                            " ",
                            "x",
                            "<",
                            "<a",
                            "<a>",
                            "<a/",
                            "<a></b>",
                            "<a></a",
                            "<a></a></a>",
                            "<a/><b/>",
                            "<a/>x",
                            "x<a/>",
                            "</a>",
                            "<a><b></a></b>",
                            "< a/>",
                            "<1/>",
                            "<-a/>",
                            "<a b/>",
                            "<a b=1/>",
                            "<a b='1/>",
                            "<a b='<'/>",
                            "<a b='1'c='2'/>",
                            "<a b='1' b='2'/>",
                            "<a b='1\"/>",
                            "<a>]]></a>",
                            "<a><!-- -- --></a>",
                            "<a><!-- </a>",
                            "<!-->-><a/>",
                            "<a><![CDATA[</a>",
                            "<a><?xml version='1.0'?></a>",
                            "<a><? pi?></a>",
                            "<a><?pi</a>",
                            "<a><!b></a>",
                            " <?xml version='1.0'?><a/>",
                            "<?xml?><a/>",
                            "<?xml version='2.0'?><a/>",
                            "<?xml encoding='utf-8'?><a/>",
                            "<?xml version='1.0'encoding='utf-8'?><a/>",
                            "<?xml version='1.0' encoding='utf-16'?><a/>",
                            "<?xml version='1.0'><a/>",
                            "<!DOCTYPE a><a/>",
                            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
                            "<a>1<b/></a>",
                            "<a><b/>&#65;</a>",
                            "<a>\x01</a>",
                            "<a>\xEF\xBF\xBF</a>",
                            "<a>\xFF</a>",
                            "<a>\xED\xA0\x80</a>",
                            "\xEF\xBB\xBF\xEF\xBB\xBF<a/>",
                            "{\"a\":1}"}) {
    CAPTURE(wrong);
    CHECK(parsed(wrong) == "refused");
  }
  CHECK(parsed(std::string_view("<a>\0</a>", 8)) == "refused");
  CHECK(parsed(std::string_view("<\0a\0/\0>\0", 8)) == "refused");  // UTF-16
}

TEST_CASE("depth and number of elements are limited") {
  const auto nested = [](std::size_t depth) {
    return repeated("<a>", depth) + repeated("</a>", depth);
  };
  CHECK(parsed(nested(xml_depth_max)) != "refused");
  CHECK(parsed(nested(xml_depth_max + 1)) == "refused");
  CHECK(parsed(repeated("<a>", 1'000'000)) == "refused");
  CHECK(parsed("<r>" + repeated("<a/>", xml_elements_max - 1) + "</r>") != "refused");
  CHECK(parsed("<r>" + repeated("<a/>", xml_elements_max) + "</r>") == "refused");
}

TEST_CASE("children are found by name") {
  const auto root = parse_xml("<a><b>1</b><c>2</c><b>3</b></a>");
  REQUIRE(root.ok());
  REQUIRE(root->find("b") != nullptr);
  CHECK(root->find("b")->text == "1");
  CHECK(root->find("c")->text == "2");
  CHECK(root->find("B") == nullptr);
}

TEST_CASE("only XML's blanks are blanks") {
  CHECK(trim_xml_whitespace(" \t\r\n a b \n") == "a b");
  CHECK(trim_xml_whitespace(" \n ").empty());
  CHECK(trim_xml_whitespace("\xC2\xA0") == "\xC2\xA0");
}

TEST_CASE("a written document is parsed back") {
  const std::string text = "a<b>&\"'\r\n\t]]> \xF0\x9F\x98\x80";
  XmlWriter xml;
  xml.open("r");
  xml.element("a", text);
  xml.empty("b");
  xml.element("c", "");
  xml.close();
  const std::string document = xml.finish();
  CHECK(document ==
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><r><a>a&lt;b&gt;&amp;\"'&#xD;\n\t]]&gt; "
        "\xF0\x9F\x98\x80</a><b /><c></c></r>");
  const auto root = parse_xml(document);
  REQUIRE(root.ok());
  CHECK(root->find("a")->text == text);
}

TEST_CASE("what XML cannot hold is replaced") {
  std::string out;
  append_xml_text(out, std::string_view("a\0\x1F\xEF\xBF\xBE\xED\xA0\x80z", 10));
  CHECK(out == "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
}
