// Golden files: text files of test cases, each an input with its expected output. They are in
// tests/testdata.
//
//   # A comment before the input.
//   the input, on one or more lines
//   => the expected output, each line with "=> " before it
//
// Blank lines separate the cases. In a file with lines "---", these lines separate the cases, and
// blank lines belong to the input. With ENTITABLE_REWRITE=1 in the environment, the actual outputs
// replace the expected ones in the file, or are added. Review the diff then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/utf8.h"
#include "tests/support/catch.h"

namespace entitable::test {

struct GoldenCase {
  std::size_t line = 0;  // where the input begins; the first line of the file is 1
  std::string input;     // without the last newline
  std::string expected;

  // The lines of the expected output, zero-based; `expected_end` is excluded.
  std::size_t expected_begin = 0;
  std::size_t expected_end = 0;
};

class GoldenFile {
 public:
  explicit GoldenFile(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines_.emplace_back(text.substr(at, end - at));
      at = end + 1;
    }
    separated_by_dashes_ = std::count(lines_.begin(), lines_.end(), "---") > 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= lines_.size(); ++i) {
      if (i < lines_.size() && !is_case_separator(lines_[i])) continue;
      read_case(begin, i);
      begin = i + 1;
    }
  }

  const std::vector<GoldenCase>& cases() const { return cases_; }

  // Returns the file's text with other expected outputs. REQUIRES: one for each case.
  std::string with_expectations(const std::vector<std::string>& expectations) const {
    std::string text;
    std::size_t at = 0;
    const auto keep_until = [&](std::size_t end) {
      for (; at < end; ++at) text.append(lines_[at]).append("\n");
    };
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      keep_until(cases_[i].expected_begin);
      append_marked(expectations[i], text);
      at = cases_[i].expected_end;
    }
    keep_until(lines_.size());
    return text;
  }

 private:
  bool is_case_separator(const std::string& line) const {
    return separated_by_dashes_ ? line == "---" : line.empty();
  }
  static bool is_marked(const std::string& line) { return line.rfind("=>", 0) == 0; }

  // Parses the lines from `begin` to before `end` as one case. Ignores them if there is no input.
  void read_case(std::size_t begin, std::size_t end) {
    while (begin < end && (lines_[begin].empty() || lines_[begin][0] == '#')) ++begin;
    while (begin < end && lines_[end - 1].empty()) --end;
    if (begin == end) return;
    GoldenCase one;
    one.line = begin + 1;
    std::size_t at = begin;
    while (at < end && !is_marked(lines_[at])) ++at;
    one.expected_begin = at;
    one.expected_end = end;
    one.input = joined(begin, at, 0);
    one.expected = joined(at, end, 3);
    cases_.push_back(one);
  }

  std::string joined(std::size_t begin, std::size_t end, std::size_t skip) const {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) {
      if (i > begin) text.append("\n");
      text.append(lines_[i], std::min(skip, lines_[i].size()), std::string::npos);
    }
    return text;
  }

  static void append_marked(const std::string& expectation, std::string& text) {
    std::size_t at = 0;
    for (;;) {
      const std::size_t end = std::min(expectation.find('\n', at), expectation.size());
      text.append(end > at ? "=> " : "=>").append(expectation, at, end - at).append("\n");
      if (end == expectation.size()) return;
      at = end + 1;
    }
  }

  std::vector<std::string> lines_;
  bool separated_by_dashes_ = false;
  std::vector<GoldenCase> cases_;
};

// Checks every case of a file. `run` returns the actual output for an input.
template <typename Run>
void check_golden(const std::string& path, Run run) {
  const std::string full_path = std::string(ENTITABLE_TESTDATA "/") + path;
  std::ifstream in(full_path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const GoldenFile file(text);
  CAPTURE(path);
  REQUIRE_FALSE(file.cases().empty());

  const char* rewrite = std::getenv("ENTITABLE_REWRITE");
  if (rewrite != nullptr && std::string_view(rewrite) == "1") {
    std::vector<std::string> expectations;
    for (const GoldenCase& one : file.cases()) expectations.push_back(run(one.input));
    const std::string rewritten = file.with_expectations(expectations);
    if (rewritten != text) std::ofstream(full_path, std::ios::binary) << rewritten;
    return;
  }
  for (const GoldenCase& one : file.cases()) {
    const std::string where = path + ":" + std::to_string(one.line);
    CAPTURE(where, one.input);
    CHECK(run(one.input) == one.expected);
  }
}

// Returns the string that a text stands for. A text in double quotes may contain the escapes \n \r
// \t \\ \" \xHH; any other text stands for itself. Quotes allow blanks at the ends, and bytes that
// do not belong in a text file.
inline std::string unescaped(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::string(text);
  std::string plain;
  for (std::size_t at = 1; at + 1 < text.size(); ++at) {
    if (text[at] != '\\') {
      plain.push_back(text[at]);
      continue;
    }
    const char escape = text[++at];
    if (escape == 'x') {
      plain.push_back(
          static_cast<char>(std::strtol(std::string(text.substr(at + 1, 2)).c_str(), nullptr, 16)));
      at += 2;
    } else {
      plain.push_back(escape == 'n' ? '\n' : escape == 'r' ? '\r' : escape == 't' ? '\t' : escape);
    }
  }
  return plain;
}

// The inverse of unescaped(). Adds quotes only if they are necessary.
inline std::string escaped(std::string_view plain) {
  constexpr char digits[] = "0123456789abcdef";
  const bool printable = is_wtf8(plain) && is_well_formed(plain);
  bool needed =
      plain.empty() || plain.front() == '"' || plain.front() == ' ' || plain.back() == ' ';
  std::string text;
  for (const char c : plain) {
    const auto byte = static_cast<unsigned char>(c);
    const bool hidden = byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !printable);
    needed = needed || hidden;
    if (c == '\n' || c == '\r' || c == '\t') {
      text.append(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    } else if (hidden) {
      text.append("\\x").append(1, digits[byte / 16]).append(1, digits[byte % 16]);
    } else {
      if (c == '\\' || c == '"') text.push_back('\\');
      text.push_back(c);
    }
  }
  return needed ? "\"" + text + "\"" : std::string(plain);
}

}  // namespace entitable::test
