#include "core/rest/resource_uri.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/rest/http.h"
#include "core/rest/percent_encoding.h"

namespace entitable::rest {
namespace {

constexpr std::string_view secondary_suffix = "-secondary";

Error no_resource() {
  return Error(ErrorCode::invalid_uri);
}
Error bad_syntax() {
  return Error(ErrorCode::invalid_input, "Bad Request - Error in query syntax.");
}

// ---- The parts of a URL -------------------------------------------------------------------------

struct Parts {
  std::string_view origin;  // "http://127.0.0.1:10002"
  std::string_view host;    // with its port
  std::string_view path;
  std::string_view query;
  bool https = false;
};

bool is_visible_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::optional<Parts> split(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return std::nullopt;
  const std::string_view scheme = url.substr(0, scheme_end);
  Parts parts;
  parts.https = equal_ignoring_case(scheme, "https");
  if (!parts.https && !equal_ignoring_case(scheme, "http")) return std::nullopt;
  url = url.substr(0, url.find('#'));
  const std::size_t host_at = scheme_end + 3;
  const std::size_t host_end =
      std::min({url.find('/', host_at), url.find('?', host_at), url.size()});
  if (host_end <= host_at) return std::nullopt;
  const std::size_t path_end = std::min(url.find('?', host_end), url.size());
  parts.origin = url.substr(0, host_end);
  parts.host = url.substr(host_at, host_end - host_at);
  if (!is_visible_ascii(parts.origin)) return std::nullopt;  // responses repeat the origin
  parts.path = url.substr(host_end, path_end - host_end);
  if (path_end < url.size()) parts.query = url.substr(path_end + 1);
  return parts;
}

// Several slashes count as one, because some clients join base and path with one too many.
std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) segments.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return segments;
}

// Returns whether the account's name ends in "-secondary", and removes that suffix.
bool is_secondary(std::string_view& account) {
  if (!account.ends_with(secondary_suffix)) return false;
  account.remove_suffix(secondary_suffix.size());
  return true;
}

bool names_account(std::string_view text, std::string_view account) {
  is_secondary(text);
  return equal_ignoring_case(text, account);
}

// Returns the host's first label if it names the account, nothing if the path names the account.
std::optional<std::string_view> account_label(std::string_view host,
                                              const std::vector<std::string_view>& segments,
                                              std::string_view served) {
  const std::size_t dot = host.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view label = host.substr(0, dot);
  const bool served_by_label = names_account(label, served);
  const bool names_service = equal_ignoring_case(host.substr(dot, 7), ".table.");
  if (!segments.empty() && names_account(segments.front(), served)) {
    // The host is a machine's, except that a table may have the account's name.
    if (!served_by_label || !names_service || segments.size() > 1) return std::nullopt;
  }
  return served_by_label || names_service ? std::optional(label) : std::nullopt;
}

// ---- One segment --------------------------------------------------------------------------------

