#include "core/direct/calls.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "core/direct/page.h"
#include "core/direct/read_words.h"
#include "core/filter/parser.h"
#include "core/model/etag.h"
#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "core/query/projection.h"

namespace entitable::direct {
namespace {

Error malformed() {
  return Error(Code::invalid_input, "The request block is malformed.");
}

// What only this machine can say; the service knows no such answer.
bool is_local_failure(Code code) {
  return code == Code::out_of_memory || code == Code::corrupted || code == Code::format_too_new;
}

void write_tables(ReplyBuffer& out, const TablePage& page) {
  BlockWriter block(out, ReplyKind::tables, 2 + page.names.size());
  block.word(static_cast<std::uint32_t>(page.names.size()));
  block.optional_text(page.next);
  for (const std::string& name : page.names) block.text(name);
  block.finish();
}

constexpr std::size_t done_words(std::size_t operations) {
  return 1 + operations;
}

void write_done(ReplyBuffer& out, const WriteDone& done, TimestampText& text) {
  const std::size_t operations = done.timestamps.size();
  BlockWriter block(out, ReplyKind::written, done_words(operations));
  block.word(static_cast<std::uint32_t>(operations));
  for (const Ticks timestamp : done.timestamps) {
    if (timestamp == 0) {
      block.word(none);
    } else {
      block.ascii(text.etag(timestamp));
    }
  }
  block.finish();
}

void write_explanation(ReplyBuffer& out, const Explain& explain) {
  constexpr std::size_t counts = 5;
  BlockWriter block(out, ReplyKind::explanation,
                    4 + counts * 3 + explain.ranges.size() * 4 + explain.warnings.size() * 3);
  block.ascii(plan_kind_name(explain.kind));
  block.ascii(plan_kind_name(explain.service_kind));
  for (const std::uint64_t count : {explain.rows_read, explain.rows_returned, explain.bytes_read,
                                    explain.service_round_trips, explain.service_transactions}) {
    block.two_words(count);
  }
  block.word(static_cast<std::uint32_t>(explain.ranges.size()));
  block.word(static_cast<std::uint32_t>(explain.warnings.size()));
  for (const KeyRange& range : explain.ranges) {
    block.text(range.lower.partition);
    block.text(range.lower.row);
    if (range.upper.has_value()) {
      block.text(range.upper->partition);
      block.text(range.upper->row);
    } else {
      block.word(none);
      block.word(none);
    }
  }
  for (const ExplainWarning& warning : explain.warnings) {
    block.text(warning.code);
    block.text(warning.message);
    block.text(warning.help);
  }
  block.finish();
}

// ---- Requests -----------------------------------------------------------------------------------

// A word of `none` is the most a page may have.
Result<std::uint32_t> checked_top(std::uint32_t top) {
  if (top == none) return static_cast<std::uint32_t>(limits::page_rows_max);
  if (top > limits::page_rows_max) return Error(Code::invalid_input);
  return top;
}

Result<Filter> read_filter(std::optional<std::string_view> text) {
  if (!text.has_value()) return Filter{};
  return parse_filter(*text);
}

struct EntityQuery {
  std::string_view table;
  Query query;
};

Result<EntityQuery> read_entity_query(BlockReader& in) {
  const QueryWords words = read_query_words(in);
  if (!in.ok()) return malformed();
  const Result<std::uint32_t> top = checked_top(words.top);
  if (!top.ok()) return top.error();
  EntityQuery request;
  request.table = words.table;
  request.query.top = *top;
  Result<Filter> filter = read_filter(words.filter);
  if (!filter.ok()) return filter.error();
  request.query.filter = std::move(*filter);
  Result<std::vector<std::string>> select = normalize_select(words.select);
  if (!select.ok()) return select.error();
  request.query.select = std::move(*select);
  if (words.partition.has_value()) {
    request.query.from =
        Continuation{EntityKey(*words.partition, words.row.value_or(std::string_view()))};
  }
  return request;
}

// An error is an answer too.
std::vector<PartId> refuse(ReplyBuffer& out, const Error& error) {
  write_error(out, error);
  return {};
}

std::vector<PartId> read_get(const Store& store, BlockReader& in, PageWriter& pages,
                             ReplyBuffer& out, RowCounts& rows) {
  const GetWords words = read_get_words(in);
  if (!in.ok()) return refuse(out, malformed());
  const Result<std::vector<std::string>> select = normalize_select(words.select);
  if (!select.ok()) return refuse(out, select.error());
  const auto answer = store.get(words.table, words.key);
  if (const auto* found = std::get_if<RowAnswer>(&answer)) {
    rows = RowCounts{1, 1};
    pages.write(out, words.table, {&found->row, 1}, *select, std::nullopt);
  } else if (const auto* error = std::get_if<Error>(&answer)) {
    write_error(out, *error);
  } else {
    return std::get<NeedParts>(answer).ids;
  }
  return {};
}

std::vector<PartId> read_get_each(const Store& store, BlockReader& in, PageWriter& pages,
                                  ReplyBuffer& out, RowCounts& rows) {
  const GetEachWords words = read_get_each_words(in);
  if (!in.ok()) return refuse(out, malformed());
  if (words.keys.size() > limits::page_rows_max) return refuse(out, Error(Code::invalid_input));
  const std::optional<Page> page = store.get_each(words.table, words.keys);
  const auto found = page ? std::span<const RowView>(page->rows) : std::span<const RowView>();
  rows = RowCounts{found.size(), found.size()};
  pages.write(out, words.table, found, {}, std::nullopt);
  return {};
}

std::vector<PartId> read_query(const Store& store, BlockReader& in, PageWriter& pages,
                               ReplyBuffer& out, RowCounts& rows) {
  const Result<EntityQuery> request = read_entity_query(in);
  if (!request.ok()) return refuse(out, request.error());
  const auto answer = store.query(request->table, request->query);
  if (const auto* page = std::get_if<Page>(&answer)) {
    rows = RowCounts{page->rows_read, page->rows.size(), page->partition};
    pages.write(out, request->table, page->rows, request->query.select, page->next);
  } else if (const auto* error = std::get_if<Error>(&answer)) {
    write_error(out, *error);
  } else {
    return std::get<NeedParts>(answer).ids;
  }
  return {};
}

std::vector<PartId> read_explain(const Store& store, BlockReader& in, ReplyBuffer& out) {
  const Result<EntityQuery> request = read_entity_query(in);
  if (!request.ok()) return refuse(out, request.error());
  const auto answer = store.explain(request->table, request->query);
  if (const auto* explain = std::get_if<Explain>(&answer)) {
    write_explanation(out, *explain);
  } else if (const auto* error = std::get_if<Error>(&answer)) {
    write_error(out, *error);
  } else {
    return std::get<NeedParts>(answer).ids;
  }
  return {};
}

std::vector<PartId> read_tables(const Store& store, BlockReader& in, ReplyBuffer& out) {
  const TablesWords words = read_tables_words(in);
  if (!in.ok()) return refuse(out, malformed());
  const Result<std::uint32_t> top = checked_top(words.top);
  if (!top.ok()) return refuse(out, top.error());
  const Result<Filter> filter = read_filter(words.filter);
  if (!filter.ok()) return refuse(out, filter.error());
  const Result<TablePage> page =
      store.tables(*filter, *top, words.from.value_or(std::string_view()));
  if (!page.ok()) return refuse(out, page.error());
  write_tables(out, *page);
  return {};
}

}  // namespace

void make_room_for_answer(ReplyBuffer& out) {
  static_assert(std::tuple_size_v<EtagBuffer> <= BlockWriter::text_at_once);
  out.reserve(BlockWriter::bytes_at_once(done_words(1)));
}

void write_answer(ReplyBuffer& out, const WriteAnswer& answer, TimestampText& text) {
  if (const auto* done = std::get_if<WriteDone>(&answer)) {
    write_done(out, *done, text);
  } else {
    write_error(out, std::get<GroupFailure>(answer));
  }
}

void write_error(ReplyBuffer& out, const Error& error) {
  write_error(out, GroupFailure{error});
}

void write_error(ReplyBuffer& out, const GroupFailure& failure) {
  const ServiceError& service = service_error(failure.error.code);
  std::string message(message_of(failure.error));
  if (failure.prefixed) message.insert(0, std::to_string(failure.index) + ":");
  BlockWriter block(out, ReplyKind::error, 4);
  if (is_local_failure(failure.error.code)) block.flag(flag_local_failure);
  block.word(service.status);
  block.word(failure.prefixed ? failure.index : none);
  block.text(service.code);
  block.text(message);
  block.finish();
}

void write_error(ReplyBuffer& out, const ServiceError& error, const HeaderViews& headers) {
  BlockWriter block(out, ReplyKind::error, 4 + (headers.empty() ? 0 : 1 + headers.size() * 2));
  block.word(error.status);
  block.word(none);
  block.text(error.code);
  block.text(error.message);
  if (!headers.empty()) {
    block.flag(flag_headers);
    block.word(static_cast<std::uint32_t>(headers.size()));
    for (const auto& [name, value] : headers) {
      block.text(name);
      block.text(value);
    }
  }
  block.finish();
}

std::vector<PartId> read(const Store& store, std::string_view request, PageWriter& pages,
                         ReplyBuffer& out, RowCounts* rows) {
  RowCounts unasked;
  RowCounts& counted = rows == nullptr ? unasked : *rows;
  counted = RowCounts{};
  BlockReader in(request);
  if (!in.ok()) return refuse(out, malformed());
  switch (static_cast<RequestKind>(in.kind())) {
    case RequestKind::get:
      return read_get(store, in, pages, out, counted);
    case RequestKind::query:
      return read_query(store, in, pages, out, counted);
    case RequestKind::explain:
      return read_explain(store, in, out);
    case RequestKind::list_tables:
      return read_tables(store, in, out);
    case RequestKind::get_each:
      return read_get_each(store, in, pages, out, counted);
    case RequestKind::write:
    case RequestKind::create_table:
    case RequestKind::drop_table:
      break;
  }
  return refuse(out, malformed());
}

Ticks ticks_from_unix_ms(double milliseconds) {
  constexpr double milliseconds_max = 1e14;  // the year 5138: no clock shows it
  if (!(milliseconds >= 0 && milliseconds <= milliseconds_max)) return ticks_at_unix_epoch;
  const double whole = std::floor(milliseconds);
  const double rest = (milliseconds - whole) * static_cast<double>(ticks_per_millisecond);
  return ticks_at_unix_epoch + static_cast<Ticks>(whole) * ticks_per_millisecond +
         static_cast<Ticks>(rest);
}

}  // namespace entitable::direct
