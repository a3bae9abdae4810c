#include "core/rpc/page_writer.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "core/index/cursor.h"
#include "core/model/etag.h"
#include "core/model/limits.h"
#include "core/query/projection.h"
#include "tests/core/rpc/response_reader.h"
#include "tests/support/catch.h"
#include "tests/support/prng.h"

namespace entitable::rpc {
namespace {

using test::read_page;
using test::ResponseColumn;
using test::ResponsePage;

constexpr Ticks commit_time = 637'311'980'884'767'123;  // 2020-07-24T14:34:48.4767123Z
const std::string then_text = "2020-07-24T14:34:48.4767123Z";
const std::string then_etag = "W/\"datetime'2020-07-24T14%3A34%3A48.4767123Z'\"";

Entity entity(std::string_view partition, std::string_view row, std::vector<Property> properties,
              Ticks timestamp = commit_time) {
  return Entity{EntityKey(partition, row), timestamp, std::move(properties)};
}

struct Table {
  TableIndex index;
  Table& put(const Entity& e) {
    REQUIRE(check_entity(e).ok());
    index.put(e);
    return *this;
  }
  std::vector<RowView> rows() const {
    std::vector<RowView> all;
    for (Cursor cursor(index, KeyRange{}); cursor.valid(); cursor.next()) {
      all.push_back(cursor.row());
    }
    return all;
  }
  std::string bytes(const std::vector<std::string_view>& select = {},
                    const std::optional<Continuation>& next = {}) const {
    ResponseBuffer out;
    PageWriter().write(out, "people", rows(), *normalize_select(select), next);
    return out.str();
  }
  ResponsePage page(const std::vector<std::string_view>& select = {}) const {
    return read_page(bytes(select));
  }
};

const std::string high = "\xED\xA0\xBD";

// Parses the hexadecimal column of the worked example: "    offset  hex hex  comment".
std::string documented_example() {
  std::ifstream file(ENTITABLE_TESTDATA "/../../core/rpc/LAYOUT.md");
  REQUIRE(file.good());
  std::string hex;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "## Worked example") inside = true;
    if (!inside || line.substr(0, 4) != "    ") continue;
    const std::size_t offset_end = line.find("  ", line.find_first_not_of(' '));
    const std::size_t end = line.find("  ", offset_end + 2);
    for (const char c : line.substr(offset_end, end - offset_end)) {
      if (c != ' ') hex += c;
    }
  }
  return hex;
}

}  // namespace

TEST_CASE("An empty page") {
  const ResponsePage page = Table().page();
  CHECK(page.rows.empty());
  CHECK(page.shapes.empty());
  CHECK_FALSE(page.next_partition.has_value());
}

TEST_CASE("A page has the continuation of the next page") {
  Table table;
  table.put(entity("p", "r", {}));
  const ResponsePage page = read_page(table.bytes({}, Continuation{EntityKey("q\xC3\xA9", "")}));
  CHECK(page.next_partition == "q\xC3\xA9");
  CHECK(page.next_row == "");
  CHECK(page.rows.size() == 1);
}

TEST_CASE("A row has its ETag, keys, Timestamp and every property with its type") {
  Table table;
  const Guid guid = *parse_guid("c9da6455-213d-42c9-9a79-3e9149a57833");
  table.put(entity("Sales", "00010",
                   {{"name", Value::of_string("Ken \xC3\xA9")},
                    {"photo", Value::of_binary(std::string_view("\0\1\xFF", 3))},
                    {"married", Value::of_boolean(true)},
                    {"born", Value::of_date_time(commit_time)},
                    {"ratio", Value::of_double(-0.0)},
                    {"id", Value::of_guid(guid)},
                    {"age", Value::of_int32(-5)},
                    {"big", Value::of_int64(std::numeric_limits<std::int64_t>::min())}}));
  const ResponsePage page = table.page();
  REQUIRE(page.rows.size() == 1);
  CHECK(page.rows[0].cells ==
        std::vector<std::string>{"etag=" + then_etag, "PartitionKey=Sales", "RowKey=00010",
                                 "Timestamp=" + then_text, "name:1=Ken \xC3\xA9", "photo:2=AAH/",
                                 "married:3=true", "born:4=" + then_text, "ratio:5=-0.0",
                                 "id:6=c9da6455-213d-42c9-9a79-3e9149a57833", "age:7=-5",
                                 "big:8=-9223372036854775808"});
}

