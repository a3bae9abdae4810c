#include "core/query/projection.h"

#include <string>
#include <vector>

#include "core/index/table_index.h"
#include "core/model/limits.h"
#include "tests/support/catch.h"

using namespace entitable;

namespace {

using Names = std::vector<std::string>;

std::string numbered(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "n" : ",n") + std::to_string(i);
  return text;
}

}  // namespace

TEST_CASE("a select list is split at commas and trimmed") {
  CHECK(*parse_select("a") == Names{"a"});
  CHECK(*parse_select("a,b") == Names{"a", "b"});
  CHECK(*parse_select(" a ,\tb\r\n") == Names{"a", "b"});
  CHECK(*parse_select("RowKey,PartitionKey,Timestamp") ==
        Names{"RowKey", "PartitionKey", "Timestamp"});
  CHECK(*parse_select("Manager Rating,x") == Names{"Manager Rating", "x"});
}

TEST_CASE("a blank list, or a star in it, selects everything") {
  for (const char* text : {"", " ", ",", " , ", "*", " * ", "a,*", "*,a", "a, * ,b"}) {
    CAPTURE(text);
    CHECK(parse_select(text)->empty());
  }
  CHECK(*parse_select("a*") == Names{"a*"});
}

TEST_CASE("names keep their order and case, without duplicates") {
  CHECK(*parse_select("b,a,b,B,a") == Names{"b", "a", "B"});
  CHECK(*parse_select(",a,,b,") == Names{"a", "b"});
  CHECK(*normalize_select({"b", " a ", "b", ""}) == Names{"b", "a"});
}

TEST_CASE("as many names may be selected as an entity can have") {
  CHECK(parse_select(numbered(255))->size() == 255);
  CHECK(parse_select(numbered(255) + ",n0,n254")->size() == 255);
  const auto rejected = parse_select(numbered(256));
  REQUIRE_FALSE(rejected.ok());
  CHECK(rejected.error() == Error(ErrorCode::invalid_input));
  CHECK(parse_select(numbered(256) + ",*")->empty());
}

TEST_CASE("names may be longer than any property name, up to a limit") {
  const std::string longest(256 * 1024, 'n');
  CHECK(normalize_select({longest})->size() == 1);
  CHECK(normalize_select({longest, longest})->size() == 1);
  CHECK(normalize_select({longest, "n"}).error() == Error(ErrorCode::invalid_input));
  CHECK(normalize_select({longest + "n"}).error() == Error(ErrorCode::invalid_input));
  CHECK(normalize_select({longest + "n", "*"})->empty());
}

TEST_CASE("each name is found in a shape once") {
  TableIndex index;
  index.put({EntityKey("p", "r"), 1, {{"a", Value::of_int32(1)}, {"b", Value::of_string("x")}}});
  const RowView row = *index.find({"p", "r"}).row;
  const Names names = {"b", "Timestamp", "missing", "RowKey", "PartitionKey", "a", "A"};
  const std::vector<PropertySource> selected = find_property_sources(names, row.shape());
  REQUIRE(selected.size() == names.size());
  CHECK(selected[0].kind == PropertySourceKind::column);
  CHECK(row.shape().columns()[selected[0].column].name == "b");
  CHECK(selected[1].kind == PropertySourceKind::timestamp);
  CHECK(selected[2].kind == PropertySourceKind::missing);
  CHECK(selected[3].kind == PropertySourceKind::row_key);
  CHECK(selected[4].kind == PropertySourceKind::partition_key);
  CHECK(selected[5].kind == PropertySourceKind::column);
  CHECK(row.shape().columns()[selected[5].column].name == "a");
  CHECK(selected[6].kind == PropertySourceKind::missing);
}

TEST_CASE("properties of the generic shape are looked up by name") {
  const TableIndex index;
  const Shape& generic = index.schema().shape(generic_shape_id);
  const std::vector<PropertySource> selected = find_property_sources({"a", "RowKey"}, generic);
  REQUIRE(selected.size() == 2);
  CHECK(selected[0].kind == PropertySourceKind::by_name);
  CHECK(selected[1].kind == PropertySourceKind::row_key);
}
