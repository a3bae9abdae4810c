#include "core/rest/resource_urls.h"

#include <cstddef>

#include "core/rest/percent_encoding.h"

namespace entitable::rest {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('\'');
  for (;;) {
    const std::size_t quote = text.find('\'');
    append_percent_encoded(out, text.substr(0, quote));
    if (quote == std::string_view::npos) break;
    out.append("''");
    text.remove_prefix(quote + 1);
  }
  out.push_back('\'');
}

}  // namespace

void append_entity_path(std::string& out, std::string_view table, const KeyView& key) {
  append_percent_encoded(out, table);
  out.append("(PartitionKey=");
  append_quoted(out, key.partition);
  out.append(",RowKey=");
  append_quoted(out, key.row);
  out.push_back(')');
}

void append_table_path(std::string& out, std::string_view table) {
  out.append("Tables(");
  append_quoted(out, table);
  out.push_back(')');
}

std::string entity_url(std::string_view base, std::string_view table, const KeyView& key) {
  std::string url(base);
  url.push_back('/');
  append_entity_path(url, table, key);
  return url;
}

std::string table_url(std::string_view base, std::string_view table) {
  std::string url(base);
  url.push_back('/');
  append_table_path(url, table);
  return url;
}

}  // namespace entitable::rest