TEST_CASE("Values at their limits are encoded exactly") {
  const std::string long_text(limits::string_units_max, 'x');
  Table table;
  table.put(entity("", "",
                   {{"nan", Value::of_double(std::numeric_limits<double>::quiet_NaN())},
                    {"inf", Value::of_double(-std::numeric_limits<double>::infinity())},
                    {"tiny", Value::of_double(5e-324)},
                    {"first", Value::of_date_time(limits::date_time_ticks_min)},
                    {"last", Value::of_date_time(limits::date_time_ticks_max)},
                    {"before", Value::of_date_time(ticks_at_unix_epoch - 1)},
                    {"max", Value::of_int64(std::numeric_limits<std::int64_t>::max())},
                    {"text", Value::of_string(long_text)},
                    {"empty", Value::of_string("")},
                    {"none", Value::of_binary("")}}));
  const auto cells = table.page().rows[0].cells;
  CHECK(cells[1] == "PartitionKey=");
  CHECK(cells[4] == "nan:5=NaN");
  CHECK(cells[5] == "inf:5=-Infinity");
  CHECK(cells[6] == "tiny:5=" + to_text(5e-324));
  CHECK(cells[7] == "first:4=1601-01-01T00:00:00Z");
  CHECK(cells[8] == "last:4=9999-12-31T23:59:59.9999999Z");
  CHECK(cells[9] == "before:4=1969-12-31T23:59:59.9999999Z");
  CHECK(cells[10] == "max:8=9223372036854775807");
  CHECK(cells[11] == "text:1=" + long_text);
  CHECK(cells[12] == "empty:1=");
  CHECK(cells[13] == "none:2=");
}

TEST_CASE("Rows of one shape share its definition, and its hint is the same in each page") {
  Table table;
  for (const char* row : {"1", "2", "4"}) {
    table.put(entity("p", row, {{"a", Value::of_int32(1)}, {"b", Value::of_string("x")}}));
  }
  table.put(entity("p", "3", {{"a", Value::of_string("other")}}));
  const ResponsePage page = table.page();
  REQUIRE(page.shapes.size() == 2);
  CHECK(page.rows[0].shape == page.rows[1].shape);
  CHECK(page.rows[0].shape == page.rows[3].shape);
  CHECK(page.rows[2].shape != page.rows[0].shape);
  CHECK(page.shapes[0].hint != 0);
  CHECK(page.shapes[0].hint != page.shapes[1].hint);
  CHECK(table.page().shapes[0].hint == page.shapes[0].hint);
  CHECK(table.page({"a"}).shapes[0].hint != page.shapes[0].hint);
  CHECK(page.shapes[0].columns == std::vector<ResponseColumn>{{"etag", 16},
                                                              {"PartitionKey", 17},
                                                              {"RowKey", 18},
                                                              {"Timestamp", 19},
                                                              {"a", 7},
                                                              {"b", 1}});
}

TEST_CASE("A partition key is sent once while it stays the same") {
  Table table;
  for (const char* partition : {"", "p", "q"}) {
    for (const char* row : {"1", "2"}) table.put(entity(partition, row, {}));
  }
  const ResponsePage page = table.page();
  std::vector<std::string> partitions;
  for (const auto& row : page.rows) partitions.push_back(row.cells[1]);
  CHECK(partitions == std::vector<std::string>{"PartitionKey=", "PartitionKey=", "PartitionKey=p",
                                               "PartitionKey=p", "PartitionKey=q",
                                               "PartitionKey=q"});
}

