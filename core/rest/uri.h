// The address of a request: whose account, and which resource of it.
//
//   host style   http://acct.table.core.windows.net/people(PartitionKey='p',RowKey='r')
//   path style   http://127.0.0.1:10002/acct/people(PartitionKey='p',RowKey='r')
//
// It is host style if the first label of the host is the account that is served, or is followed by
// ".table."; any other host has the account in the path. "acct-secondary" is the same account, to
// be read only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/key.h"

namespace entitable::rest {

enum class Resource : std::uint8_t {
  service,   // /
  tables,    // /Tables, /Tables()
  table,     // /Tables('people')
  entities,  // /people, /people()
  entity,    // /people(PartitionKey='p',RowKey='r')
  batch,     // /$batch
};

struct Uri {
  Resource resource = Resource::service;
  std::string account;  // as it is named there, without "-secondary"
  bool secondary = false;
  bool https = false;
  std::string base;  // what addresses of resources begin with, without the '/' before their path
  std::string_view raw_path;   // as sent; both are views into the URL
  std::string_view raw_query;  // without '?', and without a fragment
  std::string table;           // of table, entities and entity: as spelled there
  EntityKey key;               // of entity
};

// InvalidUri: no absolute http(s) URL, malformed escapes, a path that names no resource.
// InvalidInput "Bad Request - Error in query syntax.": what stands in parentheses is not what this
// resource has there; also one key alone. Blanks around names, `=` and `,` don't matter, nor does
// the order of the keys.
Result<Uri> parse_uri(std::string_view url, std::string_view served_account);

}  // namespace entitable::rest