// Parses the text in a segment's parentheses, which is percent-decoded already.
class Predicate {
 public:
  explicit Predicate(std::string_view text) : text_(text) {}

  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  bool try_consume(std::string_view token) {
    skip_blanks();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  // Takes a string in quotes, where '' is one quote: 'o''x' returns o'x.
  std::optional<std::string> take_string() {
    if (!try_consume("'")) return std::nullopt;
    std::string out;
    for (;;) {
      const std::size_t quote = text_.find('\'', at_);
      if (quote == std::string_view::npos) return std::nullopt;
      out.append(text_, at_, quote - at_);
      at_ = quote + 1;
      if (text_.substr(at_, 1) != "'") return out;
      out.push_back('\'');
      ++at_;
    }
  }
  std::optional<EntityKey> take_key() {
    const bool row_first = try_consume("RowKey");
    if (!row_first && !try_consume("PartitionKey")) return std::nullopt;
    std::optional<std::string> first = take_value();
    if (!first.has_value() || !try_consume(",")) return std::nullopt;
    if (!try_consume(row_first ? "PartitionKey" : "RowKey")) return std::nullopt;
    std::optional<std::string> second = take_value();
    if (!second.has_value()) return std::nullopt;
    if (row_first) std::swap(first, second);
    EntityKey key;
    key.partition = std::move(*first);
    key.row = std::move(*second);
    return key;
  }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }
  std::optional<std::string> take_value() {
    return try_consume("=") ? take_string() : std::optional<std::string>();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<void> read_tables_predicate(std::string_view inside, ResourceUri& uri) {
  Predicate predicate(inside);
  uri.resource = ResourceKind::tables;
  if (predicate.at_end()) return {};
  std::optional<std::string> name = predicate.take_string();
  if (!name.has_value() || !predicate.at_end()) return bad_syntax();
  uri.resource = ResourceKind::table;
  uri.table = std::move(*name);
  return {};
}

Result<void> read_entity_predicate(std::string_view inside, ResourceUri& uri) {
  Predicate predicate(inside);
  uri.resource = ResourceKind::entities;
  if (predicate.at_end()) return {};
  std::optional<EntityKey> key = predicate.take_key();
  if (!key.has_value() || !predicate.at_end()) return bad_syntax();
  uri.resource = ResourceKind::entity;
  uri.key = std::move(*key);
  return {};
}

Result<void> read_resource(std::string_view segment, ResourceUri& uri) {
  const std::size_t open = std::min(segment.find('('), segment.size());
  const std::string_view name = segment.substr(0, open);
  std::string_view inside = segment.substr(open);
  if (name.empty()) return no_resource();
  if (equal_ignoring_case(segment, "$batch")) {
    uri.resource = ResourceKind::batch;
    return {};
  }
  if (!inside.empty()) {
    if (inside.size() < 2 || inside.back() != ')') return bad_syntax();
    inside = inside.substr(1, inside.size() - 2);
  }
  if (equal_ignoring_case(name, "Tables")) return read_tables_predicate(inside, uri);
  uri.table = name;
  return read_entity_predicate(inside, uri);
}

Result<void> read_segments(const std::vector<std::string_view>& segments, std::size_t first,
                           ResourceUri& uri) {
  if (segments.size() <= first) return {};  // the resource is the service
  if (segments.size() > first + 1) {
    // A slash that is not percent-encoded inside a key makes the key malformed.
    const bool in_key = segments[first].find('(') != std::string_view::npos ||
                        segments[first].find("%28") != std::string_view::npos;
    return in_key ? bad_syntax() : no_resource();
  }
  const std::optional<std::string> decoded = percent_decode(segments[first]);
  if (!decoded.has_value()) return no_resource();
  return read_resource(*decoded, uri);
}

}  // namespace

Result<ResourceUri> parse_resource_uri(std::string_view url, std::string_view served_account) {
  const std::optional<Parts> parts = split(url);
  if (!parts.has_value()) return no_resource();
  const std::vector<std::string_view> segments = segments_of(parts->path);
  std::optional<std::string_view> account = account_label(parts->host, segments, served_account);
  const bool in_path = !account.has_value();
  if (in_path && segments.empty()) return no_resource();

  ResourceUri uri;
  uri.https = parts->https;
  uri.raw_path = parts->path;
  uri.raw_query = parts->query;
  uri.base = parts->origin;
  if (in_path) {
    account = segments.front();
    uri.base.append("/").append(*account);
  }
  uri.secondary = is_secondary(*account);
  // Host names are case-insensitive; the account's configured spelling is used.
  const bool served = !in_path && equal_ignoring_case(*account, served_account);
  uri.account = served ? served_account : *account;
  if (const auto read = read_segments(segments, in_path ? 1 : 0, uri); !read.ok()) {
    return read.error();
  }
  return uri;
}

}  // namespace entitable::rest
