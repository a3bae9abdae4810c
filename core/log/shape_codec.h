// Shapes on disk: the list of (property name, Edm type) that many rows share, written once per
// segment or part; rows refer to it by number and hold values only.
//
//   shape       = 0 definition | number        number: of a shape defined before, from 1
//   definition  = count property*
//   property    = type:u8 name:bytes
//
// Unlike a shape of the index, which is a set, this is a list: an entity is read back with its
// properties in the order they were written in.
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
// The same by plain stores, where there is room for what it takes at most.
std::size_t definition_bytes_max(std::span<const PropertyView> properties);
char* put_definition(char* at, std::span<const PropertyView> properties);

// Gives numbers to definitions, from 1 in order of first use.
class ShapeNumbers {
 public:
  struct Numbered {
    std::uint32_t number;
    bool is_new;
  };
  Numbered number_of(std::string_view definition);
  // Of the first definition, once it has one.
  static constexpr Numbered first{1, false};
  // That definition, if `bytes` start with it (no definition is the start of another); else
  // nothing.
  std::string_view match_first(std::string_view bytes) const {
    const std::string_view start = bytes.substr(0, first_.size());
    return same_text(start, first_) ? start : std::string_view();
  }

 private:
  std::uint32_t count_ = 0;
  std::string first_;  // mostly there is no other, so that this one is looked at before the map
  std::unordered_map<std::string, std::uint32_t> others_;
  std::string scratch_;
};

// Gives numbers to the shapes of rows: the writing side.
class RowShapes {
 public:
  ShapeNumbers::Numbered number_of(std::span<const PropertyView> properties);
  // Of the row numbered last.
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
  // Rows are nearly always of the shape of the row before.
  std::uint32_t last_number_ = 0;
  std::string definition_;
  std::vector<Member> last_;
};

// A shape as read. Names look into the bytes it was read from.
struct DecodedShape {
  std::vector<ShapeProperty> properties;
  // What entity_size counts for the names and for all values, their text and bytes left out.
  std::size_t entity_size = 0;
};

// Numbers back to shapes: the reading side. Everything that holds for the properties of a storable
// entity regardless of values (check_properties) holds for each shape in it.
class ShapeDictionary {
 public:
  // Reads a definition and appends it. Null, or why it is bad.
  const char* read_definition(ByteReader& reader);
  // Reads a shape of either form. Null and the shape's number, or why it is bad.
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
