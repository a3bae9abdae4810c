// Parses the headers of a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/etag.h"
#include "core/rest/account_settings.h"
#include "core/rest/http.h"
#include "core/rest/query_parameters.h"

namespace entitable::rest {

// ---- The form of the response -------------------------------------------------------------------

// OData metadata in a JSON response. none: no metadata. minimal: odata.metadata, ETags, and the
// types that JSON does not imply. full: also odata.type, odata.id and odata.editLink.
enum class MetadataLevel : std::uint8_t { none, minimal, full };

// Returns for example "application/json;odata=minimalmetadata;streaming=true;charset=utf-8".
std::string_view json_content_type(MetadataLevel level);

// Returns the level of the first media type in Accept that is supported. `format` ($format) takes
// precedence over Accept. Without either, the level is minimal.
//
// If no media type is supported, returns AtomFormatNotSupported or JsonVerboseFormatNotSupported if
// Atom or verbose JSON is among them (whichever is first), otherwise MediaTypeNotSupported.
Result<MetadataLevel> negotiate_metadata(const Request& request,
                                         const std::optional<std::string>& format);

// Returns whether `format` ($format), or Accept if `format` is absent, contains application/json.
bool accepts_json(const Request& request, const std::optional<std::string>& format);

// The Prefer header of an insert: whether the response contains the new resource (return-content)
// or not (return-no-content).
enum class ReturnPreference : std::uint8_t { unspecified, content, no_content };
ReturnPreference return_preference_of(const Request& request);
// Returns the value of the header, or "" for `unspecified`.
std::string_view return_preference_text(ReturnPreference preference);

// ---- The request --------------------------------------------------------------------------------

// Checks that the Content-Type of a write is JSON or absent. AtomFormatNotSupported: it is Atom.
// MediaTypeNotSupported: it is anything else.
Result<void> check_content_type(const Request& request);

// Returns the request's method, or the method in X-HTTP-Method if that header is there. Errors, in
// this order: XMethodIncorrectCount (the header occurs twice), XMethodIncorrectValue (not PUT,
// MERGE, PATCH or DELETE), XMethodNotUsingPost (the request is not a POST).
Result<std::string_view> effective_method(const Request& request);

// Returns the If-Match condition of a write to an entity. InvalidInput: the request has an
// If-None-Match, or If-Match is neither "*" nor exactly one weak ETag.
Result<IfMatch> if_match_of(const Request& request);

// ---- Versions and identities --------------------------------------------------------------------

inline constexpr std::string_view newest_version = "2020-12-06";
inline constexpr std::string_view oldest_version = "2013-08-15";      // the first with JSON
inline constexpr std::string_view oldest_xml_version = "2012-02-12";  // for XML resources

// Returns the service version that the request asks for: x-ms-version; without that header, a valid
// `sv` of a shared access signature; otherwise the newest. InvalidHeaderValue: x-ms-version is not
// of the form yyyy-mm-dd, is before `oldest`, or (Account::strict_versions) is not a version of the
// service.
Result<std::string> requested_version(const Request& request, const std::optional<std::string>& sv,
                                      const Account& account, std::string_view oldest);

// Returns whether the response may repeat an id that the client chose: 1 to 1024 visible ASCII
// characters.
bool is_echoable_id(std::string_view id);

// Returns x-ms-client-request-id, or nothing if it is absent or not echoable.
std::optional<std::string_view> client_request_id(const Request& request);

}  // namespace entitable::rest
