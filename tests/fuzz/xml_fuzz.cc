// Parses arbitrary bytes as XML, as access policies and as service properties. A parsed document
// must be within the limits; printed and parsed again, it must be the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/model/limits.h"
#include "core/rest/access_policies.h"
#include "core/rest/service_properties.h"
#include "core/rest/xml.h"

using namespace entitable;
using namespace entitable::rest;

namespace {

void print(const XmlElement& element, XmlWriter& xml) {  // recurses at most xml_depth_max deep
  if (element.children.empty()) return xml.element(element.name, element.text);
  ENTITABLE_CHECK(element.text.empty());
  xml.open(element.name);
  for (const XmlElement& child : element.children) print(child, xml);
  xml.close();
}

void check_tree(std::string_view document) {
  const auto root = parse_xml(document);
  if (!root.ok()) return ENTITABLE_CHECK(root.error() == Error(ErrorCode::invalid_xml_document));
  XmlWriter xml;
  print(*root, xml);
  const auto again = parse_xml(xml.finish());
  ENTITABLE_CHECK(again.ok() && *again == *root);
}

void check_policies(std::string_view body) {
  const auto policies = parse_access_policies(body);
  if (!policies.ok()) {
    ENTITABLE_CHECK(policies.error().code == ErrorCode::invalid_xml_document ||
                    policies.error().code == ErrorCode::invalid_xml_node_value);
    return;
  }
  ENTITABLE_CHECK(policies->size() <= limits::access_policies_max);
  for (const AccessPolicy& policy : *policies) {
    ENTITABLE_CHECK(utf16_length(policy.id) <= limits::access_policy_id_units_max);
  }
  const auto again = parse_access_policies(access_policies_document(*policies));
  ENTITABLE_CHECK(again.ok() && *again == *policies);
}

void check_properties(std::string_view body) {
  const auto change = parse_service_properties(body);
  if (!change.ok()) return;
  const ServiceProperties properties = with_changes({}, *change);
  ENTITABLE_CHECK(properties.cors.size() <= cors_rules_max);
  ENTITABLE_CHECK(with_changes(properties, *change) == properties);
  const std::string document = service_properties_document(properties);
  ENTITABLE_CHECK(parse_stored_service_properties(document) == properties);
  ENTITABLE_CHECK(parse_service_properties(document).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_tree(text);
  check_policies(text);
  check_properties(text);
  return 0;
}
