#include "core/rest/request_headers.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "core/base/utf8.h"

namespace entitable::rest {
namespace {

// Removes the text up to the first `separator` from `rest`. Returns that text without the separator
// and without blanks around it.
std::string_view split_off(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view first = without_blanks(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return first;
}

// ---- Media types --------------------------------------------------------------------------------

constexpr std::string_view json = "application/json";
constexpr std::string_view atom = "application/atom+xml";

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

Result<MetadataLevel> level_of_json(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = split_off(parameters, ';');
    if (!equal_ignoring_case(split_off(value, '='), "odata")) continue;
    const std::string_view level = unquoted(without_blanks(value));
    if (equal_ignoring_case(level, "nometadata")) return MetadataLevel::none;
    if (equal_ignoring_case(level, "minimalmetadata")) return MetadataLevel::minimal;
    if (equal_ignoring_case(level, "fullmetadata")) return MetadataLevel::full;
    return Error(equal_ignoring_case(level, "verbose") ? ErrorCode::json_verbose_not_supported
                                                       : ErrorCode::media_type_not_supported);
  }
  return MetadataLevel::minimal;
}

Result<MetadataLevel> level_of_media_type(std::string_view entry) {
  const std::string_view type = split_off(entry, ';');
  if (equal_ignoring_case(type, json)) return level_of_json(entry);
  if (type == "*/*" || equal_ignoring_case(type, "application/*")) return MetadataLevel::minimal;
  if (equal_ignoring_case(type, atom)) return Error(ErrorCode::atom_format_not_supported);
  return Error(ErrorCode::media_type_not_supported);
}

// Returns the level of the first supported entry. If there is none, returns the first error that is
// more specific than media_type_not_supported.
Result<MetadataLevel> level_of_list(std::string_view list) {
  Error refusal(ErrorCode::media_type_not_supported);
  while (!list.empty()) {
    const std::string_view entry = split_off(list, ',');
    if (entry.empty()) continue;
    Result<MetadataLevel> level = level_of_media_type(entry);
    if (level.ok()) return level;
    if (refusal.code == ErrorCode::media_type_not_supported) refusal = level.error();
  }
  return refusal;
}

// Returns the values of all headers of that name, joined by commas. The result is a view of the
// only header's value, or of `memory`, where several values are joined.
std::string_view joined(const Request& request, std::string_view name, std::string& memory) {
  std::string_view list;
  for (const HeaderView& header : request.headers) {
    if (!equal_ignoring_case(header.name, name)) continue;
    const std::string_view value = without_blanks(header.value);
    if (list.empty()) {
      list = value;
      continue;
    }
    if (memory.empty()) memory = list;
    list = memory.append(", ").append(value);
  }
  return list;
}

bool names_json(std::string_view list) {
  while (!list.empty()) {
    std::string_view entry = split_off(list, ',');
    if (equal_ignoring_case(split_off(entry, ';'), json)) return true;
  }
  return false;
}

// ---- Versions -----------------------------------------------------------------------------------

// The versions of the service from the oldest that any resource supports, up to the version that
// entitable implements.
constexpr std::string_view known_versions[] = {
    "2012-02-12", "2013-08-15", "2014-02-14", "2015-02-21", "2015-04-05", "2015-07-08",
    "2015-12-11", "2016-05-31", "2017-04-17", "2017-07-29", "2017-11-09", "2018-03-28",
    "2018-11-09", "2019-02-02", "2019-07-07", "2019-10-10", "2019-12-12", "2020-02-10",
    "2020-04-08", "2020-06-12", "2020-08-04", "2020-10-02", "2020-12-06"};
static_assert(known_versions[0] == oldest_xml_version);
static_assert(known_versions[std::size(known_versions) - 1] == newest_version);

bool is_version(std::string_view text) {
  constexpr std::string_view form = "dddd-dd-dd";
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == 'd' ? !digit : text[i] != form[i]) return false;
  }
  const std::string_view month = text.substr(5, 2);
  const std::string_view day = text.substr(8, 2);
  return month >= "01" && month <= "12" && day >= "01" && day <= "31";
}

bool is_served(std::string_view version, const Account& account, std::string_view oldest) {
  if (!is_version(version) || version < oldest) return false;
  return !account.strict_versions || std::find(std::begin(known_versions), std::end(known_versions),
                                               version) != std::end(known_versions);
}

}  // namespace

// ---- The form of the response -------------------------------------------------------------------

