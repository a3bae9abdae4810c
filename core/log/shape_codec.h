// Shapes on disk. A shape is the list of property names and Edm types that many rows share. The
// definition of a shape is written once per segment or part. Rows refer to the shape by its number
// and store only values.
//
//   shape       = 0 definition | number        number: of an earlier definition, from 1
//   definition  = count property*
//   property    = type:u8 name:bytes
//
// In the index, a shape is a set (core/index/shape.h). A shape on disk is a list, so that an entity
// read from disk has its properties in the order in which they were written.
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
// A faster form of append_definition(), which writes to memory that the caller has reserved.
// definition_bytes_max() returns the number of bytes to reserve; put_definition() returns the end
// of what it wrote.
std::size_t definition_bytes_max(std::span<const PropertyView> properties);
char* put_definition(char* at, std::span<const PropertyView> properties);

// Assigns numbers to the definitions of a file: from 1, in order of first use.
class ShapeNumbers {
 public:
  struct Numbered {
    std::uint32_t number;
    bool is_new;
  };
  Numbered number_of(std::string_view definition);
  // The result of number_of() when the first definition is used again.
  static constexpr Numbered first{1, false};
  // Returns the first definition if `bytes` start with that definition, else an empty text. No
  // definition is a prefix of another one.
  std::string_view match_first_definition(std::string_view bytes) const {
    const std::string_view start = bytes.substr(0, first_.size());
    return same_text(start, first_) ? start : std::string_view();
  }

 private:
  std::uint32_t count_ = 0;
  std::string first_;  // compared before the map, because most segments define one shape
  std::unordered_map<std::string, std::uint32_t> others_;
  std::string scratch_;
};

// Assigns numbers to the shapes of rows when a file is written.
class RowShapeNumbers {
 public:
  ShapeNumbers::Numbered number_of(std::span<const PropertyView> properties);
  // Returns the definition of the row that was numbered last.
  std::string_view last_definition() const { return definition_; }

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

// A shape that was read from a file. Its names refer to the bytes of the file.
struct DecodedShape {
  std::vector<ShapeProperty> properties;
  // The bytes that entity_size() counts for the names and values, without the contents of String
  // and Binary values.
  std::size_t entity_size = 0;
};

// Maps numbers to shapes when a file is read. The names of each shape have been checked as
// check_properties() does (core/model/entity.h).
class ShapeDictionary {
 public:
  // Reads a definition and adds its shape under the next number. Returns null, or why the
  // definition is bad.
  const char* read_definition(ByteReader& reader);
  // Reads a shape: a number, or 0 and a definition, which is added. Sets `number` to the number of
  // the shape. Returns null, or why the bytes are bad.
  const char* read_shape(ByteReader& reader, std::uint64_t& number);
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
