// Decodes response messages in a simple, slow way: every value becomes text.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/model/value.h"
#include "core/rpc/message.h"
#include "tests/support/catch.h"

namespace entitable::test {

class ResponseReader {
 public:
  explicit ResponseReader(std::string bytes) : bytes_(std::move(bytes)) {
    REQUIRE(bytes_.size() >= rpc::header_bytes);
    REQUIRE(bytes_[1] == rpc::message_version);
    text_end_ = raw(4) + raw(8);
    REQUIRE(text_end_ + raw(12) == bytes_.size());
    const std::string area = bytes_.substr(raw(4), raw(8));
    if ((flags() & rpc::flag_utf16) != 0) {
      text_.resize(area.size() / 2);
      std::memcpy(text_.data(), area.data(), area.size());
    } else {
      REQUIRE(is_wtf8(area));
      text_ = utf16_from_wtf8(area);
    }
    binary_ = bytes_.substr(text_end_);
  }

  rpc::ResponseKind kind() const { return static_cast<rpc::ResponseKind>(bytes_[0]); }
  std::uint8_t flags() const { return static_cast<std::uint8_t>(bytes_[2]); }
  std::uint32_t word() {
    REQUIRE(at_ + 4 <= raw(4));
    const std::uint32_t v = raw(at_);
    at_ += 4;
    return v;
  }
  std::uint64_t two_words() {
    if (at_ % 8 != 0) {
      const std::uint32_t padding = word();
      CHECK(padding == 0);
    }
    const std::uint64_t low = word();
    return low | static_cast<std::uint64_t>(word()) << 32;
  }
  double float64() {
    const std::uint64_t bits = two_words();
    double v;
    std::memcpy(&v, &bits, 8);
    return v;
  }
  std::string cut(std::size_t units) {
    REQUIRE(text_at_ + units <= text_.size());
    text_at_ += units;
    return wtf8_from_utf16(std::u16string_view(text_).substr(text_at_ - units, units));
  }
  std::string text() { return cut(word()); }
  std::optional<std::string> optional_text() {
    const std::uint32_t units = word();
    if (units == rpc::none) return std::nullopt;
    return cut(units);
  }
  std::string binary() {
    const std::uint32_t size = word();
    REQUIRE(binary_at_ + size <= binary_.size());
    binary_at_ += size;
    return binary_.substr(binary_at_ - size, size);
  }
  // Returns whether all text and all binary values were read.
  bool at_end() const { return text_at_ == text_.size() && binary_at_ == binary_.size(); }
  // Returns the same for a message that is aligned: up to 7 zeros end each area.
  bool at_padded_end() const {
    const std::u16string text = text_.substr(text_at_);
    const std::string binary = binary_.substr(binary_at_);
    return text.size() < 8 && text == std::u16string(text.size(), u'\0') && binary.size() < 8 &&
           binary == std::string(binary.size(), '\0');
  }
  std::size_t binary_offset() const { return text_end_; }

 private:
  std::uint32_t raw(std::size_t at) const {
    std::uint32_t v;
    std::memcpy(&v, bytes_.data() + at, 4);
    return v;
  }

