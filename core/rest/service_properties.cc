#include "core/rest/service_properties.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/rest/http.h"
#include "core/rest/http_date.h"
#include "core/rest/xml.h"

namespace entitable::rest {
namespace {

constexpr std::string_view cors_methods[] = {"DELETE", "GET",     "HEAD", "MERGE",
                                             "POST",   "OPTIONS", "PUT",  "PATCH"};

// ---- Reading ------------------------------------------------------------------------------------

// Reads the children of one element and remembers the first error. So the functions below can read
// all fields of a section and check for an error once.
class Section {
 public:
  Section(const XmlElement& element, std::initializer_list<std::string_view> known)
      : element_(element) {
    if (!trim_xml_whitespace(element.text).empty()) fail(ErrorCode::invalid_xml_document);
    for (const XmlElement& child : element.children) {
      if (std::find(known.begin(), known.end(), child.name) == known.end()) {
        fail(ErrorCode::unsupported_xml_node);
      } else if (element.find(child.name) != &child) {
        fail(ErrorCode::invalid_xml_document);
      }
    }
  }

  const XmlElement* optional(std::string_view name) const { return element_.find(name); }

  const XmlElement* required(std::string_view name) {
    const XmlElement* child = element_.find(name);
    if (child == nullptr) fail(ErrorCode::missing_xml_node);
    return child;
  }

  // Returns the text of a child that must exist and have no children of its own.
  std::string_view text(std::string_view name) {
    const XmlElement* child = required(name);
    if (child == nullptr) return {};
    if (!child->children.empty()) fail(ErrorCode::unsupported_xml_node);
    return trim_xml_whitespace(child->text);
  }

  bool boolean(std::string_view name) {
    const std::string_view value = text(name);
    if (equal_ignoring_case(value, "true") || value == "1") return true;
    if (!equal_ignoring_case(value, "false") && value != "0")
      fail(ErrorCode::invalid_xml_node_value);
    return false;
  }

  std::uint32_t number(std::string_view name, std::uint32_t low, std::uint32_t high) {
    const auto value = parse_int64(text(name));
    if (value.has_value() && *value >= low && *value <= high) {
      return static_cast<std::uint32_t>(*value);
    }
    fail(ErrorCode::invalid_xml_node_value);
    return low;
  }

  std::string version() {
    const std::string_view value = text("Version");
    if (value != "1.0" && value != "2.0") fail(ErrorCode::invalid_xml_node_value);
    return std::string(value);
  }

  // Fails if a child of that name exists although it is not allowed.
  void unless(bool allowed, std::string_view name) {
    if (!allowed && element_.find(name) != nullptr) fail(ErrorCode::unsupported_xml_node);
  }

  void fail(ErrorCode code) {
    if (!failure_.has_value()) failure_ = code;
  }
  void take_failure(const Section& inner) {
    if (inner.failure_.has_value()) fail(*inner.failure_);
  }
  const std::optional<ErrorCode>& failure() const { return failure_; }

