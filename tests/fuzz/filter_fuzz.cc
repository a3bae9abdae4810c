// Parses arbitrary bytes as a $filter. The result must be a valid tree that can be printed and
// parsed again, or an error that parse_filter documents.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/filter/evaluate.h"
#include "core/filter/parser.h"
#include "core/model/limits.h"
#include "tests/support/filter_text.h"

using namespace entitable;

namespace {

// N of "Syntax error at position N in …"; 0 for any other message.
std::size_t position_of(const std::string& message) {
  constexpr std::string_view start = "Syntax error at position ";
  if (message.rfind(start, 0) != 0) return 0;
  return std::strtoul(message.c_str() + start.size(), nullptr, 10);
}

void check_error(std::string_view text, const Error& error) {
  ENTITABLE_CHECK(error.code == ErrorCode::invalid_input ||
                  error.code == ErrorCode::not_implemented);
  if (text.size() >= limits::filter_bytes_max) return;
  // A blank before the text changes nothing but the position in the message.
  const std::string shifted = " " + std::string(text);
  const Result<Filter> again = parse_filter(shifted);
  ENTITABLE_CHECK(!again.ok() && again.error().code == error.code);
  const std::size_t position = position_of(error.message);
  const std::size_t moved = position_of(again.error().message);
  ENTITABLE_CHECK(moved == (position == 0 ? 0 : position + 1));
  if (position > 0) ENTITABLE_CHECK(position <= utf16_length(text));
}

void check_tree(std::string_view text, const Filter& filter) {
  ENTITABLE_CHECK(test::check_structure(filter) == "sound");
  const std::string tree = to_sexpr(filter);
  for (const std::string& other : {" " + std::string(text) + "\n", test::to_filter_text(filter)}) {
    if (other.size() > limits::filter_bytes_max) continue;
    const Result<Filter> again = parse_filter(other);
    ENTITABLE_CHECK(again.ok() && to_sexpr(*again) == tree);
  }
}

// Checks that either the filter or its negation matches an entity. Tests one entity with the
// filter's properties and one without any.
void check_answers(const Filter& filter) {
  if (filter.empty()) return;
  Entity entity;
  for (const FilterNode& node : filter.nodes) {
    if (entity.properties.size() < 10 && !node.property.empty() &&
        entity.find_property(node.property) == nullptr) {
      entity.properties.push_back({node.property, node.literal});
    }
  }
  Filter negated = filter;
  FilterNode negation;
  negation.kind = FilterKind::negation;
  negation.left = static_cast<std::uint32_t>(filter.nodes.size() - 1);
  negated.nodes.push_back(negation);
  for (const Entity& one : {entity, Entity{}}) {
    ENTITABLE_CHECK(matches_unbound(filter, one) != matches_unbound(negated, one));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Result<Filter> filter = parse_filter(text);
  if (filter.ok()) {
    check_tree(text, *filter);
    check_answers(*filter);
  } else {
    check_error(text, filter.error());
  }
  return 0;
}
