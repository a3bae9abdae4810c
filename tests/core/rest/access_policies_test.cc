#include "core/rest/access_policies.h"

#include "tests/support/catch.h"

using namespace entitable;
using namespace entitable::rest;

namespace {

constexpr const char* declaration = R"(<?xml version="1.0" encoding="utf-8"?>)";

Ticks ticks_of(const char* text) {
  const auto ticks = parse_date_time(text, {});
  REQUIRE(ticks.ok());
  return *ticks;
}

std::string signed_identifiers(const std::string& inner) {
  return "<SignedIdentifiers>" + inner + "</SignedIdentifiers>";
}

// The document with one policy, whose AccessPolicy element contains `terms`.
std::string with_terms(const std::string& terms) {
  return signed_identifiers("<SignedIdentifier><Id>p</Id><AccessPolicy>" + terms +
                            "</AccessPolicy></SignedIdentifier>");
}

std::string with_id(const std::string& id) {
  return "<SignedIdentifier><Id>" + id + "</Id><AccessPolicy/></SignedIdentifier>";
}

std::vector<AccessPolicy> policies_of(std::string_view body) {
  const auto policies = parse_access_policies(body);
  REQUIRE(policies.ok());
  return *policies;
}

ErrorCode error_of(std::string_view body) {
  const auto policies = parse_access_policies(body);
  REQUIRE_FALSE(policies.ok());
  return policies.error().code;
}

}  // namespace

TEST_CASE("the document of the specification is parsed and printed") {
  const std::string document =
      std::string(declaration) +
      "<SignedIdentifiers><SignedIdentifier><Id>policy1</Id><AccessPolicy>"
      "<Start>2024-01-01T00:00:00.0000000Z</Start><Expiry>2030-01-01T00:00:00.0000000Z</Expiry>"
      "<Permission>raud</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
  const auto policies = policies_of(document);
  CHECK(policies == std::vector<AccessPolicy>{
                        {"policy1", ticks_of("2024-01-01"), ticks_of("2030-01-01"), "raud"}});
  CHECK(access_policies_document(policies) == document);
  CHECK(policies_of("\xEF\xBB\xBF" + document) == policies);
}

TEST_CASE("an empty body and an empty element mean no policies") {
  CHECK(policies_of("").empty());
  CHECK(policies_of("<SignedIdentifiers/>").empty());
  CHECK(policies_of("<SignedIdentifiers> </SignedIdentifiers>").empty());
  CHECK(access_policies_document({}) == std::string(declaration) + "<SignedIdentifiers />");
}

TEST_CASE("start, expiry and permission may be absent") {
  const std::vector<AccessPolicy> bare = {{"p", {}, {}, {}}};
  CHECK(policies_of(with_terms("")) == bare);
  CHECK(policies_of(with_terms("<Start/><Expiry> </Expiry><Permission></Permission>")) == bare);
  CHECK(policies_of(signed_identifiers("<SignedIdentifier><Id>p</Id></SignedIdentifier>")) == bare);
  CHECK(access_policies_document(bare) == std::string(declaration) + with_terms(""));
  CHECK(policies_of(with_terms("<Permission>r</Permission>"))[0].permission == "r");
  CHECK_FALSE(policies_of(with_terms("<Permission>r</Permission>"))[0].expiry.has_value());
}

TEST_CASE("policies keep their order, and child elements may have any order") {
  const auto policies = policies_of(signed_identifiers(
      "<SignedIdentifier><AccessPolicy><Permission>d</Permission><Start>2024-01-01</Start>"
      "</AccessPolicy><Id>z</Id></SignedIdentifier>" +
      with_id("a")));
  CHECK(policies ==
        std::vector<AccessPolicy>{{"z", ticks_of("2024-01-01"), {}, "d"}, {"a", {}, {}, {}}});
}

TEST_CASE("permissions are a subset of raud in that order") {
  for (const char* good : {"r", "a", "u", "d", "ra", "rd", "aud", "raud"}) {
    CAPTURE(good);
    CHECK(policies_of(with_terms("<Permission>" + std::string(good) + "</Permission>"))[0]
              .permission == good);
  }
  for (const char* wrong : {"ar", "rr", "x", "rw", "RAUD", "r a", "dr", "q"}) {
    CAPTURE(wrong);
    CHECK(error_of(with_terms("<Permission>" + std::string(wrong) + "</Permission>")) ==
          ErrorCode::invalid_xml_node_value);
  }
}

