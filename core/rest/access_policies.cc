#include "core/rest/access_policies.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include "core/rest/xml.h"

namespace entitable::rest {
namespace {

constexpr ErrorCode not_this_document = ErrorCode::invalid_xml_document;

// Returns whether all children have one of these names, each name at most once.
bool has_only(const XmlElement& element, std::initializer_list<std::string_view> names) {
  return std::all_of(element.children.begin(), element.children.end(),
                     [&](const XmlElement& child) {
                       return std::find(names.begin(), names.end(), child.name) != names.end() &&
                              element.find(child.name) == &child;
                     });
}

// Returns the text of the child of that name, or nothing if it is absent or blank.
std::optional<std::string_view> text_of(const XmlElement& element, std::string_view name) {
  const XmlElement* child = element.find(name);
  if (child == nullptr || trim_xml_whitespace(child->text).empty()) return std::nullopt;
  return trim_xml_whitespace(child->text);
}

Result<std::optional<Ticks>> date_of(const XmlElement& element, std::string_view name) {
  const auto text = text_of(element, name);
  if (!text.has_value()) return std::optional<Ticks>();
  const auto ticks = parse_policy_date(*text);
  if (!ticks.has_value()) return Error(ErrorCode::invalid_xml_node_value);
  return ticks;
}

Result<void> read_terms(const XmlElement& element, AccessPolicy& policy) {
  if (!has_only(element, {"Start", "Expiry", "Permission"})) return Error(not_this_document);
  for (const XmlElement& child : element.children) {
    if (!child.children.empty()) return Error(not_this_document);
  }
  const auto start = date_of(element, "Start");
  if (!start.ok()) return start.error();
  const auto expiry = date_of(element, "Expiry");
  if (!expiry.ok()) return expiry.error();
  policy.start = *start;
  policy.expiry = *expiry;
  if (const auto permission = text_of(element, "Permission"); permission.has_value()) {
    policy.permission = std::string(*permission);
  }
  return {};
}

Result<AccessPolicy> read_policy(const XmlElement& element) {
  if (element.name != "SignedIdentifier" || !has_only(element, {"Id", "AccessPolicy"})) {
    return Error(not_this_document);
  }
  const XmlElement* id = element.find("Id");
  if (id == nullptr) return Error(not_this_document);
  AccessPolicy policy;
  policy.id = id->text;
  if (const XmlElement* terms = element.find("AccessPolicy"); terms != nullptr) {
    if (!trim_xml_whitespace(terms->text).empty()) return Error(not_this_document);
    if (const auto read = read_terms(*terms, policy); !read.ok()) return read.error();
  }
  return policy;
}

// Returns for example "2024-01-02T03:04:05.0000000Z", always with seven digits.
std::string policy_date_text(Ticks ticks) {
  std::string text = date_time_text(ticks);
  text.pop_back();  // Z
  constexpr std::size_t to_seconds = 19;
  if (text.size() == to_seconds) text.push_back('.');
  text.resize(to_seconds + 1 + 7, '0');
  return text + "Z";
}

}  // namespace

Result<std::vector<AccessPolicy>> parse_access_policies(std::string_view body) {
  std::vector<AccessPolicy> policies;
  if (body.empty()) return policies;
  const Result<XmlElement> root = parse_xml(body);
  if (!root.ok()) return root.error();
  if (root->name != "SignedIdentifiers" || !trim_xml_whitespace(root->text).empty()) {
    return Error(not_this_document);
  }
  for (const XmlElement& element : root->children) {
    Result<AccessPolicy> policy = read_policy(element);
    if (!policy.ok()) return policy.error();
    policies.push_back(std::move(*policy));
  }
  if (const auto violation = check_policies(policies)) return Error(violation->code);
  return policies;
}

std::string access_policies_document(const std::vector<AccessPolicy>& policies) {
  XmlWriter xml;
  if (policies.empty()) {
    xml.empty("SignedIdentifiers");
    return xml.finish();
  }
  xml.open("SignedIdentifiers");
  for (const AccessPolicy& policy : policies) {
    xml.open("SignedIdentifier");
    xml.element("Id", policy.id);
    xml.open("AccessPolicy");
    if (policy.start.has_value()) xml.element("Start", policy_date_text(*policy.start));
    if (policy.expiry.has_value()) xml.element("Expiry", policy_date_text(*policy.expiry));
    if (policy.permission.has_value()) xml.element("Permission", *policy.permission);
    xml.close();
    xml.close();
  }
  xml.close();
  return xml.finish();
}

std::optional<Ticks> parse_policy_date(std::string_view text) {
  constexpr std::size_t date_alone = 10;
  if (text.size() > date_alone) {
    // parse_date_time also accepts a missing time zone and any number of digits.
    const std::size_t zone = text.find_first_of("Z+-", date_alone);
    const std::size_t point = text.find('.');
    if (text[date_alone] != 'T' || zone == std::string_view::npos) return std::nullopt;
    if (point != std::string_view::npos && zone > point + 8) return std::nullopt;
  }
  const Result<Ticks> ticks = parse_date_time(text, {});
  if (!ticks.ok()) return std::nullopt;
  return *ticks;
}

}  // namespace entitable::rest