std::string_view json_content_type(MetadataLevel level) {
  switch (level) {
    case MetadataLevel::none:
      return "application/json;odata=nometadata;streaming=true;charset=utf-8";
    case MetadataLevel::minimal:
      return "application/json;odata=minimalmetadata;streaming=true;charset=utf-8";
    case MetadataLevel::full:
      break;
  }
  return "application/json;odata=fullmetadata;streaming=true;charset=utf-8";
}

Result<MetadataLevel> negotiate_metadata(const Request& request,
                                         const std::optional<std::string>& format) {
  if (format.has_value() && !without_blanks(*format).empty())
    return level_of_media_type(without_blanks(*format));
  std::string memory;
  const std::string_view accept = joined(request, "Accept", memory);
  if (accept.empty()) return MetadataLevel::minimal;
  return level_of_list(accept);
}

bool accepts_json(const Request& request, const std::optional<std::string>& format) {
  std::string memory;
  return names_json(format.has_value() ? *format : joined(request, "Accept", memory));
}

ReturnPreference return_preference_of(const Request& request) {
  std::string memory;
  for (std::string_view rest = joined(request, "Prefer", memory); !rest.empty();) {
    const std::string_view one = split_off(rest, ',');
    if (equal_ignoring_case(one, "return-content")) return ReturnPreference::content;
    if (equal_ignoring_case(one, "return-no-content")) return ReturnPreference::no_content;
  }
  return ReturnPreference::unspecified;
}

std::string_view return_preference_text(ReturnPreference preference) {
  switch (preference) {
    case ReturnPreference::unspecified:
      return {};
    case ReturnPreference::content:
      return "return-content";
    case ReturnPreference::no_content:
      break;
  }
  return "return-no-content";
}

// ---- The request --------------------------------------------------------------------------------

Result<void> check_content_type(const Request& request) {
  std::string_view value = find_header(request, "Content-Type").value_or(std::string_view());
  const std::string_view type = split_off(value, ';');
  if (type.empty() || equal_ignoring_case(type, json)) return {};
  return Error(equal_ignoring_case(type, atom) ? ErrorCode::atom_format_not_supported
                                               : ErrorCode::media_type_not_supported);
}

Result<std::string_view> effective_method(const Request& request) {
  const std::size_t count = count_headers(request, "X-HTTP-Method");
  if (count == 0) return request.method;
  const std::string_view method =
      find_header(request, "X-HTTP-Method").value_or(std::string_view());
  // A comma means several headers too: a proxy or fetch() may have joined them.
  if (count > 1 || method.find(',') != method.npos)
    return Error(ErrorCode::x_method_incorrect_count);
  if (method != "PUT" && method != "MERGE" && method != "PATCH" && method != "DELETE") {
    return Error(ErrorCode::x_method_incorrect_value);
  }
  if (request.method != "POST") return Error(ErrorCode::x_method_not_using_post);
  return method;
}

Result<IfMatch> if_match_of(const Request& request) {
  if (count_headers(request, "If-None-Match") > 0) return Error(ErrorCode::invalid_input);
  std::string memory;
  const std::string_view condition = joined(request, "If-Match", memory);
  // The error would repeat the text, and messages must be WTF-8.
  if (!is_wtf8(condition)) return Error(ErrorCode::invalid_input);
  return IfMatch::parse(condition);
}

// ---- Versions and identities --------------------------------------------------------------------

Result<std::string> requested_version(const Request& request, const std::optional<std::string>& sv,
                                      const Account& account, std::string_view oldest) {
  const std::optional<std::string_view> version = find_header(request, "x-ms-version");
  if (version.has_value()) {
    if (!is_served(*version, account, oldest)) return Error(ErrorCode::invalid_header_value);
    return std::string(*version);
  }
  // An invalid `sv` is ignored here; authorization (sas.h) reports it.
  return sv.has_value() && is_served(*sv, account, oldest) ? *sv : std::string(newest_version);
}

bool is_echoable_id(std::string_view id) {
  constexpr std::size_t characters_max = 1024;
  if (id.empty() || id.size() > characters_max) return false;
  return std::all_of(id.begin(), id.end(), [](char c) { return c >= '!' && c <= '~'; });
}

std::optional<std::string_view> client_request_id(const Request& request) {
  const std::optional<std::string_view> id = find_header(request, "x-ms-client-request-id");
  return id.has_value() && is_echoable_id(*id) ? id : std::nullopt;
}

}  // namespace entitable::rest
