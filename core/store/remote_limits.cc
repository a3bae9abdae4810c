#include "core/store/remote_limits.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace entitable {
namespace {

using Properties = std::span<const PropertyView>;

// ---- Names --------------------------------------------------------------------------------------

constexpr std::array reserved_names = {std::string_view("id"), std::string_view("rid"),
                                       std::string_view("etag"), std::string_view("resourceid")};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// Cosmos DB does not compare the case: it also refuses "Id", and answers "ETag" with 500
// (Azure/azure-sdk-for-net#21405), after which a push would be repeated without end.
bool is_reserved(const PropertyView& property) {
  const std::string_view name = property.name;
  return std::any_of(reserved_names.begin(), reserved_names.end(), [&](std::string_view reserved) {
    return name.size() == reserved.size() &&
           std::equal(name.begin(), name.end(), reserved.begin(),
                      [](char a, char b) { return lower(a) == b; });
  });
}

// ---- Size ---------------------------------------------------------------------------------------

constexpr std::size_t envelope_bytes = 1024;  // of an operation: boundaries, headers, and its URL
constexpr std::size_t type_bytes = 64;        // of a property's Edm type and punctuation
constexpr std::size_t escape_bytes_max = 6;   // \u0001
constexpr std::size_t quotes_bytes = 2;
// The longest value that is neither String nor Binary: a Guid, in quotes.
constexpr std::size_t fixed_value_bytes_max = 36 + quotes_bytes;

// An unpaired surrogate is escaped, too.
std::size_t escaped_bytes(std::string_view text) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<std::uint8_t>(text[i]);
    if (c == '"' || c == '\\' || (c >= '\b' && c <= '\r' && c != '\v'))
      bytes += 2;
    else if (c < 0x20)
      bytes += escape_bytes_max;
    else if (c == 0xED && static_cast<std::uint8_t>(text[i + 1]) >= 0xA0)
      bytes += escape_bytes_max - 2;  // the next two bytes of the surrogate count 1 each
    else
      bytes += 1;
  }
  return bytes;
}

// Returns at least the length of the value as JSON. `is_quick`: without reading it.
std::size_t json_bytes(const ValueView& value, bool is_quick) {
  const std::size_t bytes = value.bytes().size();
  switch (value.type()) {
    case EdmType::string:
      return quotes_bytes + (is_quick ? escape_bytes_max * bytes : escaped_bytes(value.string()));
    case EdmType::binary:
      return quotes_bytes + (bytes + 2) / 3 * 4;
    case EdmType::boolean:
    case EdmType::date_time:
    case EdmType::float64:
    case EdmType::guid:
    case EdmType::int32:
    case EdmType::int64:
      return fixed_value_bytes_max;
  }
  return fixed_value_bytes_max;
}

// A merge is refused for entities with client-side encryption, so they are replaced.
bool is_encrypted(Properties properties) {
  return std::any_of(properties.begin(), properties.end(), [](const PropertyView& property) {
    return property.name == "_ClientEncryptionMetadata1" ||
           property.name == "_ClientEncryptionMetadata2";
  });
}

Properties sent_properties(const OperationToPush& operation) {
  if (operation.after == nullptr) return {};
  const Properties all = operation.after->properties;
  return operation.replaces || is_encrypted(all) ? all : operation.set;
}

std::size_t batch_bytes(const std::vector<OperationToPush>& operations, bool is_quick) {
  std::size_t bytes = 0;
  for (const OperationToPush& operation : operations) {
    const std::size_t key_bytes = operation.key.partition.size() + 1 + operation.key.row.size();
    bytes += envelope_bytes + 2 * 3 * key_bytes;  // in the body, and escaped in the URL
    for (const PropertyView& property : sent_properties(operation))
      bytes += 2 * property.name.size() + type_bytes + json_bytes(property.value, is_quick);
  }
  return bytes;
}

bool is_within_batch_size(const std::vector<OperationToPush>& operations) {
  return batch_bytes(operations, true) <= limits::cosmos_batch_bytes_max ||
         batch_bytes(operations, false) <= limits::cosmos_batch_bytes_max;
}

}  // namespace

bool is_cosmos_db(const RowView& remote_service) {
  const std::optional<ValueView> value = remote_service.find("V0");
  return value.has_value() && value->type() == EdmType::binary &&
         value->binary() == R"([1,"cosmos"])";
}

std::optional<GroupFailure> check_cosmos_limits(const std::vector<OperationToPush>& operations,
                                                bool transaction) {
  if (!is_within_batch_size(operations))
    return GroupFailure{Error(ErrorCode::request_body_too_large), 0, false};
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto& [key, after, set, replaces] = operations[i];
    if (after == nullptr) continue;
    const auto fail = [&](ErrorCode code) {
      return operation_failure(Error(code), i, operations.size(), transaction);
    };
    if (key.row.size() > limits::cosmos_row_key_bytes_max)
      return fail(ErrorCode::property_value_too_large);
    if (std::any_of(after->properties.begin(), after->properties.end(), is_reserved))
      return fail(ErrorCode::property_name_invalid);
  }
  return std::nullopt;
}

}  // namespace entitable
