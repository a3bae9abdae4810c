#include "core/base/utf8.h"

namespace entitable {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}
bool is_continuation(std::uint8_t byte) {
  return (byte & 0xC0) == 0x80;
}
bool is_high_surrogate(char32_t c) {
  return (c & 0xFFFF'FC00) == 0xD800;
}
bool is_low_surrogate(char32_t c) {
  return (c & 0xFFFF'FC00) == 0xDC00;
}

char32_t join_surrogates(char32_t high, char32_t low) {
  return 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
}

// Returns the size of an ASCII prefix of the text, in whole words of eight bytes. More ASCII bytes
// may follow.
std::size_t ascii_prefix(std::string_view text) {
  std::size_t at = 0;
  for (; text.size() - at >= 8; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080'8080'8080'8080u) != 0) break;
  }
  return at;
}

// Returns the length of the valid sequence of two to four bytes at the start of `text`, or 0.
std::size_t sequence_length(std::string_view text) {
  const std::uint8_t lead = byte_at(text, 0);
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(byte_at(text, i))) return 0;
  }
  // Rejects what the lead bytes E0, F0 and F4 still allow: overlong forms and code points above
  // U+10FFFF.
  const std::uint8_t second = byte_at(text, 1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90) ||
      (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

// High surrogates start with the bytes ED A0..AF, low ones with ED B0..BF.
bool ends_in_high_surrogate(std::string_view text) {
  return text.size() >= 3 && byte_at(text, text.size() - 3) == 0xED &&
         (byte_at(text, text.size() - 2) & 0xF0) == 0xA0;
}
bool starts_with_low_surrogate(std::string_view text) {
  return text.size() >= 3 && byte_at(text, 0) == 0xED && byte_at(text, 1) >= 0xB0;
}

void append_units(std::u16string& out, char32_t c) {
  if (c < 0x10000) {
    out.push_back(static_cast<char16_t>(c));
    return;
  }
  out.push_back(static_cast<char16_t>(0xD800 + ((c - 0x10000) >> 10)));
  out.push_back(static_cast<char16_t>(0xDC00 + ((c - 0x10000) & 0x3FF)));
}

// Returns the unit after the high surrogate that starts at `at`, whether it is unpaired or the
// first half of a pair. Returns -1 at the end of the text, which sorts below every unit.
int unit_after_high_surrogate(std::string_view text, std::size_t at) {
  const char32_t c = next_code_point(text, at);
  if (c >= 0x10000) return static_cast<int>(0xDC00 + (c & 0x3FF));
  if (at == text.size()) return -1;
  const char32_t next = next_code_point(text, at);
  return static_cast<int>(next < 0x10000 ? next : 0xD800 + ((next - 0x10000) >> 10));
}

int first_unit(std::string_view text, std::size_t at) {
  const char32_t c = next_code_point(text, at);
  return static_cast<int>(c < 0x10000 ? c : 0xD800 + ((c - 0x10000) >> 10));
}

}  // namespace

bool is_wtf8(std::string_view text) {
  std::size_t at = ascii_prefix(text);
  while (at < text.size()) {
    if (byte_at(text, at) < 0x80) {
      at += 1 + ascii_prefix(text.substr(at + 1));
      continue;
    }
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) return false;
    at += length;
    if (ends_in_high_surrogate(text.substr(0, at)) && starts_with_low_surrogate(text.substr(at))) {
      return false;
    }
  }
  return true;
}

bool is_well_formed(std::string_view text) {
  // In WTF-8 the byte ED leads only U+D000..U+DFFF. Surrogates are the upper half of that range.
  for (std::size_t at = text.find('\xED'); at != std::string_view::npos;
       at = text.find('\xED', at + 1)) {
    if (byte_at(text, at + 1) >= 0xA0) return false;
  }
  return true;
}

std::size_t utf16_length(std::string_view text) {
  // One unit for each lead byte, and one more for the lead of a four-byte character.
  std::size_t units = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    units +=
        static_cast<std::size_t>(!is_continuation(byte)) + static_cast<std::size_t>(byte >= 0xF0);
  }
  return units;
}

namespace detail {

int compare_utf16_at(std::string_view a, std::string_view b, std::size_t at) {
  const int unit_a = first_unit(a, at);
  const int unit_b = first_unit(b, at);
  if (unit_a != unit_b) return unit_a < unit_b ? -1 : 1;
  // One text has a surrogate pair here. The other text has the same high surrogate, but unpaired.
  // The units after the high surrogates decide. They differ, because only the pair's next unit is a
  // low surrogate.
  const int next_a = unit_after_high_surrogate(a, at);
  const int next_b = unit_after_high_surrogate(b, at);
  return next_a < next_b ? -1 : 1;
}

}  // namespace detail

void append_code_point(std::string& out, char32_t c) {
  if (is_low_surrogate(c) && ends_in_high_surrogate(out)) {
    std::size_t at = out.size() - 3;
    const char32_t high = next_code_point(out, at);
    out.resize(out.size() - 3);
    c = join_surrogates(high, c);
  }
  const auto tail = [&](int shift) {
    out.push_back(static_cast<char>(0x80 | (c >> shift & 0x3F)));
  };
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xC0 | c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | c >> 12));
    tail(6), tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0 | c >> 18));
    tail(12), tail(6), tail(0);
  }
}

std::string wtf8_from_utf16(std::u16string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char32_t c = text[i];
    if (is_high_surrogate(c) && i + 1 < text.size() && is_low_surrogate(text[i + 1])) {
      c = join_surrogates(c, text[++i]);
    }
    append_code_point(out, c);
  }
  return out;
}

std::u16string utf16_from_wtf8(std::string_view text) {
  std::u16string out;
  out.reserve(text.size());
  for_each_code_point(text, [&](char32_t c) { append_units(out, c); });
  return out;
}

}  // namespace entitable