 private:
  const XmlElement& element_;
  std::optional<ErrorCode> failure_;
};

Retention read_retention(Section& parent) {
  Retention retention;
  const XmlElement* element = parent.required("RetentionPolicy");
  if (element == nullptr) return retention;
  Section section(*element, {"Enabled", "Days"});
  const bool enabled = section.boolean("Enabled");
  section.unless(enabled, "Days");
  if (enabled) retention.days = section.number("Days", 1, retention_days_max);
  parent.take_failure(section);
  return retention;
}

Logging read_logging(const XmlElement& element, Section& parent) {
  Section section(element, {"Version", "Read", "Write", "Delete", "RetentionPolicy"});
  Logging logging;
  logging.version = section.version();
  logging.reads = section.boolean("Read");
  logging.writes = section.boolean("Write");
  logging.deletes = section.boolean("Delete");
  logging.retention = read_retention(section);
  parent.take_failure(section);
  return logging;
}

Metrics read_metrics(const XmlElement& element, Section& parent) {
  Section section(element, {"Version", "Enabled", "IncludeAPIs", "RetentionPolicy"});
  Metrics metrics;
  metrics.version = section.version();
  const bool enabled = section.boolean("Enabled");
  section.unless(enabled, "IncludeAPIs");
  if (enabled) metrics.include_apis = section.boolean("IncludeAPIs");
  metrics.retention = read_retention(section);
  parent.take_failure(section);
  return metrics;
}

// Returns the entries of a list such as "a, b". Fails if an entry is empty or too long.
std::vector<std::string> read_list(Section& section, std::string_view name) {
  std::vector<std::string> entries;
  std::string_view rest = section.text(name);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = trim_xml_whitespace(rest.substr(0, comma));
    if (entry.empty() || utf16_length(entry) > cors_entry_units_max || comma + 1 == rest.size()) {
      section.fail(ErrorCode::invalid_xml_node_value);
    }
    entries.emplace_back(entry);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return entries;
}

std::vector<std::string> read_headers(Section& section, std::string_view name) {
  std::vector<std::string> headers = read_list(section, name);
  const auto prefixed = static_cast<std::size_t>(std::count_if(
      headers.begin(), headers.end(),
      [](const std::string& header) { return header != "*" && header.ends_with('*'); }));
  if (prefixed > cors_prefixed_headers_max ||
      headers.size() - prefixed > cors_literal_headers_max) {
    section.fail(ErrorCode::invalid_xml_node_value);
  }
  return headers;
}

CorsRule read_rule(const XmlElement& element, Section& parent) {
  Section section(element, {"AllowedMethods", "AllowedOrigins", "AllowedHeaders", "ExposedHeaders",
                            "MaxAgeInSeconds"});
  CorsRule rule;
  rule.methods = read_list(section, "AllowedMethods");
  rule.origins = read_list(section, "AllowedOrigins");
  rule.allowed_headers = read_headers(section, "AllowedHeaders");
  rule.exposed_headers = read_headers(section, "ExposedHeaders");
  rule.max_age_seconds =
      section.number("MaxAgeInSeconds", 0, std::numeric_limits<std::int32_t>::max());
  const bool methods_known =
      std::all_of(rule.methods.begin(), rule.methods.end(), [](const std::string& method) {
        return std::find(std::begin(cors_methods), std::end(cors_methods), method) !=
               std::end(cors_methods);
      });
  if (rule.methods.empty() || rule.origins.empty() || rule.origins.size() > cors_origins_max ||
      !methods_known) {
    section.fail(ErrorCode::invalid_xml_node_value);
  }
  parent.take_failure(section);
  return rule;
}

std::vector<CorsRule> read_cors(const XmlElement& element, Section& parent) {
  std::vector<CorsRule> rules;
  if (!trim_xml_whitespace(element.text).empty() || element.children.size() > cors_rules_max) {
    parent.fail(ErrorCode::invalid_xml_document);
    return rules;
  }
  for (const XmlElement& child : element.children) {
    if (child.name != "CorsRule") parent.fail(ErrorCode::unsupported_xml_node);
    if (parent.failure().has_value()) return rules;
    rules.push_back(read_rule(child, parent));
  }
  return rules;
}

// ---- Writing ------------------------------------------------------------------------------------

void write_boolean(XmlWriter& xml, std::string_view name, bool value) {
  xml.element(name, value ? "true" : "false");
}

void write_retention(XmlWriter& xml, const Retention& retention) {
  xml.open("RetentionPolicy");
  write_boolean(xml, "Enabled", retention.days.has_value());
  if (retention.days.has_value()) xml.element("Days", std::to_string(*retention.days));
  xml.close();
}

void write_logging(XmlWriter& xml, const Logging& logging) {
  xml.open("Logging");
  xml.element("Version", logging.version);
  write_boolean(xml, "Read", logging.reads);
  write_boolean(xml, "Write", logging.writes);
  write_boolean(xml, "Delete", logging.deletes);
  write_retention(xml, logging.retention);
  xml.close();
}

void write_metrics(XmlWriter& xml, std::string_view name, const Metrics& metrics) {
  xml.open(name);
  xml.element("Version", metrics.version);
  write_boolean(xml, "Enabled", metrics.include_apis.has_value());
  if (metrics.include_apis.has_value()) write_boolean(xml, "IncludeAPIs", *metrics.include_apis);
  write_retention(xml, metrics.retention);
  xml.close();
}

std::string joined(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) text += (text.empty() ? "" : ",") + entry;
  return text;
}

void write_cors(XmlWriter& xml, const std::vector<CorsRule>& rules) {
  if (rules.empty()) return xml.empty("Cors");
  xml.open("Cors");
  for (const CorsRule& rule : rules) {
    xml.open("CorsRule");
    xml.element("AllowedMethods", joined(rule.methods));
    xml.element("AllowedOrigins", joined(rule.origins));
    xml.element("AllowedHeaders", joined(rule.allowed_headers));
    xml.element("ExposedHeaders", joined(rule.exposed_headers));
    xml.element("MaxAgeInSeconds", std::to_string(rule.max_age_seconds));
    xml.close();
  }
  xml.close();
}

}  // namespace

