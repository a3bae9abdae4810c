// Builds request messages (LAYOUT.md) in a simple, slow way, and lets a test damage them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/utf8.h"
#include "core/model/edm.h"
#include "core/rpc/message.h"

namespace entitable::test {

class RequestBuilder {
 public:
  explicit RequestBuilder(rpc::RequestKind kind) : kind_(kind) {}

  RequestBuilder& word(std::uint32_t v) {
    char bytes[4];
    std::memcpy(bytes, &v, 4);
    words_.append(bytes, 4);
    return *this;
  }
  RequestBuilder& two_words(std::uint64_t v) {
    return word(static_cast<std::uint32_t>(v)).word(static_cast<std::uint32_t>(v >> 32));
  }
  RequestBuilder& float64(double v) {
    std::uint64_t bits;
    std::memcpy(&bits, &v, 8);
    return two_words(bits);
  }
  RequestBuilder& text(std::string_view wtf8) {
    word(static_cast<std::uint32_t>(utf16_length(wtf8)));
    return append_text(wtf8);
  }
  RequestBuilder& append_text(std::string_view wtf8) {
    well_formed_ = well_formed_ && is_well_formed(wtf8);
    const std::u16string wide = utf16_from_wtf8(wtf8);
    utf16_.append(wide);
    utf8_.append(wtf8);
    return *this;
  }
  RequestBuilder& no_text() { return word(rpc::none); }
  RequestBuilder& binary(std::string_view bytes) {
    return word(static_cast<std::uint32_t>(bytes.size())).append_binary(bytes);
  }
  RequestBuilder& append_binary(std::string_view bytes) {
    binary_.append(bytes);
    return *this;
  }
  // Encodes the text area as UTF-16 even if UTF-8 would suffice.
  RequestBuilder& as_utf16() {
    well_formed_ = false;
    return *this;
  }

  std::string build() const {
    std::string text = utf8_;
    if (!well_formed_) {
      text.resize(utf16_.size() * 2);
      std::memcpy(text.data(), utf16_.data(), text.size());
    }
    std::string message(rpc::header_bytes, '\0');
    message[0] = static_cast<char>(kind_);
    message[1] = static_cast<char>(rpc::message_version);
    message[2] = static_cast<char>(well_formed_ ? 0 : rpc::flag_utf16);
    put(message, 4, rpc::header_bytes + words_.size());
    put(message, 8, text.size());
    put(message, 12, binary_.size());
    return message + words_ + text + binary_;
  }

 private:
  static void put(std::string& message, std::size_t at, std::size_t value) {
    const auto v = static_cast<std::uint32_t>(value);
    std::memcpy(message.data() + at, &v, 4);
  }

  rpc::RequestKind kind_;
  std::string words_;
  std::string utf8_;
  std::u16string utf16_;
  std::string binary_;
  bool well_formed_ = true;
};

// One property record: type and form, payload, and its content in the text and binary areas.
struct PropertyRecord {
  std::string name;
  std::uint32_t type = 0;
  std::uint32_t form = 0;
  std::uint64_t payload = 0;
  std::string text;
  std::string binary;
};

inline PropertyRecord text_property(std::string name, EdmType type, std::uint32_t form,
                                    std::string text) {
  const std::uint64_t units = utf16_length(text);
  return {std::move(name), static_cast<std::uint32_t>(type), form, units, std::move(text), {}};
}
inline PropertyRecord string_property(std::string name, std::string text) {
  return text_property(std::move(name), EdmType::string, 0, std::move(text));
}
inline PropertyRecord bits_property(std::string name, EdmType type, std::uint64_t bits,
                                    std::uint32_t form = 0) {
  return {std::move(name), static_cast<std::uint32_t>(type), form, bits, {}, {}};
}
inline PropertyRecord float_property(std::string name, EdmType type, double value,
                                     std::uint32_t form = 0) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits_property(std::move(name), type, bits, form);
}
inline PropertyRecord binary_property(std::string name, std::string bytes) {
  const std::uint64_t size = bytes.size();
  return {std::move(name), static_cast<std::uint32_t>(EdmType::binary), 0, size, {},
          std::move(bytes)};
}

struct OperationRecord {
  std::uint32_t kind = 0;
  std::string partition = "p";
  std::string row = "r";
  std::vector<PropertyRecord> properties;
  std::string etag;  // empty: none
};

struct WriteRecord {
  std::string table = "people";
  std::vector<OperationRecord> operations;
  std::uint32_t flags = 0;
};

// Builds a write message. Every property gets its own name entry.
inline RequestBuilder write_request(const WriteRecord& write) {
  RequestBuilder out(rpc::RequestKind::write);
  std::vector<std::string> names;
  for (const auto& operation : write.operations) {
    for (const auto& property : operation.properties) names.push_back(property.name);
  }
  out.word(write.flags).word(static_cast<std::uint32_t>(write.operations.size()));
  out.word(static_cast<std::uint32_t>(names.size())).text(write.table);
  for (const std::string& name : names) out.append_text(name);
  std::uint32_t name = 0;
  for (const auto& operation : write.operations) {
    const auto count = static_cast<std::uint32_t>(operation.properties.size());
    out.word(operation.kind | count << 8).text(operation.partition).text(operation.row);
    if (operation.etag.empty()) {
      out.no_text();
    } else {
      out.text(operation.etag);
    }
    for (const auto& property : operation.properties) {
      out.word(name++).word(property.type | property.form << 8).two_words(property.payload);
      out.append_text(property.text);
      out.append_binary(property.binary);
    }
  }
  for (const std::string& each : names) {
    out.word(static_cast<std::uint32_t>(utf16_length(each)));
  }
  return out;
}

}  // namespace entitable::test
