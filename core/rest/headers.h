// What the headers of a request ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/etag.h"
#include "core/rest/account.h"
#include "core/rest/http.h"
#include "core/rest/query_options.h"

namespace entitable::rest {

// ---- What is answered ---------------------------------------------------------------------------

// How much of what JSON cannot say itself is said: nothing; addresses of the data, ETags, and types
// that cannot be guessed; everything.
enum class MetadataLevel : std::uint8_t { none, minimal, full };

// "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
std::string_view content_type_of(MetadataLevel level);

// The first entry of Accept that we have; `$format` counts before it. Nothing asked: minimal.
// AtomFormatNotSupported, JsonVerboseFormatNotSupported: that is all that would do.
// MediaTypeNotSupported: anything else.
Result<MetadataLevel> negotiate_metadata(const Request& request,
                                         const std::optional<std::string>& format);

// Whether Accept or `$format` names JSON, whatever else.
bool accepts_json(const Request& request, const std::optional<std::string>& format);

// Whether what was inserted is answered: Prefer: return-content, return-no-content.
enum class ReturnPreference : std::uint8_t { unspecified, content, no_content };
ReturnPreference return_preference_of(const Request& request);
std::string_view return_preference_text(ReturnPreference preference);  // empty if unsaid

// ---- What is sent -------------------------------------------------------------------------------

// The body of a write is JSON, or nothing is said of it. AtomFormatNotSupported,
// MediaTypeNotSupported.
Result<void> check_content_type(const Request& request);

// The verb, or the one in X-HTTP-Method. In this order: XMethodIncorrectCount (there twice),
// XMethodIncorrectValue (not PUT, MERGE, PATCH or DELETE), XMethodNotUsingPost.
Result<std::string_view> method_of(const Request& request);

// If-Match of a write that names an entity. InvalidInput: If-None-Match, or not one weak tag or
// "*".
Result<IfMatch> if_match_of(const Request& request);

// ---- Versions and identities --------------------------------------------------------------------

inline constexpr std::string_view newest_version = "2020-12-06";
inline constexpr std::string_view oldest_version = "2013-08-15";  // the first with JSON

// x-ms-version, else `sv` of a shared access signature, else the newest. InvalidHeaderValue: not of
// the form yyyy-mm-dd, before the oldest, or (strict_versions) none that the service knows.
Result<std::string> version_of(const Request& request, const std::optional<std::string>& sv,
                               const Account& account);

// An id that a client chose is given back if it is 1 to 1024 visible ASCII characters.
bool is_echoable_id(std::string_view id);

// x-ms-client-request-id; nothing if there is none that is given back.
std::optional<std::string_view> client_request_id(const Request& request);

}  // namespace entitable::rest
