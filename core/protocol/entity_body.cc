#include "core/protocol/entity_body.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/number_text.h"
#include "core/json/reader.h"

namespace entitable::protocol {
namespace {

using json::Kind;
using json::Member;

constexpr std::string_view metadata_prefix = "odata.";
constexpr std::string_view type_suffix = "@odata.type";

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

Error bad_value() {
  return Error(Code::invalid_input, "An error occurred while processing this request.");
}

// ---- Members and their types --------------------------------------------------------------------

// The members of an object, to be found by name. Names are unique.
class Members {
 public:
  static Result<Members> read(std::string_view body) {
    Result<std::vector<Member>> members = json::read_object(body);
    if (!members.ok()) return members.error();
    Members read(std::move(*members));
    if (read.has_duplicates()) return Error(Code::duplicate_properties);
    return read;
  }

  std::vector<Member>& all() { return members_; }

  Member* find(std::string_view name) {
    const auto at = std::lower_bound(
        by_name_.begin(), by_name_.end(), name,
        [this](std::size_t i, std::string_view other) { return members_[i].name < other; });
    return at != by_name_.end() && members_[*at].name == name ? &members_[*at] : nullptr;
  }

  // What "<name>@odata.type" says; nullptr if it is not there.
  const Member* type_of(std::string_view name) {
    if (!has_types_) return nullptr;
    scratch_.assign(name).append(type_suffix);
    return find(scratch_);
  }

 private:
  explicit Members(std::vector<Member> members) : members_(std::move(members)) {
    by_name_.reserve(members_.size());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      by_name_.push_back(i);
      has_types_ = has_types_ || members_[i].name.ends_with(type_suffix);
    }
    std::sort(by_name_.begin(), by_name_.end(),
              [this](std::size_t a, std::size_t b) { return members_[a].name < members_[b].name; });
  }

  bool has_duplicates() const {
    return std::adjacent_find(by_name_.begin(), by_name_.end(),
                              [this](std::size_t a, std::size_t b) {
                                return members_[a].name == members_[b].name;
                              }) != by_name_.end();
  }

  std::vector<Member> members_;
  std::vector<std::size_t> by_name_;
  bool has_types_ = false;
  std::string scratch_;
};

// Neither a property nor a key: metadata, or what the server sets itself.
bool is_ignored(std::string_view name) {
  return starts_with(name, metadata_prefix) || name.ends_with(type_suffix) || name == "Timestamp";
}

// ---- Values -------------------------------------------------------------------------------------

// Whether a JSON value of this kind can be said to be of the type.
bool fits(Kind kind, EdmType type) {
  switch (kind) {
    case Kind::string:
      return true;
    case Kind::boolean:
      return type == EdmType::boolean;
    case Kind::number:
      return type == EdmType::int32 || type == EdmType::int64 || type == EdmType::float64;
    case Kind::null:
    case Kind::structure:
      break;
  }
  return false;
}

Result<EdmType> said_type(const Member& type) {
  const std::optional<EdmType> known = edm_from_name(type.text);
  if (type.kind != Kind::string || !known.has_value()) return Error(Code::invalid_input);
  return *known;
}

EdmType guessed_type(const Member& value) {
  if (value.kind == Kind::string) return EdmType::string;
  if (value.kind == Kind::boolean) return EdmType::boolean;
  const bool whole = value.text.find_first_of(".eE") == std::string::npos;
  return whole && parse_int32(value.text).has_value() ? EdmType::int32 : EdmType::float64;
}

Result<Value> read_value(const Member& value, const Member* type) {
  if (value.kind == Kind::structure) return Error(Code::invalid_input);
  if (type == nullptr) return parse_value(guessed_type(value), value.text, value.name);
  const Result<EdmType> said = said_type(*type);
  if (!said.ok()) return said.error();
  if (!fits(value.kind, *said)) return bad_value();
  return parse_value(*said, value.text, value.name);
}

// ---- Entities -----------------------------------------------------------------------------------

Result<std::string> take_key(Members& members, std::string_view name) {
  Member* value = members.find(name);
  if (value == nullptr || value->kind == Kind::null) return Error(Code::properties_need_value);
  const Member* type = members.type_of(name);
  if (value->kind != Kind::string || (type != nullptr && type->text != "Edm.String")) {
    return Error(Code::primary_key_type_invalid);
  }
  return std::move(value->text);
}

// Names are only taken when none is looked for any more.
void take_names(Members& members, const std::vector<std::size_t>& from,
                std::vector<Property>& properties) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    properties[i].name = std::move(members.all()[from[i]].name);
  }
}

Result<std::vector<Property>> take_properties(Members& members) {
  std::vector<Property> properties;
  std::vector<std::size_t> from;
  properties.reserve(members.all().size());
  from.reserve(members.all().size());
  for (Member& member : members.all()) {
    if (is_ignored(member.name) || member.name == "PartitionKey" || member.name == "RowKey") {
      continue;
    }
    const Member* type = members.type_of(member.name);
    if (member.kind == Kind::null) {
      if (type == nullptr) continue;
      if (const Result<EdmType> said = said_type(*type); !said.ok()) return said.error();
      continue;
    }
    Result<Value> value = read_value(member, type);
    if (!value.ok()) return value.error();
    properties.push_back(Property{{}, std::move(*value)});
    from.push_back(static_cast<std::size_t>(&member - members.all().data()));
  }
  take_names(members, from, properties);
  return properties;
}

}  // namespace

Result<EntityBody> read_inserted_entity(std::string_view body) {
  Result<Members> members = Members::read(body);
  if (!members.ok()) return members.error();
  EntityBody entity;
  for (const auto& [name, part] :
       {std::pair{"PartitionKey", &entity.key.partition}, std::pair{"RowKey", &entity.key.row}}) {
    Result<std::string> key = take_key(*members, name);
    if (!key.ok()) return key.error();
    *part = std::move(*key);
  }
  Result<std::vector<Property>> properties = take_properties(*members);
  if (!properties.ok()) return properties.error();
  entity.properties = std::move(*properties);
  return entity;
}

Result<EntityBody> read_updated_entity(std::string_view body) {
  Result<Members> members = Members::read(body);
  if (!members.ok()) return members.error();
  Result<std::vector<Property>> properties = take_properties(*members);
  if (!properties.ok()) return properties.error();
  return EntityBody{{}, std::move(*properties)};
}

Result<std::string> read_table_name(std::string_view body) {
  Result<Members> members = Members::read(body);
  if (!members.ok()) return members.error();
  Member* name = members->find("TableName");
  if (name == nullptr || name->kind == Kind::null) return Error(Code::properties_need_value);
  if (name->kind != Kind::string) return Error(Code::invalid_input);
  return std::move(name->text);
}

}  // namespace entitable::protocol