TEST_CASE("A selection has its columns in the requested order, null for missing properties") {
  Table table;
  table.put(entity("p", "1", {{"a", Value::of_int32(1)}, {"b", Value::of_string("x")}}));
  table.put(entity("p", "2", {{"c", Value::of_boolean(false)}}));
  const ResponsePage page = table.page({"b", "RowKey", "a", "b", "nobody"});
  CHECK(page.rows[0].cells ==
        std::vector<std::string>{"etag=" + then_etag, "b:1=x", "RowKey=1", "a:7=1", "nobody=null"});
  CHECK(page.rows[1].cells == std::vector<std::string>{"etag=" + then_etag, "b=null", "RowKey=2",
                                                       "a=null", "nobody=null"});
  CHECK(table.page({"Timestamp", "PartitionKey"}).rows[1].cells ==
        std::vector<std::string>{"etag=" + then_etag, "Timestamp=" + then_text, "PartitionKey=p"});
}

TEST_CASE("Rows of the generic shape are encoded like other rows") {
  Table table;
  const std::size_t rows = shapes_max + 50;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string name = "n" + std::to_string(i);
    std::string key = std::to_string(i);
    key.insert(0, 6 - key.size(), '0');
    table.put(entity("p", key,
                     {{name, Value::of_int64(static_cast<std::int64_t>(i))},
                      {"when", Value::of_date_time(commit_time)},
                      {"text", Value::of_string("t" + key)}}));
  }
  const ResponsePage page = table.page();
  REQUIRE(page.rows.size() == rows);
  const auto& last = page.rows.back().cells;
  CHECK(page.shapes[page.rows.back().shape].hint == 0);
  CHECK(last.size() == 7);
  const auto has = [](const std::vector<std::string>& cells, const std::string& cell) {
    return std::find(cells.begin(), cells.end(), cell) != cells.end();
  };
  const std::string number = std::to_string(rows - 1);
  CHECK(has(last, "n" + number + ":8=" + number));
  CHECK(has(last, "when:4=" + then_text));
  const ResponsePage chosen = table.page({"text", "n" + number, "RowKey"});
  CHECK(chosen.rows.back().cells[1] == "text:1=t00" + number);
  CHECK(chosen.rows.back().cells[2] == "n" + number + ":8=" + number);
  CHECK(chosen.rows[0].cells[2] == "n" + number + "=null");
}

TEST_CASE("A page with an ill-formed string keeps every string") {
  Table table;
  table.put(entity("p", "1", {{"a", Value::of_string("\xC3\xA9")}, {"b", Value::of_string(high)}}));
  table.put(entity("p", "2", {{"a", Value::of_string("\xF0\x9F\x98\x80")}}));
  const std::string bytes = table.bytes();
  CHECK((bytes[2] & flag_utf16) != 0);
  const ResponsePage page = read_page(bytes);
  CHECK(page.rows[0].cells[4] == "a:1=\xC3\xA9");
  CHECK(page.rows[0].cells[5] == "b:1=" + high);
  CHECK(page.rows[1].cells[4] == "a:1=\xF0\x9F\x98\x80");
}

TEST_CASE("The worked example of LAYOUT.md") {
  Table table;
  table.put(
      entity("Sales", "00010", {{"age", Value::of_int32(39)}, {"ratio", Value::of_double(0.5)}}));
  std::string hex;
  for (const char c : table.bytes()) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<std::uint8_t>(c);
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  CHECK(hex == documented_example());
}

