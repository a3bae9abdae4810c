#include "core/rpc/write_parser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/model/property_name.h"
#include "core/rpc/message.h"
#include "core/rpc/write_request_fields.h"

namespace entitable::rpc {
namespace {

// The maximum length of a valid property name in bytes. Longer names are not copied, because many
// properties can refer to one name.
constexpr std::size_t name_bytes_max = 3 * limits::property_name_units_max;

Error malformed_write_error() {
  return Error(ErrorCode::invalid_input, "The request message is malformed.");
}
// The service's message for a value that does not fit its type.
Error type_mismatch_error() {
  return Error(ErrorCode::invalid_input, "An error occurred while processing this request.");
}

double double_from_bits(std::uint64_t bits) {
  double v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

Result<ValueView> date_time_value(double milliseconds, std::string_view property) {
  // The bound keeps the ticks within 64 bits. check_date_time_range() checks the range itself.
  constexpr double milliseconds_max = 5e14;
  if (!(std::fabs(milliseconds) <= milliseconds_max) || milliseconds != std::floor(milliseconds)) {
    return type_mismatch_error();
  }
  const Ticks ticks =
      static_cast<Ticks>(milliseconds) * ticks_per_millisecond + ticks_at_unix_epoch;
  const Result<Ticks> checked = check_date_time_range(ticks, property);
  if (!checked.ok()) return checked.error();
  return ValueView::of_date_time(*checked);
}

// Adds the property if its value has the native form of a type whose values need no check, and
// returns true. Most properties are of this kind. Otherwise returns false and reads nothing.
bool add_native_property(MessageReader& in, std::string_view name,
                         const MessageReader::PropertyRecord& record, PropertyList& out) {
  // The word is type + 256 * form, so for the native form (0) it equals the type.
  static_assert(static_cast<std::uint32_t>(ValueForm::native) == 0);
  const auto number = static_cast<std::int64_t>(record.payload);
  const auto length = static_cast<std::uint32_t>(record.payload);
  switch (record.type_and_form) {
    case static_cast<std::uint32_t>(EdmType::string):
      out.push_back(PropertyView{name, ValueView::of_string(in.text(length))});
      return true;
    case static_cast<std::uint32_t>(EdmType::binary):
      out.push_back(PropertyView{name, ValueView::of_binary(in.binary(length))});
      return true;
    case static_cast<std::uint32_t>(EdmType::boolean):
      out.push_back(PropertyView{name, ValueView::of_boolean(number != 0)});
      return true;
    case static_cast<std::uint32_t>(EdmType::float64):
      out.push_back(PropertyView{name, ValueView::from_parts(EdmType::float64, number, {})});
      return true;
    case static_cast<std::uint32_t>(EdmType::int32):
      out.push_back(PropertyView{name, ValueView::of_int32(static_cast<std::int32_t>(number))});
      return true;
    case static_cast<std::uint32_t>(EdmType::int64):
      out.push_back(PropertyView{name, ValueView::of_int64(number)});
      return true;
    default:
      return false;
  }
}

// Converts a JavaScript number to the type. Fails unless the conversion is exact.
Result<ValueView> number_value(EdmType type, double number) {
  if (type == EdmType::float64) return ValueView::of_double(number);
  if (number != std::floor(number)) return type_mismatch_error();  // also NaN
  if (type == EdmType::int32 && number >= -0x1p31 && number < 0x1p31) {
    return ValueView::of_int32(static_cast<std::int32_t>(number));
  }
  if (type == EdmType::int64 && number >= -0x1p63 && number < 0x1p63) {
    return ValueView::of_int64(static_cast<std::int64_t>(number));
  }
  return type_mismatch_error();
}

// Converts values of all forms except text and those that add_native_property() handles.
Result<ValueView> value_of(EdmType type, const PropertyPayload& payload,
                           std::string_view property) {
  switch (payload.form) {
    case ValueForm::native:
      if (type == EdmType::date_time)
        return date_time_value(double_from_bits(payload.bits), property);
      break;
    case ValueForm::number:
      return number_value(type, double_from_bits(payload.bits));
    case ValueForm::boolean:
      if (type == EdmType::boolean) return ValueView::of_boolean(payload.bits != 0);
      break;
    case ValueForm::text:
    case ValueForm::unusable:
      break;
  }
  return type_mismatch_error();
}

// Adds the property if its value fits its type. REQUIRES: add_native_property() returned false.
Result<void> add_property(std::string_view name, const PropertyPayload& payload,
                          PropertyList& out) {
  const std::optional<EdmType> type = edm_from_number(payload.type);
  if (!type.has_value()) return type_mismatch_error();
  if (payload.form == ValueForm::text) {
    Result<Value> parsed = parse_value(*type, payload.bytes, name);
    if (!parsed.ok()) return parsed.error();
    out.push_back(name, std::move(*parsed));
    return {};
  }
  const Result<ValueView> value = value_of(*type, payload, name);
  if (!value.ok()) return value.error();
  out.push_back(PropertyView{name, *value});
  return {};
}

// How properties with a name are handled. Each name of a message is classified once, because many
// operations may use it.
enum class PropertyNameKind : std::uint8_t { custom, ignored, too_long, duplicate_key };
struct ClassifiedName {
  std::string_view text;
  PropertyNameKind kind = PropertyNameKind::ignored;
};

ClassifiedName classify_name(std::string_view name) {
  // A quick test: the names that need a closer look are too long or begin with o, P, R or T.
  const char first = name.empty() ? '\0' : name.front();
  const bool has_custom_initial = first != 'o' && first != 'P' && first != 'R' && first != 'T';
  if (has_custom_initial && name.size() <= name_bytes_max) return {name, PropertyNameKind::custom};
  // The service accepts properties with these names and does not store them.
  if (name == "Timestamp" || name.substr(0, 6) == "odata.")
    return {name, PropertyNameKind::ignored};
  if (name.size() > name_bytes_max) return {name, PropertyNameKind::too_long};
  return {name,
          is_system_property(name) ? PropertyNameKind::duplicate_key : PropertyNameKind::custom};
}

// Adds the property, ignores it, or returns an error, depending on the kind of its name.
Result<void> add_classified_property(const ClassifiedName& name, const PropertyPayload& payload,
                                     PropertyList& out) {
  switch (name.kind) {
    case PropertyNameKind::custom:
      return add_property(name.text, payload, out);
    case PropertyNameKind::ignored:
      return {};
    case PropertyNameKind::too_long:
      return Error(ErrorCode::property_name_too_long);
    case PropertyNameKind::duplicate_key:
      return Error(ErrorCode::duplicate_properties);
  }
  check_failed("a name has a kind", __FILE__, __LINE__);
}

Result<void> read_properties(MessageReader& in, std::span<const ClassifiedName> names,
                             std::uint32_t count, PropertyList& out) {
  out.reserve(std::min<std::size_t>(count, limits::custom_properties_max + 1));
  // The first error. The remaining properties are still read, because the error for a malformed
  // message takes precedence.
  std::optional<Error> failure;
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const MessageReader::PropertyRecord record = in.property_record();
    if (!in.ok() || record.name_index >= names.size()) {
      in.fail();
      break;
    }
    const ClassifiedName& name = names[record.name_index];
    if (name.kind == PropertyNameKind::custom && add_native_property(in, name.text, record, out))
      continue;
    const PropertyFields fields = read_property_fields(in, record);
    if (failure.has_value() || !in.ok()) continue;
    if (const Result<void> taken = add_classified_property(name, fields.payload, out);
        !taken.ok()) {
      failure = taken.error();
    }
  }
  if (!in.ok()) return malformed_write_error();
  if (failure.has_value()) return *failure;
  return {};
}

Result<void> read_operation(MessageReader& in, std::span<const ClassifiedName> names,
                            Operation& operation) {
  const OperationFields fields = read_operation_fields(in);
  if (!in.ok()) return malformed_write_error();
  operation.kind = fields.kind;
  operation.key.partition = fields.partition.text;
  operation.key.row = fields.row.text;
  operation.properties.clear();
  operation.if_match = IfMatch();
  operation.same_shape_as_previous = false;
  Result<void> properties = read_properties(in, names, fields.properties, operation.properties);
  if (!properties.ok()) return properties;
  if (fields.partition.absent || fields.row.absent) return Error(ErrorCode::properties_need_value);
  if (fields.partition.not_a_string || fields.row.not_a_string)
    return Error(ErrorCode::primary_key_type_invalid);
  const bool conditional = operation.kind == OperationKind::replace ||
                           operation.kind == OperationKind::merge ||
                           operation.kind == OperationKind::remove;
  if (conditional && fields.etag.has_value()) {
    Result<IfMatch> condition = IfMatch::parse(*fields.etag);
    if (!condition.ok()) return condition.error();
    operation.if_match = std::move(*condition);
  }
  return {};
}

// Reads all operations. Returns the first operation's error; the caller checks in.ok().
std::optional<GroupFailure> read_operations(MessageReader& in, const WriteRequestHeader& fields,
                                            std::span<const ClassifiedName> names,
                                            WriteEntities& write) {
  write.transaction = fields.transaction;
  write.size_checked = false;
  write.table = fields.table;
  write.operations.resize(fields.operations);
  for (std::uint32_t i = 0; i < fields.operations; ++i) {
    Operation& operation = write.operations[i];
    const Result<void> done = read_operation(in, names, operation);
    if (!in.ok()) return std::nullopt;
    if (!done.ok()) {
      return operation_failure(done.error(), i, fields.operations, fields.transaction);
    }
    if (i > 0) {
      operation.same_shape_as_previous =
          same_names_and_types(operation.properties, write.operations[i - 1].properties);
    }
  }
  write.texts = in.converted_text_owner();
  return std::nullopt;
}

std::optional<GroupFailure> parse_entities(MessageReader& in, WriteRequest& request) {
  auto* const before = std::get_if<WriteEntities>(&request.body);
  WriteEntities& write = before == nullptr ? request.body.emplace<WriteEntities>() : *before;
  const WriteRequestHeader fields = read_write_request_header(in);
  constexpr std::size_t few_names = 24;
  std::array<ClassifiedName, few_names> few;
  std::vector<ClassifiedName> many(fields.name_count() > few_names ? fields.name_count() : 0);
  const std::span<ClassifiedName> names =
      many.empty() ? std::span<ClassifiedName>(few).first(fields.name_count())
                   : std::span<ClassifiedName>(many);
  std::size_t read = 0;
  read_property_names(in, fields,
                      [&](std::string_view name) { names[read++] = classify_name(name); });
  std::optional<GroupFailure> failure;
  if (in.ok()) failure = read_operations(in, fields, names, write);
  if (!in.ok()) failure = GroupFailure{malformed_write_error()};
  return failure;
}

// Parses a request that consists of a table name.
template <typename Write>
std::optional<GroupFailure> parse_table(MessageReader& in, WriteRequest& request) {
  request.body = Write{std::string(in.text())};
  if (!in.ok()) return GroupFailure{malformed_write_error()};
  return std::nullopt;
}

}  // namespace

bool is_single_row_write(std::string_view message) {
  constexpr std::size_t operations_at = header_bytes + sizeof(std::uint32_t);
  std::uint32_t operations = 0;
  if (message.size() < operations_at + sizeof operations ||
      static_cast<RequestKind>(message.front()) != RequestKind::write) {
    return false;
  }
  std::memcpy(&operations, message.data() + operations_at, sizeof operations);
  return operations == 1;
}

std::optional<GroupFailure> parse_write(std::string_view message, WriteRequest& request) {
  request.call.reset();
  MessageReader in(message);
  if (!in.ok()) return GroupFailure{malformed_write_error()};
  switch (static_cast<RequestKind>(in.kind())) {
    case RequestKind::write:
      return parse_entities(in, request);
    case RequestKind::create_table:
      return parse_table<WriteCreateTable>(in, request);
    case RequestKind::drop_table:
      return parse_table<WriteDropTable>(in, request);
    case RequestKind::get:
    case RequestKind::query:
    case RequestKind::explain:
    case RequestKind::list_tables:
    case RequestKind::multi_get:
    case RequestKind::query_descending:
    case RequestKind::count:
    case RequestKind::partition_keys:
    case RequestKind::open_watch:
    case RequestKind::read_watch:
    case RequestKind::close_watch:
    case RequestKind::open_feed:
    case RequestKind::close_feed:
    case RequestKind::close_listeners:
    case RequestKind::take_changes:
    case RequestKind::read_past:
    case RequestKind::feed_reader:
      break;
  }
  return GroupFailure{malformed_write_error()};
}

}  // namespace entitable::rpc
