#include "core/direct/record.h"

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
#include "core/direct/block.h"
#include "core/direct/write_words.h"
#include "core/model/limits.h"
#include "core/model/property_name.h"

namespace entitable::direct {
namespace {

// Of a property that could be stored. Many properties can refer to one name, so that longer ones
// are not even copied.
constexpr std::size_t name_bytes_max = 3 * limits::property_name_units_max;

Error malformed() {
  return Error(Code::invalid_input, "The request block is malformed.");
}
// The service's text for a value that does not fit its type.
Error misfit() {
  return Error(Code::invalid_input, "An error occurred while processing this request.");
}

double as_double(std::uint64_t bits) {
  double v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

Result<ValueView> date_time_value(double milliseconds, std::string_view property) {
  // The bound keeps the ticks within 64 bits; whether the date is in range is the model's rule.
  constexpr double milliseconds_max = 5e14;
  if (!(std::fabs(milliseconds) <= milliseconds_max) || milliseconds != std::floor(milliseconds)) {
    return misfit();
  }
  const Ticks ticks =
      static_cast<Ticks>(milliseconds) * ticks_per_millisecond + ticks_at_unix_epoch;
  const Result<Ticks> checked = checked_date_time(ticks, property);
  if (!checked.ok()) return checked.error();
  return ValueView::of_date_time(*checked);
}

// Most values come in the form of their type and fit whatever they are. False: this one does not,
// and nothing was read of it.
bool add_plain(BlockReader& in, std::string_view name, const BlockReader::Record& record,
               PropertyList& out) {
  static_assert(static_cast<std::uint32_t>(Form::native) == 0);  // so the type is the whole word
  const auto number = static_cast<std::int64_t>(record.payload);
  const auto length = static_cast<std::uint32_t>(record.payload);
  switch (record.second) {
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

// A JavaScript number given as the value of a type: it fits if nothing of it is lost.
Result<ValueView> number_value(EdmType type, double number) {
  if (type == EdmType::float64) return ValueView::of_double(number);
  if (number != std::floor(number)) return misfit();  // also NaN
  if (type == EdmType::int32 && number >= -0x1p31 && number < 0x1p31) {
    return ValueView::of_int32(static_cast<std::int32_t>(number));
  }
  if (type == EdmType::int64 && number >= -0x1p63 && number < 0x1p63) {
    return ValueView::of_int64(static_cast<std::int64_t>(number));
  }
  return misfit();
}

// Of every form but text, and not add_plain().
Result<ValueView> value_of(EdmType type, const Payload& payload, std::string_view property) {
  switch (payload.form) {
    case Form::native:
      if (type == EdmType::date_time) return date_time_value(as_double(payload.bits), property);
      break;
    case Form::number:
      return number_value(type, as_double(payload.bits));
    case Form::boolean:
      if (type == EdmType::boolean) return ValueView::of_boolean(payload.bits != 0);
      break;
    case Form::text:
    case Form::unusable:
      break;
  }
  return misfit();
}

// Adds the property if its value fits its type. REQUIRES: add_plain() does not.
Result<void> add_property(std::string_view name, const Payload& payload, PropertyList& out) {
  const std::optional<EdmType> type = edm_from_number(payload.type);
  if (!type.has_value()) return misfit();
  if (payload.form == Form::text) {
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

// What becomes of a property, as far as its name tells. Told once for each name of a block.
enum class Fate : std::uint8_t { stored, ignored, name_too_long, key_again };
struct Name {
  std::string_view text;
  Fate fate = Fate::ignored;
};

Name judged(std::string_view name) {
  // How all begin that are not stored, but for those that are too long.
  const char first = name.empty() ? '\0' : name.front();
  const bool plain = first != 'o' && first != 'P' && first != 'R' && first != 'T';
  if (plain && name.size() <= name_bytes_max) return {name, Fate::stored};
  // Members that the service takes and never stores.
  if (name == "Timestamp" || name.substr(0, 6) == "odata.") return {name, Fate::ignored};
  if (name.size() > name_bytes_max) return {name, Fate::name_too_long};
  return {name, is_system_property(name) ? Fate::key_again : Fate::stored};
}

// Adds the property if it is to be stored.
Result<void> take_property(const Name& name, const Payload& payload, PropertyList& out) {
  switch (name.fate) {
    case Fate::stored:
      return add_property(name.text, payload, out);
    case Fate::ignored:
      return {};
    case Fate::name_too_long:
      return Error(Code::property_name_too_long);
    case Fate::key_again:
      return Error(Code::duplicate_properties);
  }
  check_failed("a name has a fate", __FILE__, __LINE__);
}

Result<void> read_properties(BlockReader& in, std::span<const Name> names, std::uint32_t count,
                             PropertyList& out) {
  out.reserve(std::min<std::size_t>(count, limits::custom_properties_max + 1));
  std::optional<Error>
      refusal;  // the first; the rest is still read, so that a malformed block is told apart
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const BlockReader::Record record = in.record();
    if (!in.ok() || record.first >= names.size()) {
      in.fail();
      break;
    }
    const Name& name = names[record.first];
    if (name.fate == Fate::stored && add_plain(in, name.text, record, out)) continue;
    const PropertyWords words = read_property_words(in, record);
    if (refusal.has_value() || !in.ok()) continue;
    if (const Result<void> taken = take_property(name, words.payload, out); !taken.ok()) {
      refusal = taken.error();
    }
  }
  if (!in.ok()) return malformed();
  if (refusal.has_value()) return *refusal;
  return {};
}

Result<void> read_operation(BlockReader& in, std::span<const Name> names, Operation& operation) {
  const OperationWords words = read_operation_words(in);
  if (!in.ok()) return malformed();
  operation.kind = words.kind;
  operation.key.partition = words.partition.text;
  operation.key.row = words.row.text;
  operation.properties.clear();
  operation.if_match = IfMatch();
  operation.alike = false;
  Result<void> properties = read_properties(in, names, words.properties, operation.properties);
  if (!properties.ok()) return properties;
  if (words.partition.absent || words.row.absent) return Error(Code::properties_need_value);
  if (words.partition.not_text || words.row.not_text) return Error(Code::primary_key_type_invalid);
  const bool conditional = operation.kind == OperationKind::replace ||
                           operation.kind == OperationKind::merge ||
                           operation.kind == OperationKind::remove;
  if (conditional && words.etag.has_value()) {
    Result<IfMatch> condition = IfMatch::parse(*words.etag);
    if (!condition.ok()) return condition.error();
    operation.if_match = std::move(*condition);
  }
  return {};
}

// Whether they are there is the reader's to say.
std::optional<GroupFailure> read_operations(BlockReader& in, const WriteWords& words,
                                            std::span<const Name> names, WriteEntities& write) {
  write.transaction = words.transaction;
  write.measured = false;
  write.table = words.table;
  write.operations.resize(words.operations);
  for (std::uint32_t i = 0; i < words.operations; ++i) {
    Operation& operation = write.operations[i];
    const Result<void> done = read_operation(in, names, operation);
    if (!in.ok()) return std::nullopt;
    if (!done.ok()) {
      return operation_failure(done.error(), i, words.operations, words.transaction);
    }
    if (i > 0) {
      operation.alike = same_columns(operation.properties, write.operations[i - 1].properties);
    }
  }
  write.texts = in.own_texts();
  return std::nullopt;
}

std::optional<GroupFailure> parse_entities(BlockReader& in, WriteRequest& request) {
  auto* const before = std::get_if<WriteEntities>(&request.body);
  WriteEntities& write = before == nullptr ? request.body.emplace<WriteEntities>() : *before;
  const WriteWords words = read_write_words(in);
  constexpr std::size_t few_names = 24;
  std::array<Name, few_names> few;
  std::vector<Name> many(words.names() > few_names ? words.names() : 0);
  const std::span<Name> names =
      many.empty() ? std::span<Name>(few).first(words.names()) : std::span<Name>(many);
  std::size_t read = 0;
  read_names(in, words, [&](std::string_view name) { names[read++] = judged(name); });
  std::optional<GroupFailure> refusal;
  if (in.ok()) refusal = read_operations(in, words, names, write);
  if (!in.ok()) refusal = GroupFailure{malformed()};
  return refusal;
}

// What names a table only.
template <typename Write>
std::optional<GroupFailure> parse_table(BlockReader& in, WriteRequest& request) {
  request.body = Write{std::string(in.text())};
  if (!in.ok()) return GroupFailure{malformed()};
  return std::nullopt;
}

}  // namespace

bool is_single_write(std::string_view block) {
  constexpr std::size_t operations_at = header_bytes + sizeof(std::uint32_t);
  std::uint32_t operations = 0;
  if (block.size() < operations_at + sizeof operations ||
      static_cast<RequestKind>(block.front()) != RequestKind::write) {
    return false;
  }
  std::memcpy(&operations, block.data() + operations_at, sizeof operations);
  return operations == 1;
}

std::optional<GroupFailure> parse_write(std::string_view block, WriteRequest& request) {
  request.call.reset();
  BlockReader in(block);
  if (!in.ok()) return GroupFailure{malformed()};
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
    case RequestKind::get_each:
      break;
  }
  return GroupFailure{malformed()};
}

}  // namespace entitable::direct
