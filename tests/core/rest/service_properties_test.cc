#include "core/rest/service_properties.h"

#include "tests/support/catch.h"

using namespace entitable;
using namespace entitable::rest;

namespace {

constexpr const char* declaration = R"(<?xml version="1.0" encoding="utf-8"?>)";
constexpr const char* of_new_account =
    "<StorageServiceProperties>"
    "<Logging><Version>1.0</Version><Read>false</Read><Write>false</Write><Delete>false</Delete>"
    "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>"
    "<HourMetrics><Version>1.0</Version><Enabled>false</Enabled>"
    "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics>"
    "<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled>"
    "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics>"
    "<Cors /></StorageServiceProperties>";
constexpr const char* rule_of_specification =
    "<CorsRule><AllowedMethods>GET,PUT</AllowedMethods>"
    "<AllowedOrigins>https://a.example</AllowedOrigins><AllowedHeaders>x-ms-*</AllowedHeaders>"
    "<ExposedHeaders>*</ExposedHeaders><MaxAgeInSeconds>200</MaxAgeInSeconds></CorsRule>";

std::string properties(const std::string& sections) {
  return "<StorageServiceProperties>" + sections + "</StorageServiceProperties>";
}
std::string cors(const std::string& rules) {
  return properties("<Cors>" + rules + "</Cors>");
}
std::string element(const std::string& name, const std::string& text) {
  return "<" + name + ">" + text + "</" + name + ">";
}
std::string retention(const std::string& inner) {
  return element("RetentionPolicy", inner);
}
const std::string off = "<Enabled>false</Enabled>";
const std::string on = "<Enabled>true</Enabled>";

std::string logging(const std::string& retention_policy) {
  return properties(element("Logging",
                            "<Version>1.0</Version><Read>true</Read><Write>0</Write>"
                            "<Delete>1</Delete>" +
                                retention_policy));
}
std::string hour_metrics(const std::string& inner) {
  return properties(element("HourMetrics", inner));
}

// A valid CORS rule, but with `value` for the element `field`.
std::string rule(const std::string& field = "", const std::string& value = "") {
  std::string text;
  for (const auto& [name, usual] : {std::pair<std::string, std::string>{"AllowedMethods", "GET"},
                                    {"AllowedOrigins", "*"},
                                    {"AllowedHeaders", ""},
                                    {"ExposedHeaders", ""},
                                    {"MaxAgeInSeconds", "0"}}) {
    text += element(name, name == field ? value : usual);
  }
  return element("CorsRule", text);
}

std::string repeated(const std::string& piece, int times, const std::string& between = "") {
  std::string text;
  for (int i = 0; i < times; ++i) text += (i == 0 ? "" : between) + piece;
  return text;
}

ServicePropertiesChange change_of(std::string_view body) {
  const auto change = parse_service_properties(body);
  REQUIRE(change.ok());
  return *change;
}

std::string error_of(std::string_view body) {
  const auto change = parse_service_properties(body);
  if (change.ok()) return "accepted";
  switch (change.error().code) {
    case ErrorCode::invalid_xml_document:
      return "document";
    case ErrorCode::invalid_xml_node_value:
      return "value";
    case ErrorCode::missing_xml_node:
      return "missing";
    case ErrorCode::unsupported_xml_node:
      return "unsupported";
    default:
      return "other";
  }
}

}  // namespace

TEST_CASE("a new account has everything switched off") {
  CHECK(service_properties_document({}) == std::string(declaration) + of_new_account);
  CHECK(parse_stored_service_properties("") == ServiceProperties{});
  CHECK(parse_stored_service_properties(of_new_account) == ServiceProperties{});
}

TEST_CASE("properties are read back as they were written, in the service's order") {
  const std::string sections =
      "<Cors>" + std::string(rule_of_specification) + "</Cors>" +
      element("MinuteMetrics",
              retention(off) + "<IncludeAPIs>true</IncludeAPIs>" + on + "<Version>1.0</Version>") +
      element("HourMetrics", "<Version>1.0</Version>" + on + "<IncludeAPIs>false</IncludeAPIs>" +
                                 retention(on + "<Days>365</Days>")) +
      element("Logging",
              "<Delete>true</Delete><Version>2.0</Version><Read>false</Read>"
              "<Write>true</Write>" +
                  retention("<Days>1</Days>" + on));
  const ServiceProperties read = with_changes({}, change_of(properties(sections)));
  CHECK(read.logging == Logging{"2.0", false, true, true, {1}});
  CHECK(read.hour_metrics == Metrics{"1.0", false, {365}});
  CHECK(read.minute_metrics == Metrics{"1.0", true, {}});
  CHECK(read.cors ==
        std::vector<CorsRule>{{{"GET", "PUT"}, {"https://a.example"}, {"x-ms-*"}, {"*"}, 200}});
  const std::string document = service_properties_document(read);
  CHECK(parse_stored_service_properties(document) == read);
  CHECK(document ==
        std::string(declaration) +
            "<StorageServiceProperties><Logging><Version>2.0</Version><Read>false</Read>"
            "<Write>true</Write><Delete>true</Delete><RetentionPolicy><Enabled>true</Enabled>"
            "<Days>1</Days></RetentionPolicy></Logging><HourMetrics><Version>1.0</Version>"
            "<Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs><RetentionPolicy>"
            "<Enabled>true</Enabled><Days>365</Days></RetentionPolicy></HourMetrics><MinuteMetrics>"
            "<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>"
            "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics><Cors>" +
            rule_of_specification + "</Cors></StorageServiceProperties>");
}

