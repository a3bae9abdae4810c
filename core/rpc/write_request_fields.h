// Reads the fields of write requests in the order of LAYOUT.md, without checking their meaning.
// MessageReader::ok() reports whether all fields were present. Internal to core/rpc.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/model/edm.h"
#include "core/rpc/message.h"
#include "core/txn/operation.h"

namespace entitable::rpc {

struct WriteRequestHeader {
  bool transaction = false;
  std::uint32_t operations = 0;
  std::string_view table;
  std::string_view name_lengths;  // one word per property name

  std::size_t name_count() const { return name_lengths.size() / 4; }
};

struct KeyField {
  std::string_view text;
  bool absent = false;
  bool not_a_string = false;
};

struct OperationFields {
  OperationKind kind = OperationKind::insert;
  std::uint32_t properties = 0;
  KeyField partition, row;
  std::optional<std::string_view> etag;
};

enum class ValueForm : std::uint8_t { native = 0, text = 1, number = 2, boolean = 3, unusable = 4 };

// The value of a property as the message has it, not checked against the type.
struct PropertyPayload {
  std::uint8_t type = 0;
  ValueForm form = ValueForm::unusable;
  std::uint64_t bits = 0;
  std::string_view bytes;  // text or binary
};

// Reads the fields before the names.
inline WriteRequestHeader read_write_request_header(MessageReader& in) {
  constexpr std::uint32_t flag_transaction = 1;
  constexpr std::size_t operation_words = 4;
  const std::uint32_t flags = in.word();
  WriteRequestHeader fields;
  fields.transaction = (flags & flag_transaction) != 0;
  fields.operations = in.word();
  const std::uint32_t name_count = in.word();
  fields.table = in.text();
  fields.name_lengths = in.take_last_words(name_count);
  if ((flags & ~flag_transaction) != 0 || in.words_left() / operation_words < fields.operations ||
      (fields.operations > 1 && !fields.transaction)) {
    in.fail();
  }
  return fields;
}

// Reads the names and calls on_name with each of them.
template <typename OnName>
void read_property_names(MessageReader& in, const WriteRequestHeader& fields, OnName on_name) {
  for (std::size_t i = 0; i < fields.name_count(); ++i) {
    std::uint32_t units;
    std::memcpy(&units, fields.name_lengths.data() + i * sizeof units, sizeof units);
    on_name(in.text(units));
  }
}

inline KeyField read_key_field(MessageReader& in) {
  const std::uint32_t units = in.word();
  if (units == none) return KeyField{{}, true, false};
  if (units == not_a_string) return KeyField{{}, false, true};
  return KeyField{in.text(units), false, false};
}

// Reads the fields of an operation before its properties.
inline OperationFields read_operation_fields(MessageReader& in) {
  constexpr std::size_t property_words = 4;
  const std::uint32_t kind_and_count = in.word();
  const std::uint32_t kind = kind_and_count & 0xFF;
  OperationFields fields;
  fields.properties = kind_and_count >> 8;
  fields.partition = read_key_field(in);
  fields.row = read_key_field(in);
  fields.etag = in.optional_text();
  if (kind > static_cast<std::uint32_t>(OperationKind::remove) ||
      in.words_left() / property_words < fields.properties) {
    in.fail();
  } else {
    fields.kind = static_cast<OperationKind>(kind);
  }
  return fields;
}

struct PropertyFields {
  std::uint32_t name_index = 0;  // position of the name in the message's names
  PropertyPayload payload;
};

// Reads the text or bytes of a property. REQUIRES: `record` is the last result of
// in.property_record().
inline PropertyFields read_property_fields(MessageReader& in,
                                           const MessageReader::PropertyRecord& record) {
  PropertyFields fields;
  fields.name_index = record.name_index;
  PropertyPayload& payload = fields.payload;
  payload.type = static_cast<std::uint8_t>(record.type_and_form);
  payload.bits = record.payload;
  const std::uint32_t form = record.type_and_form >> 8;
  if (form > static_cast<std::uint32_t>(ValueForm::unusable)) {
    in.fail();
    return fields;
  }
  payload.form = static_cast<ValueForm>(form);
  const auto length = static_cast<std::uint32_t>(payload.bits);
  const bool native = payload.form == ValueForm::native;
  if (payload.form == ValueForm::text ||
      (native && payload.type == static_cast<std::uint8_t>(EdmType::string))) {
    payload.bytes = in.text(length);
  } else if (native && payload.type == static_cast<std::uint8_t>(EdmType::binary)) {
    payload.bytes = in.binary(length);
  }
  return fields;
}

}  // namespace entitable::rpc
