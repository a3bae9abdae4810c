// The input is a URL, an Authorization header, a date and a method, one per line. Checks that the
// request is only authorized if it has credentials, that it is authorized once it is signed with
// the account's key, and that a SAS allows the same keys for point operations and for queries.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/filter/evaluate.h"
#include "core/rest/authorization.h"
#include "core/rest/bearer_token.h"
#include "core/rest/http_date.h"
#include "tests/core/rest/signed_urls.h"
#include "tests/support/filter_text.h"

using namespace entitable;
using namespace entitable::rest;

namespace {

constexpr Ticks now = 638'000'000'000'000'001;

Account account_of_test() {
  Account account;
  account.name = "acct";
  account.keys = {test::secret};
  account.hmac = test::fake_hmac;
  account.authorize = true;
  return account;
}

struct Input {
  std::string_view url, authorization, date, method;
};

Input lines_of(std::string_view text) {
  std::array<std::string_view, 4> lines;
  for (std::string_view& line : lines) {
    line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {lines[0], lines[1], lines[2], lines[3]};
}

void check_refusal(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_authentication_info:
    case ErrorCode::authentication_failed:
    case ErrorCode::authorization_failure:
    case ErrorCode::permission_mismatch:
    case ErrorCode::protocol_mismatch:
    case ErrorCode::source_ip_mismatch:
    case ErrorCode::service_mismatch:
    case ErrorCode::resource_type_mismatch:
      return;
    default:
      ENTITABLE_CHECK(false);
  }
}

// Checks that contains() and restrict_filter() agree on keys at and around the bounds.
void check_range(const SasKeyRange& range) {
  const Filter restrict_filter = range.restrict_filter({});
  ENTITABLE_CHECK(restrict_filter.empty() == range.is_unbounded() &&
                  test::check_structure(restrict_filter) == "sound");
  for (const std::string& partition :
       {std::string(), range.first_partition, range.first_partition + "a", range.last_partition,
        range.last_partition + "a"}) {
    for (const std::string& row : {std::string(), range.first_row, range.first_row + "a",
                                   range.last_row, range.last_row + "a"}) {
      Entity entity;
      entity.key = EntityKey(partition, row);
      ENTITABLE_CHECK((restrict_filter.empty() || matches_unbound(restrict_filter, entity)) ==
                      range.contains({partition, row}));
    }
  }
}

void check_sas(std::string_view raw_query) {
  const auto read = parse_sas_fields(raw_query);
  if (!read.ok() || !read->has_value()) return;
  SasFields fields = **read;
  const auto again = parse_sas_fields(test::query_of(fields));
  ENTITABLE_CHECK(again.ok() && again->has_value());
  ENTITABLE_CHECK(test::query_of(**again) == test::query_of(fields));
  if (fields.sv.size() != 10 || fields.sv < sas_version_min) return;
  const bool whole = !fields.ss.empty() || !fields.srt.empty();
  fields.sig = sign(test::fake_hmac, test::secret,
                    whole ? account_sas_string_to_sign(fields, "acct")
                          : table_sas_string_to_sign(fields, "acct"));
  const FindPolicy find = [](std::string_view, std::string_view id) {
    return id == "pol" ? std::optional(AccessPolicy{"pol", now, now + 1, "r"}) : std::nullopt;
  };
  const auto grant = verify_sas(fields, account_of_test(), find, {now, false, "1.2.3.4"});
  if (!grant.ok()) return check_refusal(grant.error());
  ENTITABLE_CHECK(grant->whole_account == whole);
  check_range(grant->keys);
  fields.sig[0] = fields.sig[0] == 'A' ? 'B' : 'A';
  ENTITABLE_CHECK(!verify_sas(fields, account_of_test(), find, {now, true, {}}).ok());
}

void check_shared_key(const Input& input, const ResourceUri& uri, const Store& store) {
  SharedKeyParts parts;
  parts.date = input.date;
  parts.account = "acct";
  parts.raw_path = uri.raw_path;
  const std::string signature = "SharedKeyLite acct:" + sign(test::fake_hmac, test::secret,
                                                             shared_key_lite_string_to_sign(parts));
  const Request request{
      input.method, input.url, {{"x-ms-date", input.date}, {"Authorization", signature}}, {}, {}};
  const auto access =
      authorize(account_of_test(), store, request, uri, now, {AccessKind::table_acl, "t", {}});
  const bool plain = uri.raw_query.find("comp") == std::string_view::npos;
  if (plain && uri.account == "acct" && parse_http_date(input.date).has_value()) {
    ENTITABLE_CHECK(access.ok());
  }
}

void check_token(std::string_view authorization) {
  const auto checked = check_bearer_token(authorization, "acct", now);
  ENTITABLE_CHECK(checked.ok() || checked.error().code == ErrorCode::authentication_failed);
}

void check_as_it_is(const Input& input, const ResourceUri& uri, const Store& store) {
  Request request{input.method, input.url, {{"x-ms-date", input.date}}, {}, "1.2.3.4"};
  for (const bool with_header : {false, true}) {
    if (with_header) request.headers.push_back({"Authorization", input.authorization});
    const auto access = authorize(account_of_test(), store, request, uri, now,
                                  {AccessKind::read_entities, uri.table, uri.key.view()});
    if (access.ok()) {
      // Only possible if the input contains a signature that was made with the account's key.
      ENTITABLE_CHECK(uri.account == "acct");
      ENTITABLE_CHECK(with_header || uri.raw_query.find('=') != std::string_view::npos);
    } else {
      check_refusal(access.error());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Store store;
  const Input input = lines_of({reinterpret_cast<const char*>(data), size});
  const auto uri = parse_resource_uri(input.url, "acct");
  if (!uri.ok()) return 0;
  check_sas(uri->raw_query);
  check_token(input.authorization);
  check_shared_key(input, *uri, store);
  check_as_it_is(input, *uri, store);
  return 0;
}
