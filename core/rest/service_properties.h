// The XML documents of Get and Set Service Properties and of Get Service Stats. The store keeps the
// properties as such a document. CORS rules take effect (cors.h). Logging and metrics settings are
// stored and returned, but have no effect.
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
inline constexpr std::size_t cors_entry_units_max = 256;     // UTF-16 units of an origin or header
inline constexpr std::size_t cors_origins_max = 64;          // per rule
inline constexpr std::size_t cors_literal_headers_max = 64;  // per list
inline constexpr std::size_t cors_prefixed_headers_max = 2;  // per list: entries like x-ms-meta*
inline constexpr std::uint32_t retention_days_max = 365;

struct Retention {
  std::optional<std::uint32_t> days;  // 1..365; nothing: no retention policy
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
  std::optional<bool> include_apis;  // nothing: these metrics are disabled
  Retention retention;
  friend bool operator==(const Metrics&, const Metrics&) = default;
};

struct CorsRule {
  std::vector<std::string> methods;          // at least one
  std::vector<std::string> origins;          // at least one; "*": every origin
  std::vector<std::string> allowed_headers;  // "*": every header; "x-ms-meta*": by prefix
  std::vector<std::string> exposed_headers;  // with the same wildcards
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

// What Set Service Properties changes. An absent section stays as it is.
struct ServicePropertiesChange {
  std::optional<Logging> logging;
  std::optional<Metrics> hour_metrics;
  std::optional<Metrics> minute_metrics;
  std::optional<std::vector<CorsRule>> cors;  // empty: clears the rules
};

// Parses the body of Set Service Properties. Children may be in any order. Booleans may be in any
// case, because Python clients write True.
//
// InvalidXmlDocument: another document or an empty one, a repeated element, or more than 5 CORS
// rules.
// InvalidXmlNodeValue: an invalid value, or one over a limit above. MissingRequiredXmlNode: a
// required element is missing. UnsupportedXmlNode: an element that is unknown, or not allowed there
// (IncludeAPIs in disabled metrics, Days in a disabled retention policy).
Result<ServicePropertiesChange> parse_service_properties(std::string_view body);

// Returns `properties` with the sections of `change` replaced.
ServiceProperties with_changes(ServiceProperties properties, ServicePropertiesChange change);

// Returns the document of Get Service Properties, in the service's order of elements.
// parse_service_properties() parses it to the same properties.
std::string service_properties_document(const ServiceProperties& properties);

// Parses the document that the store keeps. "" stands for the properties of a new account.
// A document that is_stored_service_properties() rejects counts as "".
ServiceProperties parse_stored_service_properties(std::string_view document);
// Returns whether a store may keep the document: "", or what parse_service_properties() accepts.
bool is_stored_service_properties(std::string_view document);

// Returns the document of Get Service Stats. There is only one copy of the data, so the last
// synchronization of the secondary location is always `now`.
std::string service_stats_document(Ticks now);

}  // namespace entitable::rest
