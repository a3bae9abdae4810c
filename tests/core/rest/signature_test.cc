#include "core/rest/signature.h"

#include "core/base/base64.h"
#include "tests/support/catch.h"
#include "tests/support/hmac.h"

using namespace entitable;
using namespace entitable::rest;

namespace {

// The storage emulator's account, whose key is public.
constexpr const char* name = "devstoreaccount1";
const std::string key = *base64_decode(
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==");
constexpr const char* date = "Tue, 02 Jan 2024 03:04:05 GMT";

// In wasm there is no real HMAC (tests/support/hmac.h), so only the text is tested.
void check_signature(const std::string& text, const char* signature) {
  CAPTURE(text);
  if (test::hmac_is_real) CHECK(sign(test::hmac, key, text) == signature);
}

SharedKeyParts of_path(std::string_view path) {
  SharedKeyParts parts;
  parts.method = "GET";
  parts.date = date;
  parts.account = name;
  parts.raw_path = path;
  return parts;
}

SasFields table_sas() {
  SasFields fields;
  fields.sv = "2019-02-02";
  fields.tn = "MyTable";
  fields.sp = "raud";
  fields.st = "2024-01-01T00:00:00Z";
  fields.se = "2030-01-01T00:00:00Z";
  fields.spk = "a";
  fields.srk = "1";
  fields.epk = "b";
  fields.erk = "9";
  return fields;
}

SasFields account_sas(const char* version) {
  SasFields fields;
  fields.sv = version;
  fields.sp = "rwdlau";
  fields.ss = "t";
  fields.srt = "sco";
  fields.st = "2024-01-01T00:00:00Z";
  fields.se = "2030-01-01T00:00:00Z";
  return fields;
}

}  // namespace

TEST_CASE("Shared Key Lite signs the date and the resource") {
  SharedKeyParts parts = of_path("/devstoreaccount1/Tables");
  CHECK(shared_key_lite_string_to_sign(parts) ==
        "Tue, 02 Jan 2024 03:04:05 GMT\n/devstoreaccount1/devstoreaccount1/Tables");
  check_signature(shared_key_lite_string_to_sign(parts),
                  "vqH9cAkS8xJlO5MTje1QvTgbpxIibsQNqN4+xo6qZpI=");
  parts = of_path("/devstoreaccount1/mytable");
  parts.comp = "acl";
  CHECK(shared_key_lite_string_to_sign(parts) ==
        "Tue, 02 Jan 2024 03:04:05 GMT\n/devstoreaccount1/devstoreaccount1/mytable?comp=acl");
  check_signature(shared_key_lite_string_to_sign(parts),
                  "HsfwQzG1mQcsQIdHGa/8koyMB6ALW2DpEogNGpMxDO0=");
  parts = of_path("/devstoreaccount1/t(PartitionKey='o''x',RowKey='%C3%BC%201')");
  CHECK(shared_key_lite_string_to_sign(parts) ==
        "Tue, 02 Jan 2024 03:04:05 GMT\n"
        "/devstoreaccount1/devstoreaccount1/t(PartitionKey='o''x',RowKey='%C3%BC%201')");
  check_signature(shared_key_lite_string_to_sign(parts),
                  "7C4HmUnDmjBXW6JyQPX1n7g+E0zbnzufsgPg0Du/Moc=");
}

TEST_CASE("Shared Key also signs the verb and content headers") {
  SharedKeyParts parts = of_path("/devstoreaccount1/mytable()");
  CHECK(shared_key_string_to_sign(parts) ==
        "GET\n\n\nTue, 02 Jan 2024 03:04:05 GMT\n/devstoreaccount1/devstoreaccount1/mytable()");
  check_signature(shared_key_string_to_sign(parts), "RgkY9z0iplun40pUXryDpUhcqcSBCyC1VTbPtjjKBDk=");
  parts.method = "POST";
  parts.content_md5 = "md5==";
  parts.content_type = "application/json";
  parts.comp = "x";
  CHECK(shared_key_string_to_sign(parts) ==
        "POST\nmd5==\napplication/json\nTue, 02 Jan 2024 03:04:05 GMT\n"
        "/devstoreaccount1/devstoreaccount1/mytable()?comp=x");
}

TEST_CASE("the root has a path") {
  for (const char* path : {"", "/"}) {
    SharedKeyParts parts = of_path(path);
    parts.account = "acct";
    CHECK(shared_key_lite_string_to_sign(parts) == "Tue, 02 Jan 2024 03:04:05 GMT\n/acct/");
    parts.comp = "properties";
    CHECK(shared_key_lite_string_to_sign(parts) ==
          "Tue, 02 Jan 2024 03:04:05 GMT\n/acct/?comp=properties");
  }
}

TEST_CASE("a table SAS signs twelve lines") {
  CHECK(table_sas_string_to_sign(table_sas(), name) ==
        "raud\n2024-01-01T00:00:00Z\n2030-01-01T00:00:00Z\n/table/devstoreaccount1/mytable\n\n\n\n"
        "2019-02-02\na\n1\nb\n9");
  check_signature(table_sas_string_to_sign(table_sas(), name),
                  "Seotp/ZH8jm144JB7QavGuoD4g5zQRRIKhw14IQqxj4=");
  SasFields by_policy;
  by_policy.sv = "2019-02-02";
  by_policy.tn = "MyTable";
  by_policy.si = "pol1";
  CHECK(table_sas_string_to_sign(by_policy, name) ==
        "\n\n\n/table/devstoreaccount1/mytable\npol1\n\n\n2019-02-02\n\n\n\n");
  check_signature(table_sas_string_to_sign(by_policy, name),
                  "axYq4ImqDamyfi65Fs65/r9XSVgqfDrgjxTtJMr2hPA=");
}

TEST_CASE("older table SAS sign fewer fields") {
  SasFields fields = table_sas();
  fields.sip = "10.0.0.1";
  fields.spr = "https";
  fields.sv = "2015-04-05";
  CHECK(table_sas_string_to_sign(fields, "acct") ==
        "raud\n2024-01-01T00:00:00Z\n2030-01-01T00:00:00Z\n/table/acct/mytable\n\n10.0.0.1\nhttps\n"
        "2015-04-05\na\n1\nb\n9");
  fields.sv = "2015-04-04";
  CHECK(table_sas_string_to_sign(fields, "acct") ==
        "raud\n2024-01-01T00:00:00Z\n2030-01-01T00:00:00Z\n/table/acct/mytable\n\n"
        "2015-04-04\na\n1\nb\n9");
  fields.sv = "2015-02-20";
  CHECK(table_sas_string_to_sign(fields, "acct") ==
        "raud\n2024-01-01T00:00:00Z\n2030-01-01T00:00:00Z\n/acct/mytable\n\n"
        "2015-02-20\na\n1\nb\n9");
}

TEST_CASE("an account SAS ends with a newline, and has a scope since 2020-12-06") {
  CHECK(account_sas_string_to_sign(account_sas("2019-02-02"), name) ==
        "devstoreaccount1\nrwdlau\nt\nsco\n2024-01-01T00:00:00Z\n2030-01-01T00:00:00Z\n\n\n"
        "2019-02-02\n");
  check_signature(account_sas_string_to_sign(account_sas("2019-02-02"), name),
                  "48nWiz5f64EphgXUgglDER3ZA9urKITdec+1mjH/DWE=");
  SasFields fields = account_sas("2020-12-06");
  CHECK(account_sas_string_to_sign(fields, name) ==
        "devstoreaccount1\nrwdlau\nt\nsco\n2024-01-01T00:00:00Z\n2030-01-01T00:00:00Z\n\n\n"
        "2020-12-06\n\n");
  check_signature(account_sas_string_to_sign(fields, name),
                  "iI+AgdHYH5RoNyVVJQPq8ZPr8eEMhU89xShtDI5I2y0=");
  fields.sip = "1.2.3.4";
  fields.spr = "https,http";
  fields.ses = "scope";
  CHECK(account_sas_string_to_sign(fields, name) ==
        "devstoreaccount1\nrwdlau\nt\nsco\n2024-01-01T00:00:00Z\n2030-01-01T00:00:00Z\n1.2.3.4\n"
        "https,http\n2020-12-06\nscope\n");
}

TEST_CASE("a signature is the HMAC as base64") {
  const Hmac echo = [](std::string_view given_key, std::string_view text) {
    return std::string(given_key) + "|" + std::string(text);
  };
  CHECK(sign(echo, "k", "t") == base64_encode("k|t"));
}

TEST_CASE("signatures are compared completely") {
  CHECK(equal_in_constant_time("", ""));
  CHECK(equal_in_constant_time("abc", "abc"));
  CHECK_FALSE(equal_in_constant_time("abc", "abd"));
  CHECK_FALSE(equal_in_constant_time("bbc", "abc"));
  CHECK_FALSE(equal_in_constant_time("abc", "ab"));
  CHECK_FALSE(equal_in_constant_time("", "a"));
}
