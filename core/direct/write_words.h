// The words of a write, in the order of LAYOUT.md; what they mean is not looked at. Whether they
// were there at all is the reader's to say (BlockReader::ok). Internal to core/direct.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/direct/block.h"
#include "core/model/edm.h"
#include "core/txn/operation.h"

namespace entitable::direct {

struct WriteWords {
  bool transaction = false;
  std::uint32_t operations = 0;
  std::string_view table;
  std::string_view lengths;  // of the names, a word each

  std::size_t names() const { return lengths.size() / 4; }
};

struct KeyWord {
  std::string_view text;
  bool absent = false;
  bool not_text = false;
};

struct OperationWords {
  OperationKind kind = OperationKind::insert;
  std::uint32_t properties = 0;
  KeyWord partition, row;
  std::optional<std::string_view> etag;
};

enum class Form : std::uint8_t { native = 0, text = 1, number = 2, boolean = 3, unusable = 4 };

// What a property record holds besides the name, taken out of the block but not yet looked at.
struct Payload {
  std::uint8_t type = 0;
  Form form = Form::unusable;
  std::uint64_t bits = 0;
  std::string_view bytes;  // text or binary
};

// Up to the names.
inline WriteWords read_write_words(BlockReader& in) {
  constexpr std::uint32_t flag_transaction = 1;
  constexpr std::size_t operation_words = 4;
  const std::uint32_t flags = in.word();
  WriteWords words;
  words.transaction = (flags & flag_transaction) != 0;
  words.operations = in.word();
  const std::uint32_t name_count = in.word();
  words.table = in.text();
  words.lengths = in.take_last_words(name_count);
  if ((flags & ~flag_transaction) != 0 || in.words_left() / operation_words < words.operations ||
      (words.operations > 1 && !words.transaction)) {
    in.fail();
  }
  return words;
}

// Up to the operations. `take_name` is told each name.
template <typename TakeName>
void read_names(BlockReader& in, const WriteWords& words, TakeName take_name) {
  for (std::size_t i = 0; i < words.names(); ++i) {
    std::uint32_t units;
    std::memcpy(&units, words.lengths.data() + i * sizeof units, sizeof units);
    take_name(in.text(units));
  }
}

inline KeyWord read_key_word(BlockReader& in) {
  const std::uint32_t units = in.word();
  if (units == none) return KeyWord{{}, true, false};
  if (units == not_text) return KeyWord{{}, false, true};
  return KeyWord{in.text(units), false, false};
}

// Up to the properties of the operation.
inline OperationWords read_operation_words(BlockReader& in) {
  constexpr std::size_t property_words = 4;
  const std::uint32_t kind_and_count = in.word();
  const std::uint32_t kind = kind_and_count & 0xFF;
  OperationWords words;
  words.properties = kind_and_count >> 8;
  words.partition = read_key_word(in);
  words.row = read_key_word(in);
  words.etag = in.optional_text();
  if (kind > static_cast<std::uint32_t>(OperationKind::remove) ||
      in.words_left() / property_words < words.properties) {
    in.fail();
  } else {
    words.kind = static_cast<OperationKind>(kind);
  }
  return words;
}

struct PropertyWords {
  std::uint32_t name = 0;  // its position among the names
  Payload payload;
};

// `record` is in.record(), read just before.
inline PropertyWords read_property_words(BlockReader& in, const BlockReader::Record& record) {
  PropertyWords words;
  words.name = record.first;
  Payload& payload = words.payload;
  payload.type = static_cast<std::uint8_t>(record.second);
  payload.bits = record.payload;
  const std::uint32_t form = record.second >> 8;
  if (form > static_cast<std::uint32_t>(Form::unusable)) {
    in.fail();
    return words;
  }
  payload.form = static_cast<Form>(form);
  const auto length = static_cast<std::uint32_t>(payload.bits);
  const bool native = payload.form == Form::native;
  if (payload.form == Form::text ||
      (native && payload.type == static_cast<std::uint8_t>(EdmType::string))) {
    payload.bytes = in.text(length);
  } else if (native && payload.type == static_cast<std::uint8_t>(EdmType::binary)) {
    payload.bytes = in.binary(length);
  }
  return words;
}

}  // namespace entitable::direct