TEST_CASE("dates have the documented forms, and print with seven digits") {
  const struct {
    const char* text;
    const char* printed;
  } good[] = {{"2024-01-02", "2024-01-02T00:00:00.0000000Z"},
              {"2024-01-02T03:04Z", "2024-01-02T03:04:00.0000000Z"},
              {"2024-01-02T03:04+01:00", "2024-01-02T02:04:00.0000000Z"},
              {"2024-01-02T03:04:05Z", "2024-01-02T03:04:05.0000000Z"},
              {"2024-01-02T03:04:05-02:30", "2024-01-02T05:34:05.0000000Z"},
              {"2024-01-02T03:04:05.6Z", "2024-01-02T03:04:05.6000000Z"},
              {"2024-01-02T03:04:05.6789012Z", "2024-01-02T03:04:05.6789012Z"}};
  for (const auto& sample : good) {
    CAPTURE(sample.text);
    const auto policies =
        policies_of(with_terms("<Expiry>" + std::string(sample.text) + "</Expiry>"));
    CHECK(access_policies_document(policies).find("<Expiry>" + std::string(sample.printed) +
                                                  "</Expiry>") != std::string::npos);
  }
  for (const char* wrong :
       {"x", "2024", "2024-13-01", "2024-01-02Z", "2024-01-02T03:04", "2024-01-02T03:04:05",
        "2024-01-02T03:04:05.", "2024-01-02T03:04:05.Z", "2024-01-02T03:04:05.67890123Z",
        "2024-01-02 03:04:05Z", "2024-01-02T03:04:05Zx", "1600-12-31", "9999-12-31T23:59:59-01:00",
        "2024-02-30", "2024-01-02T03Z"}) {
    CAPTURE(wrong);
    CHECK(error_of(with_terms("<Start>" + std::string(wrong) + "</Start>")) ==
          ErrorCode::invalid_xml_node_value);
    CHECK(error_of(with_terms("<Expiry>" + std::string(wrong) + "</Expiry>")) ==
          ErrorCode::invalid_xml_node_value);
    CHECK(parse_policy_date(wrong) == std::nullopt);
  }
  CHECK(parse_policy_date("") == std::nullopt);
}

TEST_CASE("there are at most five policies") {
  std::string five;
  for (const char* id : {"a", "b", "c", "d", "e"}) five += with_id(id);
  CHECK(policies_of(signed_identifiers(five)).size() == 5);
  CHECK(error_of(signed_identifiers(five + with_id("f"))) == ErrorCode::invalid_xml_document);
}

TEST_CASE("an id is unique, has at most 64 units, and is taken literally") {
  CHECK(policies_of(signed_identifiers(with_id(" &lt;a&gt; ")))[0].id == " <a> ");
  CHECK(policies_of(signed_identifiers(with_id(std::string(64, 'a'))))[0].id.size() == 64);
  CHECK(error_of(signed_identifiers(with_id(std::string(65, 'a')))) ==
        ErrorCode::invalid_xml_node_value);
  std::string emoji;
  for (int i = 0; i < 32; ++i) emoji += "\xF0\x9F\x98\x80";  // two units each
  CHECK(policies_of(signed_identifiers(with_id(emoji)))[0].id == emoji);
  CHECK(error_of(signed_identifiers(with_id(emoji + "a"))) == ErrorCode::invalid_xml_node_value);
  CHECK(error_of(signed_identifiers(with_id("a") + with_id("a"))) ==
        ErrorCode::invalid_xml_document);
  CHECK(policies_of(signed_identifiers(with_id("a") + with_id("A"))).size() == 2);
}

TEST_CASE("other documents are rejected") {
  for (const std::string& wrong :
       {std::string("x"), std::string(" "), std::string("<SignedIdentifiers>"),
        std::string("<signedidentifiers/>"), std::string("<StorageServiceProperties/>"),
        signed_identifiers("x"), signed_identifiers("<Other/>"),
        signed_identifiers("<SignedIdentifier/>"),
        signed_identifiers("<SignedIdentifier><AccessPolicy/></SignedIdentifier>"),
        signed_identifiers(with_id("")),
        signed_identifiers("<SignedIdentifier><Id>a</Id><Id>b</Id></SignedIdentifier>"),
        signed_identifiers("<SignedIdentifier><Id><b/></Id></SignedIdentifier>"),
        signed_identifiers("<SignedIdentifier><Id>a</Id><Other/></SignedIdentifier>"),
        signed_identifiers("<SignedIdentifier><Id>a</Id><AccessPolicy>r</AccessPolicy>"
                           "</SignedIdentifier>"),
        with_terms("<Other/>"), with_terms("<Permission>r</Permission><Permission>r</Permission>"),
        with_terms("<Start><b/></Start>")}) {
    CAPTURE(wrong);
    CHECK(error_of(wrong) == ErrorCode::invalid_xml_document);
  }
}
