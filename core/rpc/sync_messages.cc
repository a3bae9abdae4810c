#include "core/rpc/sync_messages.h"

#include <utility>
#include <variant>

#include "core/base/bytes.h"
#include "core/rpc/operations.h"
#include "core/rpc/read_request_fields.h"
#include "core/rpc/write_parser.h"

namespace entitable::rpc {
namespace {

// Most ranges are not read to their end, and rows of hidden tables may have 1 MiB each.
constexpr std::uint64_t sync_page_bytes_max = 1'048'576;

// Ends the page after the row with which it has that many bytes.
void limit_bytes(Page& page) {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  while (count < page.rows.size() && bytes < sync_page_bytes_max)
    bytes += page.rows[count++].packed_bytes();
  if (count == page.rows.size()) return;
  const RowView& next = page.rows[count];
  page.next = Continuation{EntityKey(next.partition(), next.row_key())};
  page.rows.erase(page.rows.begin() + static_cast<std::ptrdiff_t>(count), page.rows.end());
}

// Sets `hidden` to the table with this number. Returns whether there is one.
bool read_table(std::uint32_t table, std::optional<HiddenTable>& hidden) {
  hidden.reset();
  if (table == synced_table_number) return true;
  if (table >= hidden_tables_count) return false;
  hidden = static_cast<HiddenTable>(table);
  return true;
}

std::vector<PartId> respond_with_error(ResponseBuffer& out, const Error& error) {
  encode_error(out, error);
  return {};
}

std::vector<PartId> handle_get(const SyncTables& tables, std::optional<HiddenTable> hidden,
                               MessageReader& in, PageWriter& pages, ResponseBuffer& out) {
  const GetFields fields = read_get_fields(in);
  if (!in.ok()) return respond_with_error(out, malformed_error());
  const auto answer = tables.get(fields.table, hidden, fields.key);
  if (const auto* error = std::get_if<Error>(&answer)) return respond_with_error(out, *error);
  if (const auto* need = std::get_if<PartsNeeded>(&answer)) return need->ids;
  pages.write(out, fields.table, {&std::get<PinnedRow>(answer).row, 1}, {}, std::nullopt);
  return {};
}

std::vector<PartId> handle_query(const SyncTables& tables, std::optional<HiddenTable> hidden,
                                 MessageReader& in, PageWriter& pages, ResponseBuffer& out) {
  const QueryFields fields = read_query_fields(in);
  if (!in.ok() || fields.top > limits::page_rows_max)
    return respond_with_error(out, malformed_error());
  Query query;
  query.top = fields.top;
  if (fields.partition.has_value())
    query.from = Continuation{EntityKey(*fields.partition, fields.row.value_or(""))};
  auto answer = tables.query(fields.table, hidden, query);
  if (const auto* error = std::get_if<Error>(&answer)) return respond_with_error(out, *error);
  if (const auto* need = std::get_if<PartsNeeded>(&answer)) return need->ids;
  Page& page = std::get<Page>(answer);
  limit_bytes(page);
  pages.write(out, fields.table, page.rows, {}, page.next);
  return {};
}

}  // namespace

std::vector<PartId> handle_sync_read(Store& store, std::uint32_t table, std::string_view request,
                                     PageWriter& pages, ResponseBuffer& out) {
  std::optional<HiddenTable> hidden;
  MessageReader in(request);
  if (!in.ok() || !read_table(table, hidden)) return respond_with_error(out, malformed_error());
  const SyncTables tables(store);
  const auto kind = static_cast<RequestKind>(in.kind());
  if (kind == RequestKind::get) return handle_get(tables, hidden, in, pages, out);
  if (kind == RequestKind::query) return handle_query(tables, hidden, in, pages, out);
  return respond_with_error(out, malformed_error());
}

std::optional<Error> add_sync_changes(std::uint32_t table, std::string_view timestamps,
                                      std::string_view message, SyncedChanges& changes) {
  std::optional<HiddenTable> hidden;
  if (!read_table(table, hidden)) return malformed_error();
  WriteRequest request;
  if (auto failure = parse_write(message, request)) return std::move(failure->error);
  auto* const write = std::get_if<WriteEntities>(&request.body);
  if (write == nullptr || timestamps.size() != write->operations.size() * sizeof(std::uint64_t))
    return malformed_error();
  if (!changes.texts.empty() && changes.table != write->table) return malformed_error();
  changes.table = write->table;
  changes.texts.push_back(std::move(write->texts));
  ByteReader times(timestamps);
  for (Operation& operation : write->operations) {
    const bool erases = operation.kind == OperationKind::remove;
    if (!erases && operation.kind != OperationKind::insert_or_replace) return malformed_error();
    changes.rows.push_back({hidden, std::move(operation.key), erases,
                            static_cast<Ticks>(times.u64()), std::move(operation.properties)});
  }
  return std::nullopt;
}

}  // namespace entitable::rpc
