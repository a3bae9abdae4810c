#include "core/rest/request_body.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/number_text.h"
#include "core/json/object_parser.h"

namespace entitable::rest {
namespace {

using json::Member;
using json::ValueKind;

constexpr std::string_view metadata_prefix = "odata.";
constexpr std::string_view type_suffix = "@odata.type";

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

Error bad_value() {
  return Error(ErrorCode::invalid_input, "An error occurred while processing this request.");
}

// ---- Members and their types --------------------------------------------------------------------

// Returns the first eight bytes of a name as a big-endian number. Comparing numbers is faster than
// comparing names and gives the same order.
std::uint64_t head_of(std::string_view name) {
  std::uint64_t head = 0;
  for (std::size_t i = 0; i < sizeof head; ++i) {
    head = head << 8 | (i < name.size() ? static_cast<std::uint8_t>(name[i]) : 0u);
  }
  return head;
}

// Returns whether `name` is "<property>@odata.type".
bool is_type_of(std::string_view name, std::string_view property) {
  return name.size() == property.size() + type_suffix.size() && name.ends_with(type_suffix) &&
         starts_with(name, property);
}

// The members of a JSON object, with a lookup by name. Names are unique.
class Members {
 public:
  static Result<Members> read(std::string_view body) {
    Result<json::Object> object = json::parse_object(body);
    if (!object.ok()) return object.error();
    Members read(std::move(*object));
    if (read.has_duplicates()) return Error(ErrorCode::duplicate_properties);
    return read;
  }

  const std::vector<Member>& all() const { return object_.members; }

  const Member* find(std::string_view name) const {
    const Named wanted{head_of(name), name, nullptr};
    const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), wanted, is_before);
    return at != by_name_.end() && at->name == name ? at->member : nullptr;
  }

  // Returns the member "<name>@odata.type", or nullptr if there is none. Annotations are nearly
  // always next to their property, so both neighbours are checked first.
  const Member* type_of(const Member& member) const {
    if (!has_types_) return nullptr;
    const Member* const next = &member + 1;
    if (next != all().data() + all().size() && is_type_of(next->name, member.name)) return next;
    if (&member != all().data() && is_type_of((&member)[-1].name, member.name)) return &member - 1;
    return all_beside_ ? nullptr : find(std::string(member.name).append(type_suffix));
  }

 private:
  struct Named {
    std::uint64_t head;
    std::string_view name;
    const Member* member;
  };
  static bool is_before(const Named& a, const Named& b) {
    return a.head != b.head ? a.head < b.head : a.name < b.name;
  }

  explicit Members(json::Object object) : object_(std::move(object)) {
    by_name_.reserve(all().size());
    for (const Member& member : all()) {
      by_name_.push_back(Named{head_of(member.name), member.name, &member});
      if (!member.name.ends_with(type_suffix)) continue;
      has_types_ = true;
      all_beside_ = all_beside_ && is_beside_its_own(member);
    }
    std::sort(by_name_.begin(), by_name_.end(), is_before);
  }

  // Returns whether the annotation `type` is next to its property.
  bool is_beside_its_own(const Member& type) const {
    const Member* const next = &type + 1;
    return (&type != all().data() && is_type_of(type.name, (&type)[-1].name)) ||
           (next != all().data() + all().size() && is_type_of(type.name, next->name));
  }

  bool has_duplicates() const {
    return std::adjacent_find(by_name_.begin(), by_name_.end(), [](const Named& a, const Named& b) {
             return a.head == b.head && a.name == b.name;
           }) != by_name_.end();
  }

  json::Object object_;
  std::vector<Named> by_name_;
  bool has_types_ = false;
  bool all_beside_ = true;  // each annotation is next to its property
};

// Returns whether a member is neither a property nor a key: metadata, or Timestamp.
bool is_ignored(std::string_view name) {
  return starts_with(name, metadata_prefix) || name.ends_with(type_suffix) || name == "Timestamp";
}

// ---- Values -------------------------------------------------------------------------------------

// Returns whether a JSON value of this kind can have a type annotation of this type.
bool fits(ValueKind kind, EdmType type) {
  switch (kind) {
    case ValueKind::string:
      return true;
    case ValueKind::boolean:
      return type == EdmType::boolean;
    case ValueKind::number:
      return type == EdmType::int32 || type == EdmType::int64 || type == EdmType::float64;
    case ValueKind::null:
    case ValueKind::structure:
      break;
  }
  return false;
}

