// Shapes on disk: the list of (property name, Edm type) that many rows share. A shape is written
// once per segment or part; rows refer to it by number and hold only values.
//
//   shape       = 0 definition | number        number: of a shape defined before, from 1
//   definition  = count property*
//   property    = type:u8 name:bytes
//
// A shape of the index is a set. A shape on disk is a list, so that an entity read back has its
// properties in the order in which they were written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/utf8.h"
#include "core/model/entity.h"

namespace entitable {

struct ShapeProperty {
  std::string_view name;
  EdmType type;
};

void append_definition(std::span<const PropertyView> properties, std::string& out);
// A faster form that writes with plain stores to reserved memory. definition_bytes_max() returns
// the number of bytes to reserve; put_definition() returns the end of what it wrote.
std::size_t definition_bytes_max(std::span<const PropertyView> properties);
char* put_definition(char* at, std::span<const PropertyView> properties);

// Numbers definitions, from 1 in order of first use.
class ShapeNumbers {
 public:
  struct Numbered {
    std::uint32_t number;
    bool is_new;
  };
  Numbered number_of(std::string_view definition);
  // The number of the first definition, after that definition has been numbered.
  static constexpr Numbered first{1, false};
  // Returns the first definition if `bytes` start with it, else an empty text. No definition is a
  // prefix of another.
  std::string_view match_first(std::string_view bytes) const {
    const std::string_view start = bytes.substr(0, first_.size());
    return same_text(start, first_) ? start : std::string_view();
  }

 private:
  std::uint32_t count_ = 0;
  std::string first_;  // compared before the map, because most segments define one shape
  std::unordered_map<std::string, std::uint32_t> others_;
  std::string scratch_;
};

// Numbers the shapes of rows when a file is written.
class RowShapes {
 public:
  ShapeNumbers::Numbered number_of(std::span<const PropertyView> properties);
  // Returns the definition of the row that was numbered last.
  std::string_view definition() const { return definition_; }

 private:
  struct Member {
    std::size_t name_at;  // in definition_
    std::size_t name_bytes;
    EdmType type;
  };
  bool is_last(std::span<const PropertyView> properties) const;
  void define(std::span<const PropertyView> properties);

  ShapeNumbers numbers_;
  // Most rows have the same shape as the row before.
  std::uint32_t last_number_ = 0;
  std::string definition_;
  std::vector<Member> last_;
};

// A shape read from a file. Names point into the bytes it was read from.
struct DecodedShape {
  std::vector<ShapeProperty> properties;
  // The bytes that entity_size() counts for the names and values, without the contents of String
  // and Binary values.
  std::size_t entity_size = 0;
};

// Maps numbers to shapes when a file is read. Each shape satisfies the rules for the properties of
// an entity that do not depend on values (check_properties).
class ShapeDictionary {
 public:
  // Reads a definition and appends it. Returns null, or why the definition is bad.
  const char* read_definition(ByteReader& reader);
  // Reads a shape of either form and sets `number`. Returns null, or why the bytes are bad.
  const char* read(ByteReader& reader, std::uint64_t& number);
  // REQUIRES: 0 < number <= size().
  const DecodedShape& shape(std::uint64_t number) const {
    return shapes_[static_cast<std::size_t>(number - 1)];
  }
  std::size_t size() const { return shapes_.size(); }

 private:
  std::vector<DecodedShape> shapes_;
  std::vector<std::string_view> names_;  // scratch
};

}  // namespace entitable
