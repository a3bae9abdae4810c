#include "core/rpc/operations.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "core/filter/parser.h"
#include "core/model/etag.h"
#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "core/query/projection.h"
#include "core/rpc/page_writer.h"
#include "core/rpc/read_request_fields.h"

namespace entitable::rpc {
namespace {

// Returns whether the error is a failure of this machine, for which the service has no error code.
bool is_local_failure(ErrorCode code) {
  return code == ErrorCode::out_of_memory || code == ErrorCode::corrupted ||
         code == ErrorCode::format_too_new;
}

void encode_names(ResponseBuffer& out, const std::vector<std::string>& names,
                  const std::optional<std::string>& next) {
  ResponseWriter writer(out, ResponseKind::tables, 2 + names.size());
  writer.word(static_cast<std::uint32_t>(names.size()));
  writer.optional_text(next);
  for (const std::string& name : names) writer.text(name);
  writer.finish();
}

void encode_count(ResponseBuffer& out, const MatchCount& count) {
  ResponseWriter writer(out, ResponseKind::count, 5);
  writer.two_words(count.rows);
  if (count.next.has_value()) {
    writer.text(count.next->next.partition);
    writer.text(count.next->next.row);
  } else {
    writer.word(none);
    writer.word(none);
  }
  writer.finish();
}

constexpr std::size_t write_result_words(std::size_t operations) {
  return 1 + operations;
}

void encode_write_done(ResponseBuffer& out, const WriteSuccess& done, TimestampFormatter& text) {
  const std::size_t operations = done.timestamps.size();
  ResponseWriter writer(out, ResponseKind::write_result, write_result_words(operations));
  writer.word(static_cast<std::uint32_t>(operations));
  for (const Ticks timestamp : done.timestamps) {
    if (timestamp == 0) {
      writer.word(none);
    } else {
      writer.ascii(text.etag(timestamp));
    }
  }
  writer.finish();
}

void encode_explanation(ResponseBuffer& out, const Explain& explain) {
  constexpr std::size_t counts = 5;
  ResponseWriter writer(out, ResponseKind::explanation,
                        4 + counts * 3 + explain.ranges.size() * 4 + explain.warnings.size() * 3);
  writer.ascii(plan_kind_name(explain.kind));
  writer.ascii(plan_kind_name(explain.service_kind));
  for (const std::uint64_t count : {explain.rows_read, explain.rows_returned, explain.bytes_read,
                                    explain.service_round_trips, explain.service_transactions}) {
    writer.two_words(count);
  }
  writer.word(static_cast<std::uint32_t>(explain.ranges.size()));
  writer.word(static_cast<std::uint32_t>(explain.warnings.size()));
  for (const KeyRange& range : explain.ranges) {
    writer.text(range.lower.partition);
    writer.text(range.lower.row);
    if (range.upper.has_value()) {
      writer.text(range.upper->partition);
      writer.text(range.upper->row);
    } else {
      writer.word(none);
      writer.word(none);
    }
  }
  for (const ExplainWarning& warning : explain.warnings) {
    writer.text(warning.code);
    writer.text(warning.message);
    writer.text(warning.help);
  }
  writer.finish();
}

// ---- Requests -----------------------------------------------------------------------------------

// Returns the `top` of a request: page_rows_max if it is absent, InvalidInput if it is above
// page_rows_max.
Result<std::uint32_t> checked_top(std::uint32_t top) {
  if (top == none) return static_cast<std::uint32_t>(limits::page_rows_max);
  if (top > limits::page_rows_max) return Error(ErrorCode::invalid_input);
  return top;
}

struct EntityQuery {
  std::string_view table;
  Query query;
};

Result<EntityQuery> parse_entity_query(MessageReader& in) {
  const QueryFields fields = read_query_fields(in);
  if (!in.ok()) return malformed_error();
  const Result<std::uint32_t> top = checked_top(fields.top);
  if (!top.ok()) return top.error();
  EntityQuery request;
  request.table = fields.table;
  request.query.top = *top;
  Result<Filter> filter = parse_optional_filter(fields.filter);
  if (!filter.ok()) return filter.error();
  request.query.filter = std::move(*filter);
  Result<std::vector<std::string>> select = normalize_select(fields.select);
  if (!select.ok()) return select.error();
  request.query.select = std::move(*select);
  if (fields.partition.has_value()) {
    request.query.from =
        Continuation{EntityKey(*fields.partition, fields.row.value_or(std::string_view()))};
  }
  return request;
}

// Encodes the error as the response. Returns an empty list: no parts must be loaded.
std::vector<PartId> respond_with_error(ResponseBuffer& out, const Error& error) {
  encode_error(out, error);
  return {};
}

std::vector<PartId> handle_get(const Store& store, MessageReader& in, PageWriter& pages,
                               ResponseBuffer& out, RowCounts& rows) {
  const GetFields fields = read_get_fields(in);
  if (!in.ok()) return respond_with_error(out, malformed_error());
  const Result<std::vector<std::string>> select = normalize_select(fields.select);
  if (!select.ok()) return respond_with_error(out, select.error());
  const auto answer = store.get(fields.table, fields.key);
  if (const auto* found = std::get_if<PinnedRow>(&answer)) {
    rows = RowCounts{1, 1};
    pages.write(out, fields.table, {&found->row, 1}, *select, std::nullopt);
  } else if (const auto* error = std::get_if<Error>(&answer)) {
    encode_error(out, *error);
  } else {
    return std::get<PartsNeeded>(answer).ids;
  }
  return {};
}

std::vector<PartId> handle_multi_get(const Store& store, MessageReader& in, PageWriter& pages,
                                     ResponseBuffer& out, RowCounts& rows) {
  const MultiGetFields fields = read_multi_get_fields(in);
  if (!in.ok()) return respond_with_error(out, malformed_error());
  if (fields.keys.size() > limits::page_rows_max)
    return respond_with_error(out, Error(ErrorCode::invalid_input));
  const std::optional<Page> page = store.multi_get(fields.table, fields.keys);
  const auto found = page ? std::span<const RowView>(page->rows) : std::span<const RowView>();
  rows = RowCounts{found.size(), found.size()};
  pages.write(out, fields.table, found, {}, std::nullopt);
  return {};
}

std::vector<PartId> handle_query(const Store& store, MessageReader& in, PageWriter& pages,
                                 ResponseBuffer& out, RowCounts& rows) {
  Result<EntityQuery> request = parse_entity_query(in);
  if (!request.ok()) return respond_with_error(out, request.error());
  request->query.descending = static_cast<RequestKind>(in.kind()) == RequestKind::query_descending;
  const auto answer = store.query(request->table, request->query);
  if (const auto* page = std::get_if<Page>(&answer)) {
    rows = RowCounts{page->rows_read, page->rows.size(), page->partition};
    pages.write(out, request->table, page->rows, request->query.select, page->next);
  } else if (const auto* error = std::get_if<Error>(&answer)) {
    encode_error(out, *error);
  } else {
    return std::get<PartsNeeded>(answer).ids;
  }
  return {};
}

std::vector<PartId> handle_count(const Store& store, MessageReader& in, ResponseBuffer& out,
                                 RowCounts& rows) {
  const Result<EntityQuery> request = parse_entity_query(in);
  if (!request.ok()) return respond_with_error(out, request.error());
  const auto answer = store.count(request->table, request->query);
  if (const auto* count = std::get_if<MatchCount>(&answer)) {
    rows = RowCounts{count->rows_read, 0};
    encode_count(out, *count);
  } else if (const auto* error = std::get_if<Error>(&answer)) {
    encode_error(out, *error);
  } else {
    return std::get<PartsNeeded>(answer).ids;
  }
  return {};
}

std::vector<PartId> handle_partition_keys(const Store& store, MessageReader& in,
                                          ResponseBuffer& out, RowCounts& rows) {
  const PartitionKeysFields fields = read_partition_keys_fields(in);
  if (!in.ok()) return respond_with_error(out, malformed_error());
  const Result<std::uint32_t> top = checked_top(fields.top);
  if (!top.ok()) return respond_with_error(out, top.error());
  const auto answer =
      store.partition_keys(fields.table, fields.from.value_or(std::string_view()), *top);
  if (const auto* page = std::get_if<PartitionKeys>(&answer)) {
    rows = RowCounts{page->keys.size(), 0};
    encode_names(out, page->keys, page->next);
  } else if (const auto* error = std::get_if<Error>(&answer)) {
    encode_error(out, *error);
  } else {
    return std::get<PartsNeeded>(answer).ids;
  }
  return {};
}

std::vector<PartId> handle_explain(const Store& store, std::string_view message, MessageReader& in,
                                   ResponseBuffer& out) {
  const Result<EntityQuery> request = parse_entity_query(in);
  if (!request.ok()) return respond_with_error(out, request.error());
  const auto answer = store.explain(request->table, request->query, message);
  if (const auto* explain = std::get_if<Explain>(&answer)) {
    encode_explanation(out, *explain);
  } else if (const auto* error = std::get_if<Error>(&answer)) {
    encode_error(out, *error);
  } else {
    return std::get<PartsNeeded>(answer).ids;
  }
  return {};
}

std::vector<PartId> handle_list_tables(const Store& store, MessageReader& in, ResponseBuffer& out) {
  const ListTablesFields fields = read_list_tables_fields(in);
  if (!in.ok()) return respond_with_error(out, malformed_error());
  const Result<std::uint32_t> top = checked_top(fields.top);
  if (!top.ok()) return respond_with_error(out, top.error());
  const Result<Filter> filter = parse_optional_filter(fields.filter);
  if (!filter.ok()) return respond_with_error(out, filter.error());
  const Result<TablePage> page =
      store.tables(*filter, *top, fields.from.value_or(std::string_view()));
  if (!page.ok()) return respond_with_error(out, page.error());
  encode_names(out, page->names, page->next);
  return {};
}

}  // namespace

Error malformed_error() {
  return Error(ErrorCode::invalid_input, "The request message is malformed.");
}

Result<Filter> parse_optional_filter(std::optional<std::string_view> text) {
  if (!text.has_value()) return Filter{};
  return parse_filter(*text);
}

void reserve_write_result(ResponseBuffer& out) {
  static_assert(std::tuple_size_v<EtagBuffer> <= ResponseWriter::initial_text_bytes);
  out.reserve(ResponseWriter::initial_bytes(write_result_words(1)));
}

void encode_write_result(ResponseBuffer& out, const WriteResult& answer, TimestampFormatter& text) {
  if (const auto* done = std::get_if<WriteSuccess>(&answer)) {
    encode_write_done(out, *done, text);
  } else {
    encode_error(out, std::get<GroupFailure>(answer));
  }
}

void encode_error(ResponseBuffer& out, const Error& error) {
  encode_error(out, GroupFailure{error});
}

void encode_error(ResponseBuffer& out, const GroupFailure& failure) {
  const ServiceError& service = service_error_of(failure.error.code);
  std::string message(error_message(failure.error));
  if (failure.prefixed) message.insert(0, std::to_string(failure.index) + ":");
  ResponseWriter writer(out, ResponseKind::error, 4);
  if (is_local_failure(failure.error.code)) writer.set_flag(flag_local_failure);
  writer.word(service.status);
  writer.word(failure.prefixed ? failure.index : none);
  writer.text(service.code);
  writer.text(message);
  writer.finish();
}

void encode_error(ResponseBuffer& out, const ServiceError& error, const HeaderViews& headers) {
  ResponseWriter writer(out, ResponseKind::error,
                        4 + (headers.empty() ? 0 : 1 + headers.size() * 2));
  writer.word(error.status);
  writer.word(none);
  writer.text(error.code);
  writer.text(error.message);
  if (!headers.empty()) {
    writer.set_flag(flag_headers);
    writer.word(static_cast<std::uint32_t>(headers.size()));
    for (const auto& [name, value] : headers) {
      writer.text(name);
      writer.text(value);
    }
  }
  writer.finish();
}

std::vector<PartId> handle_read(const Store& store, std::string_view request, PageWriter& pages,
                                ResponseBuffer& out, RowCounts* rows) {
  RowCounts ignored_counts;
  RowCounts& counted = rows == nullptr ? ignored_counts : *rows;
  counted = RowCounts{};
  MessageReader in(request);
  if (!in.ok()) return respond_with_error(out, malformed_error());
  switch (static_cast<RequestKind>(in.kind())) {
    case RequestKind::get:
      return handle_get(store, in, pages, out, counted);
    case RequestKind::query:
    case RequestKind::query_descending:
      return handle_query(store, in, pages, out, counted);
    case RequestKind::count:
      return handle_count(store, in, out, counted);
    case RequestKind::partition_keys:
      return handle_partition_keys(store, in, out, counted);
    case RequestKind::explain:
      return handle_explain(store, request, in, out);
    case RequestKind::list_tables:
      return handle_list_tables(store, in, out);
    case RequestKind::multi_get:
      return handle_multi_get(store, in, pages, out, counted);
    case RequestKind::open_watch:
    case RequestKind::read_watch:
    case RequestKind::close_watch:
    case RequestKind::open_feed:
    case RequestKind::close_feed:
    case RequestKind::close_listeners:
    case RequestKind::take_changes:
    case RequestKind::read_past:
    case RequestKind::feed_reader:
    case RequestKind::write:
    case RequestKind::create_table:
    case RequestKind::drop_table:
      break;
  }
  return respond_with_error(out, malformed_error());
}

Ticks ticks_from_unix_ms(double milliseconds) {
  constexpr double milliseconds_max = 1e14;  // in the year 5138
  if (!(milliseconds >= 0 && milliseconds <= milliseconds_max)) return ticks_at_unix_epoch;
  const double whole = std::floor(milliseconds);
  const double rest = (milliseconds - whole) * static_cast<double>(ticks_per_millisecond);
  return ticks_at_unix_epoch + static_cast<Ticks>(whole) * ticks_per_millisecond +
         static_cast<Ticks>(rest);
}

}  // namespace entitable::rpc