TEST_CASE("a section that is absent is unchanged, an empty Cors clears the rules") {
  ServiceProperties all = with_changes({}, change_of(cors(rule())));
  all = with_changes(all, change_of(logging(retention(on + "<Days>7</Days>"))));
  CHECK(all.logging == Logging{"1.0", true, false, true, {7}});
  CHECK(all.cors.size() == 1);
  all = with_changes(all,
                     change_of(hour_metrics("<Version>1.0</Version>" + on +
                                            "<IncludeAPIs>true</IncludeAPIs>" + retention(off))));
  CHECK(all.hour_metrics.include_apis == true);
  CHECK(all.minute_metrics == Metrics{});
  CHECK(all.logging.reads);
  const ServiceProperties cleared = with_changes(all, change_of(properties("<Cors/>")));
  CHECK(cleared.cors.empty());
  CHECK(cleared.hour_metrics == all.hour_metrics);
}

TEST_CASE("an empty body or another document is rejected") {
  for (const std::string& wrong :
       {std::string(), std::string("x"), std::string("<StorageServiceProperties>"),
        std::string("<SignedIdentifiers/>"), std::string("<storageserviceproperties/>"),
        std::string("<StorageServiceProperties/>"), properties(""), properties("x"),
        properties("<Cors/><Cors/>"), properties("<Cors>x</Cors>"), hour_metrics("x"),
        logging(retention(off) + retention(off)), logging(retention(off + off)),
        cors("<CorsRule>x</CorsRule>")}) {
    CAPTURE(wrong);
    CHECK(error_of(wrong) == "document");
  }
}

TEST_CASE("unknown elements are not supported") {
  for (const std::string& wrong :
       {properties("<Other/>"), properties("<Metrics/>"),
        properties("<DefaultServiceVersion>2019-02-02</DefaultServiceVersion>"),
        logging(retention(off) + "<Other/>"), logging(retention(off + "<Other/>")),
        hour_metrics("<Version>1.0</Version><Reads/>" + off + retention(off)), cors("<Rule/>"),
        cors("<CorsRule><Other/></CorsRule>"), cors(rule("AllowedMethods", "<Method/>"))}) {
    CAPTURE(wrong);
    CHECK(error_of(wrong) == "unsupported");
  }
}

TEST_CASE("every child of logging and metrics is required") {
  CHECK(error_of(properties("<Logging/>")) == "missing");
  CHECK(error_of(logging("")) == "missing");
  CHECK(error_of(logging(retention(""))) == "missing");
  CHECK(error_of(hour_metrics("")) == "missing");
  CHECK(error_of(hour_metrics("<Version>1.0</Version>" + off)) == "missing");
  CHECK(error_of(hour_metrics(off + retention(off))) == "missing");
  CHECK(error_of(hour_metrics("<Version>1.0</Version>" + retention(off))) == "missing");
  CHECK(error_of(hour_metrics("<Version>1.0</Version>" + off + retention(off))) == "accepted");
  CHECK(error_of(properties("<MinuteMetrics/>")) == "missing");
}

TEST_CASE("true and false are case-insensitive") {
  const auto metrics = [](const std::string& enabled) {
    return hour_metrics("<Version>1.0</Version>" + element("Enabled", enabled) +
                        "<IncludeAPIs>False</IncludeAPIs>" + retention("<Enabled>FALSE</Enabled>"));
  };
  CHECK(with_changes({}, change_of(metrics("True"))).hour_metrics == Metrics{"1.0", false, {}});
  CHECK(error_of(metrics("TRUE")) == "accepted");
  CHECK(error_of(metrics("Truth")) == "value");
  CHECK(error_of(metrics("Yes")) == "value");
}

