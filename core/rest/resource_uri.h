// The account and the resource that a request's URL names. The account is in the host or the path:
//
//   host style   http://acct.table.core.windows.net/people(PartitionKey='p',RowKey='r')
//   path style   http://127.0.0.1:10002/acct/people(PartitionKey='p',RowKey='r')
//
// A URL is path style if its path begins with the account that is served, whatever the host:
// http://acct.lan/acct/people. The exception is http://acct.table.lan/acct, a table of the
// account's name. Of the other URLs, those are host style whose host begins with the served account
// or has ".table." after its first label. "acct-secondary" names the secondary location of the
// account "acct", which is read-only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/key.h"

namespace entitable::rest {

enum class ResourceKind : std::uint8_t {
  service,   // /
  tables,    // /Tables, /Tables()
  table,     // /Tables('people')
  entities,  // /people, /people()
  entity,    // /people(PartitionKey='p',RowKey='r')
  batch,     // /$batch
};

struct ResourceUri {
  ResourceKind resource = ResourceKind::service;
  std::string account;  // without "-secondary"
  bool secondary = false;
  bool https = false;
  std::string base;  // the prefix of resource URLs: scheme, host and, in path style, the account
  std::string_view raw_path;   // a view into the URL, not decoded
  std::string_view raw_query;  // a view into the URL, without '?' and without a fragment
  std::string table;           // if the resource is a table, entities or an entity; as spelled
  EntityKey key;               // if the resource is an entity
};

// InvalidUri: `url` is not an absolute http(s) URL, has malformed escapes, or its path names no
// resource. InvalidInput "Bad Request - Error in query syntax.": the parentheses do not hold what
// this resource expects, for example one of the two keys alone. Blanks around names, `=` and `,`
// and the order of the keys do not matter.
Result<ResourceUri> parse_resource_uri(std::string_view url, std::string_view served_account);

}  // namespace entitable::rest