TEST_CASE("A reused writer writes the same bytes as a new one") {
  const std::uint64_t seed = 43;
  CAPTURE(seed);
  test::Prng random(seed);
  const std::string names[] = {"a", "b", "\xC3\xA9"};
  const auto new_table = [&] {
    Table table;
    for (int i = 0; i < 5; ++i) {
      Entity e = entity("p", std::to_string(i), {}, commit_time + i * 7'000'000);
      for (const std::string& name : names) {
        if (random.chance(2)) e.properties.push_back({name, Value::of_binary(name)});
      }
      table.put(e);
    }
    return table;
  };
  Table tables[] = {new_table(), new_table()};
  const std::vector<std::vector<std::string_view>> selections = {{}, {"a"}, {"b", "RowKey", "a"}};
  PageWriter writer;
  ResponseBuffer response;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    Table& table = tables[random.below(2)];
    if (random.chance(5)) table = new_table();
    const std::vector<std::string> select = *normalize_select(selections[random.below(3)]);
    const std::string name = random.chance(5) ? "People" : "people";
    std::vector<RowView> rows = table.rows();
    rows.resize(random.below(rows.size() + 1), rows.front());
    writer.write(response, name, rows, select, std::nullopt);
    ResponseBuffer fresh;
    PageWriter().write(fresh, name, rows, select, std::nullopt);
    REQUIRE(response.str() == fresh.str());
  }
}

TEST_CASE("Random rows are read back as they were stored") {
  const std::uint64_t seed = 42;
  CAPTURE(seed);
  test::Prng random(seed);
  Table table;
  std::vector<Entity> entities;
  const std::string texts[] = {"", "plain", "\xC3\xA9", "\xF0\x9F\x98\x80", "\xEF\xBB\xBFx"};
  const std::string names[] = {"a", "b", "c", "d", "e", "f", "\xC3\xA9", "__proto__"};
  for (int i = 0; i < 300; ++i) {
    Entity e = entity("p" + std::to_string(i / 40), std::to_string(1000 + i), {},
                      commit_time + static_cast<Ticks>(random.below(100'000'000)));
    for (const std::string& name : names) {
      switch (random.below(8)) {
        case 0:
          e.properties.push_back({name, Value::of_string(texts[random.below(5)])});
          break;
        case 1:
          e.properties.push_back({name, Value::of_binary(texts[random.below(5)])});
          break;
        case 2:
          e.properties.push_back({name, Value::of_boolean(random.chance(2))});
          break;
        case 3:
          e.properties.push_back({name, Value::of_double(static_cast<double>(random.next()))});
          break;
        case 4:
          e.properties.push_back({name, Value::of_int64(static_cast<std::int64_t>(random.next()))});
          break;
        case 5:
          e.properties.push_back({name, Value::of_int32(static_cast<std::int32_t>(random.next()))});
          break;
        default:
          break;
      }
    }
    table.put(e);
    entities.push_back(std::move(e));
  }
  const ResponsePage page = table.page();
  REQUIRE(page.rows.size() == entities.size());
  for (std::size_t i = 0; i < entities.size(); ++i) {
    CAPTURE(i);
    const auto& cells = page.rows[i].cells;
    CHECK(cells[0] == "etag=" + etag_text(entities[i].timestamp));
    CHECK(cells[2] == "RowKey=" + entities[i].key.row);
    CHECK(cells.size() == 4 + entities[i].properties.size());
    for (const Property& property : entities[i].properties) {
      const auto type = static_cast<std::int32_t>(property.value.type());
      const std::string cell =
          property.name + ":" + to_text(type) + "=" + value_text(property.value.view());
      CHECK(std::find(cells.begin(), cells.end(), cell) != cells.end());
    }
  }
}

TEST_CASE("Cached shapes do not mix up branches of one table") {
  Table base;
  base.put(entity("p", "a", {{"x", Value::of_int32(1)}}));
  PageWriter writer;
  for (const std::string name : {"one", "two", "three"}) {
    Table branch = base;
    branch.index.fork_schema();
    branch.put(entity("p", "b", {{name, Value::of_int32(2)}}));  // each branch reuses the shape id
    ResponseBuffer out;
    writer.write(out, "people", branch.rows(), {}, {});
    CHECK(out.str() == branch.bytes());
  }
}

}  // namespace entitable::rpc
