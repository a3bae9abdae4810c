#include "core/rest/batch_request.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/model/limits.h"
#include "core/rest/multipart.h"

namespace entitable::rest {
namespace {

Error malformed_error() {
  return Error(ErrorCode::invalid_input);
}

bool reads(const Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

// Returns nothing if there is no Content-Type, or more than one, because another parser might use
// the other one.
std::optional<std::string_view> content_type(const std::vector<HeaderView>& headers) {
  std::optional<std::string_view> type;
  for (const HeaderView& header : headers) {
    if (!equal_ignoring_case(header.name, "Content-Type")) continue;
    if (type.has_value()) return std::nullopt;
    type = header.value;
  }
  return type;
}

// Rejects nested parts: they would be a second way to write a batch, which no client uses.
Result<Request> parse_operation(const BodyPart& part, const Request& batch) {
  const std::string_view type = content_type(part.headers).value_or(std::string_view());
  const std::string_view name = type.substr(0, type.find_first_of("; \t"));
  if (!equal_ignoring_case(name, "application/http")) return malformed_error();
  Result<Request> request = parse_http_part(part.body);
  if (request.ok()) request->client_ip = batch.client_ip;
  return request;
}

Result<Batch> read_change_set(std::string_view body, std::string_view boundary,
                              const Request& request) {
  const Result<std::vector<BodyPart>> parts =
      parse_multipart(body, boundary, limits::group_operations_max);
  if (!parts.ok()) return parts.error();
  if (parts->empty()) return malformed_error();
  Batch batch{true, {}};
  batch.operations.reserve(parts->size());
  for (const BodyPart& part : *parts) {
    Result<Request> operation = parse_operation(part, request);
    if (!operation.ok()) return operation.error();
    if (reads(*operation)) return malformed_error();
    batch.operations.push_back(std::move(*operation));
  }
  return batch;
}

// Returns whether a path begins with an account. The path of an entity or a table of entities has
// one segment, so a path of several segments names an account too, although maybe another one.
bool begins_with_account(std::string_view path, std::string_view account) {
  path = path.substr(0, path.find('?'));
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::size_t end = std::min(path.find('/'), path.size());
  return path.substr(0, end) == account ||
         path.find_first_not_of('/', end) != std::string_view::npos;
}

}  // namespace

Result<Batch> parse_batch(const Request& request) {
  if (request.body.size() > limits::request_bytes_max)
    return Error(ErrorCode::request_body_too_large);
  const std::optional<std::string_view> type = content_type(request.headers);
  const std::optional<std::string_view> boundary =
      type.has_value() ? multipart_boundary(*type) : std::nullopt;
  if (!boundary.has_value()) return malformed_error();
  const Result<std::vector<BodyPart>> parts =
      parse_multipart(request.body, *boundary, 1, ClosingDelimiter::may_lack_dashes);
  if (!parts.ok()) return parts.error();
  if (parts->size() != 1) return malformed_error();
  const BodyPart& part = parts->front();
  const std::optional<std::string_view> part_type = content_type(part.headers);
  const std::optional<std::string_view> nested =
      part_type.has_value() ? multipart_boundary(*part_type) : std::nullopt;
  if (nested.has_value()) return read_change_set(part.body, *nested, request);
  Result<Request> query = parse_operation(part, request);
  if (!query.ok()) return query.error();
  if (!reads(*query)) return malformed_error();
  Batch batch{false, {}};
  batch.operations.push_back(std::move(*query));
  return batch;
}

std::string_view absolute_url(std::string_view url, std::string_view batch_base,
                              std::deque<std::string>& owned_urls) {
  if (!url.starts_with('/')) return url;
  const std::size_t host = batch_base.find("://") + 3;
  const std::size_t origin_end = std::min(batch_base.find('/', host), batch_base.size());
  const std::string_view account = batch_base.substr(std::min(origin_end + 1, batch_base.size()));
  const bool complete = account.empty() || begins_with_account(url, account);
  owned_urls.push_back(
      std::string(complete ? batch_base.substr(0, origin_end) : batch_base).append(url));
  return owned_urls.back();
}

}  // namespace entitable::rest
