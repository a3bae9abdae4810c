#include "core/rest/cors.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace entitable::rest {
namespace {

// Headers that a page may always read (Fetch standard, "CORS-safelisted response-header name").
constexpr std::string_view simple_headers[] = {
    "cache-control", "content-language", "content-length", "content-type",
    "expires",       "last-modified",    "pragma"};

bool allows_origin(const CorsRule& rule, std::string_view origin) {
  return std::any_of(rule.origins.begin(), rule.origins.end(), [&](const std::string& allowed) {
    return allowed == "*" || allowed == origin;
  });
}

bool allows_method(const CorsRule& rule, std::string_view method) {
  return std::find(rule.methods.begin(), rule.methods.end(), method) != rule.methods.end();
}

// Returns whether `entry`, which may end in '*', matches the name `header`.
bool stands_for(std::string_view entry, std::string_view header) {
  if (!entry.ends_with('*')) return equal_ignoring_case(entry, header);
  entry.remove_suffix(1);
  return equal_ignoring_case(entry, header.substr(0, entry.size()));
}

bool in_list(const std::vector<std::string>& entries, std::string_view header) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const std::string& entry) { return stands_for(entry, header); });
}

bool allows_headers(const CorsRule& rule, std::string_view requested) {
  while (!requested.empty()) {
    const std::size_t comma = requested.find(',');
    const std::string_view header = without_blanks(requested.substr(0, comma));
    if (!header.empty() && !in_list(rule.allowed_headers, header)) return false;
    requested = comma == std::string_view::npos ? std::string_view() : requested.substr(comma + 1);
  }
  return true;
}

// Returns whether the rule allows every origin.
bool is_for_all(const CorsRule& rule) {
  return std::find(rule.origins.begin(), rule.origins.end(), "*") != rule.origins.end();
}

void add_origin(const CorsRule& rule, std::string_view origin, Response& response) {
  const bool for_all = is_for_all(rule);
  response.headers.push_back({"Access-Control-Allow-Origin", for_all ? "*" : std::string(origin)});
  if (!for_all) response.headers.push_back({"Access-Control-Allow-Credentials", "true"});
}

bool is_of_cors_itself(std::string_view header) {
  return stands_for("access-control-*", header) || equal_ignoring_case(header, "vary");
}

bool is_simple(std::string_view header) {
  return std::any_of(std::begin(simple_headers), std::end(simple_headers),
                     [&](std::string_view simple) { return equal_ignoring_case(simple, header); });
}

// Returns the value of Access-Control-Expose-Headers: the rule's exposed headers, with each
// wildcard replaced by the response's headers that it matches.
std::string exposed(const CorsRule& rule, const Response& response) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    const bool known = std::any_of(names.begin(), names.end(), [&](const std::string& other) {
      return equal_ignoring_case(name, other);
    });
    if (!known) names.emplace_back(name);
  };
  for (const std::string& entry : rule.exposed_headers) {
    if (!entry.ends_with('*')) {
      add(entry);
      continue;
    }
    for (const Header& header : response.headers) {
      if (stands_for(entry, header.name) && !is_simple(header.name) &&
          !is_of_cors_itself(header.name)) {
        add(header.name);
      }
    }
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

std::vector<CorsRule> permissive_cors_rules() {
  CorsRule rule;
  rule.methods = {"DELETE", "GET", "HEAD", "MERGE", "POST", "OPTIONS", "PUT", "PATCH"};
  rule.origins = {"*"};
  rule.allowed_headers = {"*"};
  rule.exposed_headers = {"*"};
  rule.max_age_seconds = 3600;
  return {std::move(rule)};
}

Result<Response> preflight_response(const std::vector<CorsRule>& rules, const Request& request) {
  const auto origin = find_header(request, "Origin");
  const auto method = find_header(request, "Access-Control-Request-Method");
  if (origin.value_or("").empty() || method.value_or("").empty()) {
    return Error(ErrorCode::invalid_header_value);
  }
  const std::string_view headers =
      find_header(request, "Access-Control-Request-Headers").value_or(std::string_view());
  for (const CorsRule& rule : rules) {
    if (!allows_origin(rule, *origin) || !allows_method(rule, *method) ||
        !allows_headers(rule, headers)) {
      continue;
    }
    Response response{200, "OK", {}, {}};
    add_origin(rule, *origin, response);
    response.headers.push_back({"Access-Control-Allow-Methods", std::string(*method)});
    if (!headers.empty()) {
      response.headers.push_back({"Access-Control-Allow-Headers", std::string(headers)});
    }
    response.headers.push_back({"Access-Control-Max-Age", std::to_string(rule.max_age_seconds)});
    return response;
  }
  return Error(ErrorCode::cors_preflight_failure);
}

void add_cors_headers(const std::vector<CorsRule>& rules, const Request& request,
                      Response& response) {
  const auto origin = find_header(request, "Origin");
  if (origin.value_or("").empty() || rules.empty()) return;
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const CorsRule& candidate) {
    return allows_origin(candidate, *origin) && allows_method(candidate, request.method);
  });
  // A cache must not reuse the response for another origin, whether or not a rule allows this one.
  if (rule == rules.end() || !is_for_all(*rule)) response.headers.push_back({"Vary", "Origin"});
  if (rule == rules.end()) return;
  add_origin(*rule, *origin, response);
  if (std::string names = exposed(*rule, response); !names.empty()) {
    response.headers.push_back({"Access-Control-Expose-Headers", std::move(names)});
  }
}

}  // namespace entitable::rest
