#include "core/log/field_codec.h"

#include "core/base/utf8.h"
#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/log_files.h"

using namespace entitable;
using limits::date_time_ticks_max;
using limits::date_time_ticks_min;

namespace {

std::string ticks_bytes(Ticks ticks, Ticks base) {
  std::string out;
  append_ticks(ticks, base, out);
  return out;
}

// The ticks that were read, or the error.
std::variant<Ticks, std::string> read_back(std::string_view bytes, Ticks base) {
  ByteReader reader(bytes);
  Ticks ticks = -1;
  if (const char* bad = read_ticks(reader, base, ticks)) return std::string(bad);
  CHECK(reader.at_end());
  return ticks;
}

std::string varint(std::uint64_t value) {
  std::string out;
  ByteWriter(out).varint(value);
  return out;
}

std::string read_policies_error(const std::string& bytes) {
  ByteReader reader(bytes);
  std::vector<AccessPolicy> policies;
  const char* bad = read_policies(reader, policies);
  return bad == nullptr ? "" : bad;
}

std::string date_bytes(Ticks ticks) {
  std::string out;
  ByteWriter(out).u64(static_cast<std::uint64_t>(ticks));
  return out;
}

}  // namespace

TEST_CASE("text is valid WTF-8, however long its ASCII prefix") {
  for (std::size_t length = 0; length < 40; ++length) {
    const std::string ascii(length, 'x');
    CAPTURE(length);
    CHECK(is_valid_text(ascii));
    for (std::size_t at = 0; at <= length; ++at) {
      std::string text = ascii;
      CHECK(is_valid_text(text.insert(at, "\xC3\xA4")));
      text = ascii;
      CHECK(is_valid_text(text.insert(at, "\xED\xA0\x80")));
      text = ascii;
      CHECK(!is_valid_text(text.insert(at, "\xC3")));
      text = ascii;
      CHECK(!is_valid_text(text.insert(at, "\x80")));
      text = ascii;
      CHECK(!is_valid_text(text.insert(at, "\xED\xA0\xBD\xED\xB8\x80")));
    }
  }
}

TEST_CASE("a stored key is valid text without forbidden characters") {
  CHECK(check_stored_key({"p", "r"}) == nullptr);
  CHECK(check_stored_key({"", ""}) == nullptr);
  CHECK(check_stored_key({"p", "\xFF"}) == std::string("a key is not valid text"));
  CHECK(check_stored_key({"\xC3", "r"}) == std::string("a key is not valid text"));
  CHECK(check_stored_key({"p/q", "r"}) == std::string("a key is not allowed"));
  CHECK(check_stored_key({"p", std::string("r\0", 2)}) == std::string("a key is not allowed"));
  CHECK(check_stored_key({std::string(limits::key_units_max, 'k'), "r"}) == nullptr);
  CHECK(check_stored_key({std::string(limits::key_units_max + 1, 'k'), "r"}) ==
        std::string("a key is not allowed"));
}

TEST_CASE("ticks near their base are short") {
  constexpr Ticks base = 638'000'000'000'000'000;
  CHECK(ticks_bytes(0, base) == test::bytes_from_hex("00"));
  CHECK(ticks_bytes(base, base) == test::bytes_from_hex("01"));
  CHECK(ticks_bytes(base + 1, base) == test::bytes_from_hex("02"));
  CHECK(ticks_bytes(base - 1, base) == test::bytes_from_hex("03"));
  CHECK(ticks_bytes(base - 63, base).size() == 1);
  CHECK(ticks_bytes(base - 64, base).size() == 2);
}

TEST_CASE("ticks are read back whatever their base") {
  const Ticks edges[] = {
      0, 1, 2, date_time_ticks_min, date_time_ticks_max - 1, date_time_ticks_max};
  for (const Ticks base : edges) {
    for (const Ticks ticks : edges) {
      CAPTURE(base, ticks);
      CHECK(std::get<Ticks>(read_back(ticks_bytes(ticks, base), base)) == ticks);
    }
  }
}

TEST_CASE("ticks out of range are rejected") {
  const std::string out_of_range = "a timestamp is out of range";
  CHECK(std::get<std::string>(read_back("", 5)) == "it is truncated");
  // Ticks are encoded as 1 + zigzag(base - ticks). With base 5, a difference of 5 would give 0
  // ticks, whose only encoding is the number 0, and a difference of 6 would give -1.
  CHECK(std::get<Ticks>(read_back(varint(1 + 8), 5)) == 1);
  CHECK(std::get<std::string>(read_back(varint(1 + 10), 5)) == out_of_range);
  CHECK(std::get<std::string>(read_back(varint(1 + 12), 5)) == out_of_range);
  CHECK(std::get<Ticks>(read_back(varint(1 + 1), date_time_ticks_max - 1)) == date_time_ticks_max);
  CHECK(std::get<std::string>(read_back(varint(1 + 1), date_time_ticks_max)) == out_of_range);
  CHECK(std::get<std::string>(read_back(varint(~std::uint64_t{0}), 5)) == out_of_range);
}

TEST_CASE("policies are read back with the fields they have") {
  std::vector<AccessPolicy> policies(4);
  policies[0] = {"all", date_time_ticks_min, date_time_ticks_max, "raud"};
  policies[1] = {"x", std::nullopt, ticks_at_unix_epoch, std::nullopt};
  policies[2] = {"\xED\xA0\x80", ticks_at_unix_epoch, std::nullopt, ""};
  policies[3] = {"none", std::nullopt, std::nullopt, std::nullopt};
  std::string bytes;
  append_policies(policies, bytes);
  ByteReader reader(bytes);
  std::vector<AccessPolicy> read = policies;  // not empty: read_policies must replace the content
  REQUIRE(read_policies(reader, read) == nullptr);
  CHECK(read == policies);
  CHECK(reader.at_end());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK(!read_policies_error(bytes.substr(0, size)).empty());
  }
}

