#include "core/rest/bearer_token.h"

#include <string>
#include <utility>

#include "core/base/base64.h"
#include "core/model/service_error.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

constexpr Ticks second = 1000 * ticks_per_millisecond;
const Ticks noon = *parse_date_time("2026-01-01T12:00:00Z", {});

std::string encoded(std::string_view text) {
  std::string part = base64url_encode(text);
  while (part.ends_with('=')) part.pop_back();
  return part;
}

std::string token_of(std::string_view payload, std::string_view header = R"({"alg":"none"})") {
  return encoded(header) + "." + encoded(payload) + ".";
}

// The claims of a token that is valid from 12:00:00 to 13:00:00. Each is JSON.
struct Claims {
  std::string aud = R"("https://storage.azure.com")";
  std::string iss = R"("https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/")";
  std::string iat = std::to_string(seconds(noon));
  std::string nbf = std::to_string(seconds(noon));
  std::string exp = std::to_string(seconds(noon) + 3600);

  std::string token() const {
    return token_of(R"({"aud":)" + aud + R"(,"iss":)" + iss + R"(,"iat":)" + iat + R"(,"nbf":)" +
                    nbf + R"(,"exp":)" + exp + R"(,"amr":["pwd"],"_claim_names":{"groups":"a"}})");
  }

  static Ticks seconds(Ticks ticks) { return (ticks - ticks_at_unix_epoch) / second; }
};

// Returns "ok", or what the message adds to the service's.
std::string checked(std::string_view token, Ticks now = noon) {
  const Result<void> valid = check_bearer_token(token, "acct", now);
  if (valid.ok()) return "ok";
  CHECK(valid.error().code == ErrorCode::authentication_failed);
  const std::string standard(service_error_of(ErrorCode::authentication_failed).message);
  REQUIRE(valid.error().message.starts_with(standard + " "));
  return valid.error().message.substr(standard.size() + 1);
}

const std::string unsupported = "Authentication scheme Bearer is not supported.";
const std::string bad_audience = "Invalid token audience.";
const std::string bad_issuer = "Invalid token issuer.";

}  // namespace

TEST_CASE("a bearer token is valid from its nbf to its exp") {
  const std::string token = Claims{}.token();
  CHECK(checked(token) == "ok");
  CHECK(checked(token, noon - ticks_per_millisecond) == "Lifetime validation failed.");
  CHECK(checked(token, noon + 3600 * second) == "ok");
  CHECK(checked(token, noon + 3600 * second + ticks_per_millisecond) ==
        "Lifetime validation failed. The token is expired.");
  CHECK(checked(token + "c2lnbmF0dXJl") == "ok");  // the signature is not checked
}

TEST_CASE("the audience of a bearer token is the service or this account") {
  for (const char* good :
       {"https://storage.azure.com", "https://storage.azure.com/",
        "e406a681-f3d4-42a8-90b6-c2b029497af1", "https://acct.table.core.windows.net",
        "https://acct.table.core.windows.net/", "https://acct.table.core.chinacloudapi.cn",
        "https://acct.table.core.usgovcloudapi.net/", "https://acct.table.core.cloudapi.de"}) {
    CAPTURE(good);
    Claims claims;
    claims.aud = "\"" + std::string(good) + "\"";
    CHECK(checked(claims.token()) == "ok");
  }
  for (const char* bad :
       {"https://storage.azure.com//", "http://storage.azure.com", "https://storage.azure.com.x",
        "e406a681-f3d4-42a8-90b6-c2b029497af1/", "https://other.table.core.windows.net",
        "https://acct.blob.core.windows.net", "https://acctx.table.core.windows.net", "acct",
        "https://acct.table.core.windows.net.x", "https://management.core.windows.net/"}) {
    CAPTURE(bad);
    Claims claims;
    claims.aud = "\"" + std::string(bad) + "\"";
    CHECK(checked(claims.token()) == bad_audience);
  }
}

TEST_CASE("the issuer of a bearer token is a known one") {
  for (const char* good : {"https://sts.windows.net/", "https://sts.microsoftonline.de/t/",
                           "https://sts.chinacloudapi.cn/t/", "https://sts.windows-ppe.net/t/"}) {
    CAPTURE(good);
    Claims claims;
    claims.iss = "\"" + std::string(good) + "\"";
    CHECK(checked(claims.token()) == "ok");
  }
  for (const char* bad : {"https://sts.windows.net", "http://sts.windows.net/t/", "x",
                          "https://login.microsoftonline.com/t/v2.0"}) {
    CAPTURE(bad);
    Claims claims;
    claims.iss = "\"" + std::string(bad) + "\"";
    CHECK(checked(claims.token()) == bad_issuer);
  }
}

TEST_CASE("a bearer token without a claim or with a claim of another type is not supported") {
  for (std::string Claims::*claim :
       {&Claims::aud, &Claims::iss, &Claims::iat, &Claims::nbf, &Claims::exp}) {
    for (const char* bad : {"null", "\"\"", "[]", "{}"}) {
      CAPTURE(bad);
      Claims claims;
      claims.*claim = bad;
      CHECK(checked(claims.token()) == unsupported);
    }
  }
  CHECK(checked(token_of("{}")) == unsupported);
}

TEST_CASE("text that is no bearer token is not supported") {
  const std::string good = Claims{}.token();
  const std::string payload = good.substr(good.find('.') + 1);
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string(".."), std::string("a.b.c"), payload,
        good + ".", "." + payload, "!" + good, token_of("no JSON"), token_of("[]"),
        token_of("{}", "no JSON"), good.substr(0, good.size() - 1),
        good.substr(0, good.find('.')) + "=" + good.substr(good.find('.'))}) {
    CAPTURE(bad);
    CHECK(checked(bad) == unsupported);
  }
}

}  // namespace entitable::rest
