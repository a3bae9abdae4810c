// The service's properties: what Get and Set Service Properties exchange, and the store keeps as
// text. Logging and metrics are kept and given back, and do nothing; the CORS rules are obeyed
// (cors.h). And the document of Get Service Stats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/date_time.h"

namespace entitable::rest {

inline constexpr std::size_t cors_rules_max = 5;
inline constexpr std::size_t cors_entry_units_max = 256;     // one origin or header
inline constexpr std::size_t cors_origins_max = 64;          // per rule
inline constexpr std::size_t cors_literal_headers_max = 64;  // per list
inline constexpr std::size_t cors_prefixed_headers_max = 2;  // per list: x-ms-meta*
inline constexpr std::uint32_t retention_days_max = 365;

struct Retention {
  std::optional<std::uint32_t> days;  // 1..365; nothing: everything is kept
  friend bool operator==(const Retention&, const Retention&) = default;
};

struct Logging {
  std::string version = "1.0";
  bool reads = false;
  bool writes = false;
  bool deletes = false;
  Retention retention;
  friend bool operator==(const Logging&, const Logging&) = default;
};

struct Metrics {
  std::string version = "1.0";
  std::optional<bool> include_apis;  // nothing: the metrics are off
  Retention retention;
  friend bool operator==(const Metrics&, const Metrics&) = default;
};

struct CorsRule {
  std::vector<std::string> methods;          // at least one
  std::vector<std::string> origins;          // at least one; "*": every origin
  std::vector<std::string> allowed_headers;  // "*": every header; "x-ms-meta*": by prefix
  std::vector<std::string> exposed_headers;  // the same
  std::uint32_t max_age_seconds = 0;
  friend bool operator==(const CorsRule&, const CorsRule&) = default;
};

struct ServiceProperties {
  Logging logging;
  Metrics hour_metrics;
  Metrics minute_metrics;
  std::vector<CorsRule> cors;
  friend bool operator==(const ServiceProperties&, const ServiceProperties&) = default;
};

// What a Set changes: a section that is absent stays as it is.
struct ServicePropertiesChange {
  std::optional<Logging> logging;
  std::optional<Metrics> hour_metrics;
  std::optional<Metrics> minute_metrics;
  std::optional<std::vector<CorsRule>> cors;  // empty: clears the rules
};

// Children may come in any order, true and false in any case of letters: Python clients write True.
//
// InvalidXmlDocument: not this document, an element twice, more than 5 rules. InvalidXmlNodeValue:
// a value that is none, or over a limit above. MissingRequiredXmlNode. UnsupportedXmlNode: an
// element that is not known, or not where it stands (IncludeAPIs of metrics that are off, Days of a
// retention that is off).
Result<ServicePropertiesChange> parse_service_properties(std::string_view body);

ServiceProperties with_changes(ServiceProperties properties, ServicePropertiesChange change);

// The document, sections and children in the service's order. Reads back as the same.
std::string service_properties_document(const ServiceProperties& properties);

// What the store keeps; no text is the properties of a new account.
ServiceProperties stored_service_properties(std::string_view document);

// Replication is never behind: there is one copy.
std::string service_stats_document(Ticks now);

}  // namespace entitable::rest