TEST_CASE("invalid policies are rejected") {
  const std::string head = test::bytes_from_hex("01 02") + "id";
  CHECK(read_policies_error(head + '\x00').empty());
  CHECK(read_policies_error(head + '\x08') == "an access policy has unknown fields");
  CHECK(read_policies_error(test::bytes_from_hex("01 01 ff 00")) ==
        "the id of an access policy is not valid text");
  CHECK(read_policies_error(test::bytes_from_hex("01 00 00")) ==
        "an access policy has an empty id");
  const std::string units_64 = varint(64) + std::string(64, 'i');
  CHECK(read_policies_error('\1' + units_64 + '\x00').empty());
  CHECK(read_policies_error('\1' + varint(65) + std::string(65, 'i') + '\x00') ==
        "the id of an access policy is too long");
  CHECK(read_policies_error(test::bytes_from_hex("02 01 61 00 01 62 00")).empty());
  CHECK(read_policies_error(test::bytes_from_hex("02 01 61 00 01 61 00")) ==
        "two access policies have the same id");
  const std::string five = test::bytes_from_hex("01 61 00 01 62 00 01 63 00 01 64 00 01 65 00");
  CHECK(read_policies_error('\5' + five).empty());
  CHECK(read_policies_error('\6' + five + test::bytes_from_hex("01 66 00")) ==
        "there are too many access policies");
  const auto permission = [&](std::string_view text) {
    return read_policies_error(head + '\4' + varint(text.size()) + std::string(text));
  };
  for (const char* good : {"", "r", "raud", "ad"}) CHECK(permission(good).empty());
  for (const char* bad : {"zzz", "ar", "rr", "R", "\xFF"}) {
    CHECK(permission(bad) == "the permission of an access policy is not allowed");
  }
  const std::string out_of_range = "a date of an access policy is out of range";
  for (const char field : {'\x01', '\x02'}) {
    CHECK(read_policies_error(head + field + date_bytes(date_time_ticks_min)).empty());
    CHECK(read_policies_error(head + field + date_bytes(date_time_ticks_min - 1)) == out_of_range);
    CHECK(read_policies_error(head + field + date_bytes(date_time_ticks_max)).empty());
    CHECK(read_policies_error(head + field + date_bytes(date_time_ticks_max + 1)) == out_of_range);
    CHECK(read_policies_error(head + field + date_bytes(-1)) == out_of_range);
  }
  CHECK(read_policies_error(varint(~std::uint64_t{0})) == "it is truncated");
}

TEST_CASE("calls are read back") {
  constexpr std::uint64_t seed = 31;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 200; ++round) {
    const Ticks last = test::random_last_timestamp(prng);
    const ClientCall call = test::random_call(prng, last);
    std::string bytes;
    append_client_call(call, last, bytes);
    ByteReader reader(bytes);
    ClientCall read;
    REQUIRE(read_client_call(reader, last, read) == nullptr);
    CHECK(read == call);
    CHECK(reader.at_end());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ByteReader cut(std::string_view(bytes).substr(0, size));
      CHECK(read_client_call(cut, last, read) != nullptr);
    }
  }
}

TEST_CASE("a call's result is not newer than the last timestamp") {
  const std::string head = std::string(16, 'c') + '\x07' + '\x01';
  const auto error_of = [&](std::uint64_t code) {
    const std::string bytes = head + varint(code);
    ByteReader reader(bytes);
    ClientCall call;
    const char* bad = read_client_call(reader, 1000, call);
    return std::string(bad == nullptr ? "" : bad);
  };
  CHECK(error_of(1).empty());
  CHECK(error_of(2) == "a result is newer than the last timestamp");
}

TEST_CASE("a call has at most as many results as a transaction has operations") {
  const auto error_of = [](std::size_t results) {
    const std::string bytes =
        std::string(16, 'c') + '\x07' + varint(results) + std::string(results, '\1');
    ByteReader reader(bytes);
    ClientCall call;
    const char* bad = read_client_call(reader, 1000, call);
    return std::string(bad == nullptr ? "" : bad);
  };
  CHECK(error_of(100).empty());
  CHECK(error_of(101) == "a call has too many results");
}

TEST_CASE("service properties are text") {
  const auto error_of = [](const std::string& document) {
    const std::string bytes = varint(document.size()) + document;
    ByteReader reader(bytes);
    std::string read;
    const char* bad = read_service_properties(reader, read);
    return std::string(bad == nullptr ? "" : bad);
  };
  CHECK(error_of("").empty());
  CHECK(error_of("<x/>").empty());
  CHECK(error_of("\xFF") == "the service properties are not valid text");
}

TEST_CASE("table ids have a range") {
  const auto error_of = [](std::uint64_t id) {
    const std::string bytes = varint(id);
    ByteReader reader(bytes);
    TableId table = 0;
    const char* bad = read_table_id(reader, table);
    if (bad == nullptr) CHECK(table == id);
    return std::string(bad == nullptr ? "" : bad);
  };
  CHECK(error_of(0) == "a table id is out of range");
  CHECK(error_of(1).empty());
  CHECK(error_of(table_id_max).empty());
  CHECK(error_of(std::uint64_t{table_id_max} + 1) == "a table id is out of range");
  CHECK(error_of(std::uint64_t{1} << 32 | 1) == "a table id is out of range");
  CHECK(error_of(hidden_table_of(1, HiddenTable::bases)) == "a table id is out of range");
  ByteReader empty("");
  TableId table = 0;
  CHECK(read_table_id(empty, table) == std::string("it is truncated"));
}