Result<ServicePropertiesChange> parse_service_properties(std::string_view body) {
  const Result<XmlElement> root = parse_xml(body);
  if (!root.ok()) return root.error();
  if (root->name != "StorageServiceProperties") return Error(ErrorCode::invalid_xml_document);
  Section section(*root, {"Logging", "HourMetrics", "MinuteMetrics", "Cors"});
  ServicePropertiesChange change;
  if (const auto* element = section.optional("Logging")) {
    change.logging = read_logging(*element, section);
  }
  if (const auto* element = section.optional("HourMetrics")) {
    change.hour_metrics = read_metrics(*element, section);
  }
  if (const auto* element = section.optional("MinuteMetrics")) {
    change.minute_metrics = read_metrics(*element, section);
  }
  if (const auto* element = section.optional("Cors")) change.cors = read_cors(*element, section);
  if (section.failure().has_value()) return Error(*section.failure());
  if (root->children.empty()) return Error(ErrorCode::invalid_xml_document);
  return change;
}

ServiceProperties with_changes(ServiceProperties properties, ServicePropertiesChange change) {
  if (change.logging.has_value()) properties.logging = std::move(*change.logging);
  if (change.hour_metrics.has_value()) properties.hour_metrics = std::move(*change.hour_metrics);
  if (change.minute_metrics.has_value()) {
    properties.minute_metrics = std::move(*change.minute_metrics);
  }
  if (change.cors.has_value()) properties.cors = std::move(*change.cors);
  return properties;
}

std::string service_properties_document(const ServiceProperties& properties) {
  XmlWriter xml;
  xml.open("StorageServiceProperties");
  write_logging(xml, properties.logging);
  write_metrics(xml, "HourMetrics", properties.hour_metrics);
  write_metrics(xml, "MinuteMetrics", properties.minute_metrics);
  write_cors(xml, properties.cors);
  xml.close();
  return xml.finish();
}

ServiceProperties parse_stored_service_properties(std::string_view document) {
  if (document.empty()) return {};
  Result<ServicePropertiesChange> stored = parse_service_properties(document);
  // Only a crafted manifest or segment can hold another document: a checksum covers the document,
  // and a restore checks it.
  if (!stored.ok()) return {};
  return with_changes({}, std::move(*stored));
}

bool is_stored_service_properties(std::string_view document) {
  return document.empty() || parse_service_properties(document).ok();
}

std::string service_stats_document(Ticks now) {
  XmlWriter xml;
  xml.open("StorageServiceStats");
  xml.open("GeoReplication");
  xml.element("Status", "live");
  xml.element("LastSyncTime", http_date_text(now));
  xml.close();
  xml.close();
  return xml.finish();
}

}  // namespace entitable::rest