Result<EdmType> annotated_type(const Member& type) {
  const std::optional<EdmType> known = edm_from_name(type.text);
  if (type.kind != ValueKind::string || !known.has_value()) return Error(ErrorCode::invalid_input);
  return *known;
}

EdmType inferred_type(const Member& value) {
  if (value.kind == ValueKind::string) return EdmType::string;
  if (value.kind == ValueKind::boolean) return EdmType::boolean;
  const bool whole = value.text.find_first_of(".eE") == std::string_view::npos;
  return whole && parse_int32(value.text).has_value() ? EdmType::int32 : EdmType::float64;
}

Result<Value> read_value(const Member& value, const Member* type) {
  if (value.kind == ValueKind::structure) return Error(ErrorCode::invalid_input);
  if (type == nullptr) return parse_value(inferred_type(value), value.text, value.name);
  const Result<EdmType> said = annotated_type(*type);
  if (!said.ok()) return said.error();
  if (!fits(value.kind, *said)) return bad_value();
  return parse_value(*said, value.text, value.name);
}

// ---- Entities -----------------------------------------------------------------------------------

Result<std::string> key_of(const Members& members, std::string_view name) {
  const Member* value = members.find(name);
  if (value == nullptr || value->kind == ValueKind::null)
    return Error(ErrorCode::properties_need_value);
  const Member* type = members.type_of(*value);
  if (value->kind != ValueKind::string || (type != nullptr && type->text != "Edm.String")) {
    return Error(ErrorCode::primary_key_type_invalid);
  }
  return std::string(value->text);
}

Result<std::vector<Property>> properties_of(const Members& members) {
  std::vector<Property> properties;
  properties.reserve(members.all().size());
  for (const Member& member : members.all()) {
    if (is_ignored(member.name) || member.name == "PartitionKey" || member.name == "RowKey") {
      continue;
    }
    const Member* type = members.type_of(member);
    if (member.kind == ValueKind::null) {
      if (type == nullptr) continue;
      if (const Result<EdmType> said = annotated_type(*type); !said.ok()) return said.error();
      continue;
    }
    Result<Value> value = read_value(member, type);
    if (!value.ok()) return value.error();
    properties.push_back(Property{std::string(member.name), std::move(*value)});
  }
  return properties;
}

}  // namespace

Result<EntityBody> parse_inserted_entity(std::string_view body) {
  const Result<Members> members = Members::read(body);
  if (!members.ok()) return members.error();
  EntityBody entity;
  for (const auto& [name, part] :
       {std::pair{"PartitionKey", &entity.key.partition}, std::pair{"RowKey", &entity.key.row}}) {
    Result<std::string> key = key_of(*members, name);
    if (!key.ok()) return key.error();
    *part = std::move(*key);
  }
  Result<std::vector<Property>> properties = properties_of(*members);
  if (!properties.ok()) return properties.error();
  entity.properties = std::move(*properties);
  return entity;
}

BodyKeys parse_inserted_keys(std::string_view body) {
  const Result<Members> members = Members::read(body);
  if (!members.ok()) return {};
  const auto known = [&](std::string_view name) {
    Result<std::string> key = key_of(*members, name);
    return key.ok() ? std::optional<std::string>(std::move(*key)) : std::nullopt;
  };
  return BodyKeys{known("PartitionKey"), known("RowKey")};
}

Result<EntityBody> parse_updated_entity(std::string_view body) {
  const Result<Members> members = Members::read(body);
  if (!members.ok()) return members.error();
  Result<std::vector<Property>> properties = properties_of(*members);
  if (!properties.ok()) return properties.error();
  return EntityBody{{}, std::move(*properties)};
}

Result<std::string> parse_create_table_body(std::string_view body) {
  const Result<Members> members = Members::read(body);
  if (!members.ok()) return members.error();
  const Member* name = members->find("TableName");
  if (name == nullptr || name->kind == ValueKind::null)
    return Error(ErrorCode::properties_need_value);
  if (name->kind != ValueKind::string) return Error(ErrorCode::invalid_input);
  return std::string(name->text);
}

}  // namespace entitable::rest
