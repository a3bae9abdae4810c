#include "core/index/column_cache.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

namespace {

struct Texts {
  std::vector<std::string> rows;  // packed rows with one text column each
  std::vector<const char*> bases;
};

Texts packed_texts(const std::vector<std::string>& texts) {
  Texts all;
  for (const std::string& text : texts) {
    TableIndex index;
    index.put(test::entity("p", "r", 1, {{"a", Value::of_string(text)}}));
    const RowView row = *index.find({"p", "r"}).row;
    all.rows.emplace_back(row_layout::packed(row.value_address(0)));
  }
  for (const std::string& row : all.rows) all.bases.push_back(row.data() + 1);
  return all;
}

}  // namespace

TEST_CASE("equal texts have equal digests, and different texts rarely do") {
  std::vector<std::string> texts = {"",        "x",        std::string(1, '\0'),
                                    "1234567", "12345678", "2345678"};
  for (int i = 0; i < 2000; ++i) texts.push_back("city " + std::to_string(i));
  for (std::size_t bytes = 9; bytes < 100; ++bytes) texts.emplace_back(bytes, 'x');
  std::vector<std::uint32_t> digests;
  for (const std::string& text : texts) {
    digests.push_back(text_digest(text));
    CHECK(text_digest(std::string(text)) == digests.back());
  }
  std::sort(digests.begin(), digests.end());
  CHECK(std::adjacent_find(digests.begin(), digests.end()) == digests.end());
}

TEST_CASE("a column is cached from its second request on") {
  const Texts texts = packed_texts({"one", "two", "one"});
  ColumnCache columns;
  const auto ask = [&](std::uint32_t slot, ColumnForm form) {
    return columns.values(slot, form, 3, [&](std::uint32_t i) { return texts.bases[i]; });
  };
  const auto ask_text = [&] { return ask(row_layout::columns_at, ColumnForm::text_digest); };
  CHECK(ask_text() == nullptr);
  const char* const values = ask_text();
  REQUIRE(values != nullptr);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(row_layout::load<std::uint32_t>(values + 4 * i) == text_digest(i == 1 ? "two" : "one"));
  }
  CHECK(ask_text() == values);
  SECTION("until as many others were asked for as are kept") {
    for (std::uint32_t slot = 0; slot < cached_columns_max - 1; ++slot) {
      CHECK(ask(slot, ColumnForm::one_byte) == nullptr);
    }
    CHECK(ask_text() == values);
    for (std::uint32_t slot = 1; slot < cached_columns_max; ++slot) {
      CHECK((ask(slot, ColumnForm::one_byte) != nullptr || slot == cached_columns_max - 1));
    }
    CHECK(ask(cached_columns_max, ColumnForm::one_byte) == nullptr);
    CHECK(ask_text() == nullptr);
    CHECK(ask_text() != nullptr);
  }
  SECTION("whichever came first, the one that was asked for last stays") {
    for (std::uint32_t slot = 0; slot < cached_columns_max - 1; ++slot) {
      CHECK(ask(slot, ColumnForm::one_byte) == nullptr);
    }
    CHECK(ask_text() == values);
    CHECK(ask(cached_columns_max, ColumnForm::one_byte) == nullptr);
    CHECK(ask_text() == values);
  }
  SECTION("or until the rows change") {
    columns.clear();
    CHECK(ask_text() == nullptr);
    CHECK(ask_text() != nullptr);
  }
  SECTION("beside others") {
    ask(row_layout::timestamp_at, ColumnForm::eight_bytes);
    const char* const times = ask(row_layout::timestamp_at, ColumnForm::eight_bytes);
    REQUIRE(times != nullptr);
    CHECK(row_layout::load<Ticks>(times + 16) == 1);
    CHECK(ask_text() == values);
  }
}

}  // namespace entitable