  std::string bytes_;
  std::size_t at_ = rpc::header_bytes;
  std::size_t text_end_ = 0;
  std::u16string text_;
  std::size_t text_at_ = 0;
  std::string binary_;
  std::size_t binary_at_ = 0;
};

struct ResponseColumn {
  std::string name;  // "etag", "PartitionKey", "RowKey", "Timestamp" for the system columns
  std::uint32_t type;
  friend bool operator==(const ResponseColumn&, const ResponseColumn&) = default;
};

struct ResponseShape {
  std::uint32_t hint = 0;
  std::vector<ResponseColumn> columns;
};

struct ResponseRow {
  std::size_t shape = 0;
  // "name:type=text" per column, "name=null" for a null.
  std::vector<std::string> cells;
};

struct ResponsePage {
  std::vector<ResponseShape> shapes;
  std::vector<ResponseRow> rows;
  std::optional<std::string> next_partition;
  std::optional<std::string> next_row;
};

inline ResponseShape read_shape(ResponseReader& in) {
  ResponseShape shape;
  shape.hint = in.word();
  const std::uint32_t count = in.word();
  std::uint32_t units = in.word();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t word = in.word();
    const std::uint32_t type = word >> 24;
    std::string name = in.cut(word & 0xFF'FFFF);
    units -= word & 0xFF'FFFF;
    if (type >= 16) {
      CHECK(name.empty());
      const char* const system[] = {"etag", "PartitionKey", "RowKey", "Timestamp"};
      name = system[type - 16];
    }
    shape.columns.push_back({std::move(name), type});
  }
  CHECK(units == 0);
  return shape;
}

inline std::string read_date_time(ResponseReader& in) {
  const auto milliseconds = static_cast<Ticks>(in.float64());
  const auto rest = static_cast<Ticks>(in.word());
  CHECK(rest < ticks_per_millisecond);
  return date_time_text(ticks_at_unix_epoch + milliseconds * ticks_per_millisecond + rest);
}

inline std::string read_payload(ResponseReader& in, std::uint32_t type, std::string& partition) {
  switch (type) {
    case 1:
      return in.text();
    case 2:
      return value_text(ValueView::of_binary(in.binary()));
    case 3:
      return in.word() != 0 ? "true" : "false";
    case 4:
      return read_date_time(in);
    case 5:
      return to_text(in.float64());
    case 6:
      return in.cut(36);
    case 7:
      return to_text(static_cast<std::int32_t>(in.word()));
    case 8:
      return to_text(static_cast<std::int64_t>(in.two_words()));
    case 17:
      if (auto changed = in.optional_text(); changed.has_value()) partition = *changed;
      return partition;
    default:
      return in.text();
  }
}

// Reads the words of a page, and leaves `in` after them.
// `is_padded`: the page is part of a message about changes.
inline ResponsePage read_page(ResponseReader& in, bool is_padded = false) {
  ResponsePage page;
  const std::uint32_t rows = in.word();
  const std::uint32_t shapes = in.word();
  page.next_partition = in.optional_text();
  page.next_row = in.optional_text();
  for (std::uint32_t i = 0; i < shapes; ++i) page.shapes.push_back(read_shape(in));
  std::string partition;
  for (std::uint32_t i = 0; i < rows; ++i) {
    ResponseRow row;
    row.shape = in.word();
    REQUIRE(row.shape < page.shapes.size());
    for (const ResponseColumn& column : page.shapes[row.shape].columns) {
      if (column.type == 0) {
        row.cells.push_back(column.name + "=null");
        continue;
      }
      const std::string value = read_payload(in, column.type, partition);
      const bool custom = column.type < 16;
      row.cells.push_back(column.name + (custom ? ":" + to_text(std::int32_t(column.type)) : "") +
                          "=" + value);
    }
    page.rows.push_back(std::move(row));
  }
  CHECK((is_padded ? in.at_padded_end() : in.at_end()));
  return page;
}

inline ResponsePage read_page(const std::string& bytes, bool is_padded = false) {
  ResponseReader in(bytes);
  REQUIRE(in.kind() == rpc::ResponseKind::page);
  return read_page(in, is_padded);
}

struct ResponseError {
  std::uint32_t status = 0;
  std::uint32_t index = 0;
  std::string code;
  std::string message;
  bool local = false;
};

inline ResponseError read_error(const std::string& bytes) {
  ResponseReader in(bytes);
  REQUIRE(in.kind() == rpc::ResponseKind::error);
  ResponseError error;
  error.status = in.word();
  error.index = in.word();
  error.code = in.text();
  error.message = in.text();
  error.local = (in.flags() & rpc::flag_local_failure) != 0;
  CHECK(in.at_end());
  return error;
}

}  // namespace entitable::test
