// Parses arbitrary bytes as a multipart body, as a part and as an HTTP request message. Results
// must lie within the input, and parsing a result again must give the same. Boundaries come from
// the input too, so that nested, equal and prefix boundaries occur.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/rest/batch_request.h"
#include "core/rest/http_codec.h"
#include "core/rest/multipart.h"

namespace {

namespace rest = entitable::rest;

void check_inside(std::string_view part, std::string_view whole) {
  if (part.empty()) return;
  ENTITABLE_CHECK(part.data() >= whole.data());
  ENTITABLE_CHECK(part.data() + part.size() <= whole.data() + whole.size());
}

void check_request(const rest::Request& request, std::string_view whole) {
  check_inside(request.method, whole);
  check_inside(request.url, whole);
  check_inside(request.body, whole);
  for (const rest::HeaderView& header : request.headers) {
    check_inside(header.name, whole);
    check_inside(header.value, whole);
  }
}

// A parsed part contains no delimiter, so no parser can find another request in its body.
void check_no_delimiter(std::string_view body, std::string_view boundary) {
  const std::string again = "--" + std::string(boundary) + "\n\n" + std::string(body) + "\n--" +
                            std::string(boundary) + "--";
  const auto parts =
      rest::parse_multipart(again, boundary, entitable::limits::group_operations_max);
  ENTITABLE_CHECK(parts.ok() && parts->size() == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = input.find('\n');
  if (line == std::string_view::npos) return 0;
  const std::string type = "multipart/mixed; boundary=" + std::string(input.substr(0, line));
  const std::string_view body = input.substr(line + 1);
  const rest::Request request{"POST", "http://h/$batch", {{"Content-Type", type}}, body, {}};
  const auto batch = rest::parse_batch(request);
  if (batch.ok()) {
    ENTITABLE_CHECK(!batch->operations.empty());
    ENTITABLE_CHECK(batch->operations.size() <= entitable::limits::group_operations_max + 1);
    for (const rest::Request& operation : batch->operations) check_request(operation, body);
  }
  const auto boundary = rest::multipart_boundary(type);
  if (boundary.has_value()) {
    const auto parts = rest::parse_multipart(body, *boundary, 10);
    if (parts.ok()) {
      for (const rest::BodyPart& part : *parts) check_no_delimiter(part.body, *boundary);
    }
  }
  const auto part = rest::parse_http_part(body);
  if (part.ok()) check_request(*part, body);
  const auto message = rest::decode_http_request(input);
  if (message.has_value()) check_request(message->request, input);
  return 0;
}