TEST_CASE("IncludeAPIs requires enabled metrics, Days requires enabled retention") {
  const auto metrics = [](const std::string& inner) {
    return error_of(hour_metrics("<Version>1.0</Version>" + inner + retention(off)));
  };
  CHECK(metrics(on) == "missing");
  CHECK(metrics(on + "<IncludeAPIs>true</IncludeAPIs>") == "accepted");
  CHECK(metrics(on + "<IncludeAPIs>maybe</IncludeAPIs>") == "value");
  CHECK(metrics(off + "<IncludeAPIs>false</IncludeAPIs>") == "unsupported");
  const auto days = [](const std::string& inner) { return error_of(logging(retention(inner))); };
  CHECK(days(on) == "missing");
  CHECK(days(off + "<Days>7</Days>") == "unsupported");
  CHECK(days(on + "<Days>1</Days>") == "accepted");
  CHECK(days(on + "<Days>365</Days>") == "accepted");
  for (const char* wrong : {"0", "366", "-1", "", "x", "1.0", "99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK(days(on + element("Days", wrong)) == "value");
  }
}

TEST_CASE("invalid values of logging and metrics are rejected") {
  for (const char* wrong : {"", "yes", "TRUTH", "2"}) {
    CAPTURE(wrong);
    CHECK(error_of(logging(retention(element("Enabled", wrong)))) == "value");
    CHECK(error_of(hour_metrics("<Version>1.0</Version>" + element("Enabled", wrong) +
                                retention(off))) == "value");
  }
  for (const char* wrong : {"", "1", "3.0", "x"}) {
    CAPTURE(wrong);
    CHECK(error_of(hour_metrics(element("Version", wrong) + off + retention(off))) == "value");
  }
  CHECK(error_of(hour_metrics("<Version> 1.0 </Version><Enabled>\nfalse\n</Enabled>" +
                              retention(off))) == "accepted");
}

TEST_CASE("there are at most five CORS rules") {
  CHECK(change_of(cors(repeated(rule(), 5))).cors->size() == 5);
  CHECK(error_of(cors(repeated(rule(), 6))) == "document");
}

TEST_CASE("all five children of a CORS rule are required") {
  for (const char* name : {"AllowedMethods", "AllowedOrigins", "AllowedHeaders", "ExposedHeaders",
                           "MaxAgeInSeconds"}) {
    CAPTURE(name);
    std::string text = rule(name, "@");
    const std::string gone = element(name, "@");
    text.erase(text.find(gone), gone.size());
    CHECK(error_of(cors(text)) == "missing");
  }
}

TEST_CASE("the values of a CORS rule are validated") {
  const auto with = [](const std::string& field, const std::string& value) {
    return error_of(cors(rule(field, value)));
  };
  CHECK(with("AllowedMethods", "DELETE,GET,HEAD,MERGE,POST,OPTIONS,PUT,PATCH") == "accepted");
  CHECK(with("AllowedMethods", " GET , PUT ") == "accepted");
  CHECK(with("MaxAgeInSeconds", "2147483647") == "accepted");
  CHECK(with("AllowedHeaders", "*") == "accepted");
  for (const char* wrong : {"", "get", "TRACE", "GET,", ",GET", "GET,,PUT", "*"}) {
    CAPTURE(wrong);
    CHECK(with("AllowedMethods", wrong) == "value");
  }
  CHECK(with("AllowedOrigins", "") == "value");
  for (const char* wrong : {"", "-1", "x", "2147483648"}) {
    CAPTURE(wrong);
    CHECK(with("MaxAgeInSeconds", wrong) == "value");
  }
  CHECK(with("AllowedHeaders", "a,,b") == "value");
  CHECK(with("ExposedHeaders", ",") == "value");
}

TEST_CASE("the lists of a CORS rule have limits") {
  const auto with = [](const std::string& field, const std::string& value) {
    return error_of(cors(rule(field, value)));
  };
  const std::string longest(256, 'a');
  CHECK(with("AllowedOrigins", longest) == "accepted");
  CHECK(with("AllowedOrigins", longest + "a") == "value");
  CHECK(with("AllowedOrigins", repeated("o", 64, ",")) == "accepted");
  CHECK(with("AllowedOrigins", repeated("o", 65, ",")) == "value");
  for (const char* list : {"AllowedHeaders", "ExposedHeaders"}) {
    CAPTURE(list);
    CHECK(with(list, longest) == "accepted");
    CHECK(with(list, longest + "a") == "value");
    CHECK(with(list, repeated("h", 64, ",") + ",x-ms-a*,x-ms-b*") == "accepted");
    CHECK(with(list, repeated("h", 65, ",")) == "value");
    CHECK(with(list, "x-ms-a*,x-ms-b*,x-ms-c*") == "value");
  }
}

TEST_CASE("replication is live and up to date") {
  const auto now = parse_date_time("2020-07-24T14:34:48.4767Z", {});
  CHECK(service_stats_document(*now) ==
        std::string(declaration) +
            "<StorageServiceStats><GeoReplication><Status>live</Status>"
            "<LastSyncTime>Fri, 24 Jul 2020 14:34:48 GMT</LastSyncTime></GeoReplication>"
            "</StorageServiceStats>");
}
