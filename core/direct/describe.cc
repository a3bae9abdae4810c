#include "core/direct/describe.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/direct/block.h"
#include "core/direct/read_words.h"
#include "core/direct/write_words.h"
#include "core/query/projection.h"

namespace entitable::direct {
namespace {

void set(std::optional<std::string>& out, const std::optional<std::string_view>& text) {
  if (text.has_value()) out.emplace(*text);
}

void set(std::optional<std::string>& out, const KeyWord& key) {
  if (!key.absent && !key.not_text) out.emplace(key.text);
}

void set(std::optional<std::uint32_t>& out, std::uint32_t word) {
  if (word != none) out = word;
}

void set(std::vector<std::string>& out, const std::vector<std::string_view>& names) {
  Result<std::vector<std::string>> select = normalize_select(names);
  if (select.ok()) out = std::move(*select);
}

void describe_get(BlockReader& in, Description& out) {
  const GetWords words = read_get_words(in);
  out.operation = DescribedAs::get;
  set(out.table, words.table);
  set(out.partition, words.key.partition);
  set(out.row, words.key.row);
  set(out.select, words.select);
}

// Whoever wants to be told of each asks for each.
void describe_get_each(BlockReader& in, Description& out) {
  const GetEachWords words = read_get_each_words(in);
  out.operation = DescribedAs::get;
  set(out.table, words.table);
}

void describe_query(BlockReader& in, DescribedAs operation, Description& out) {
  const QueryWords words = read_query_words(in);
  out.operation = operation;
  set(out.table, words.table);
  set(out.filter, words.filter);
  set(out.select, words.select);
  set(out.top, words.top);
}

void describe_tables(BlockReader& in, Description& out) {
  const TablesWords words = read_tables_words(in);
  out.operation = DescribedAs::list_tables;
  set(out.filter, words.filter);
  set(out.top, words.top);
}

void describe_operation(BlockReader& in, std::string_view table, std::size_t names,
                        Description& out) {
  const OperationWords words = read_operation_words(in);
  out.operation = described_as(words.kind);
  set(out.table, table);
  set(out.partition, words.partition);
  set(out.row, words.row);
  // The text of what comes behind is found only by taking this.
  for (std::uint32_t i = 0; i < words.properties && in.ok(); ++i) {
    if (read_property_words(in, in.record()).name >= names) in.fail();
  }
}

void describe_write(BlockReader& in, Description& out) {
  const WriteWords words = read_write_words(in);
  read_names(in, words,
             [](std::string_view) {});  // their text stands before that of the operations
  const std::size_t names = words.names();
  if (!words.transaction) {
    if (words.operations == 0) in.fail();
    return describe_operation(in, words.table, names, out);
  }
  if (in.ok()) out.operations.resize(words.operations);
  for (Description& operation : out.operations) {
    describe_operation(in, words.table, names, operation);
  }
  become_batch(out);
  set(out.table, words.table);
}

void describe_block(BlockReader& in, Description& out) {
  switch (static_cast<RequestKind>(in.kind())) {
    case RequestKind::get:
      return describe_get(in, out);
    case RequestKind::query:
      return describe_query(in, DescribedAs::query, out);
    case RequestKind::explain:
      return describe_query(in, DescribedAs::explain, out);
    case RequestKind::list_tables:
      return describe_tables(in, out);
    case RequestKind::get_each:
      return describe_get_each(in, out);
    case RequestKind::write:
      return describe_write(in, out);
    case RequestKind::create_table:
      out.operation = DescribedAs::create_table;
      return set(out.table, in.text());
    case RequestKind::drop_table:
      out.operation = DescribedAs::drop_table;
      return set(out.table, in.text());
  }
}

bool is_kind(std::string_view reply, ReplyKind kind) {
  return !reply.empty() && static_cast<ReplyKind>(reply.front()) == kind;
}

bool is_transaction(std::string_view request) {
  BlockReader in(request);
  return in.ok() && static_cast<RequestKind>(in.kind()) == RequestKind::write &&
         read_write_words(in).transaction;
}

}  // namespace

void describe(std::string_view request, Description& out) {
  BlockReader in(request);
  out = Description{};
  if (in.ok()) describe_block(in, out);
  if (!in.ok()) out = Description{};
}

Outcome outcome_of(std::string_view request, std::string_view reply) {
  constexpr std::uint16_t ok = 200;
  constexpr std::uint16_t accepted = 202;
  constexpr std::uint16_t no_content = 204;
  if (is_kind(reply, ReplyKind::error)) {
    BlockReader in(reply, flag_utf16 | flag_local_failure | flag_headers);
    const auto status = static_cast<std::uint16_t>(in.word());
    in.word();  // which operation
    return Outcome{status, std::string(in.text())};
  }
  if (!is_kind(reply, ReplyKind::written)) return Outcome{ok, {}};
  return Outcome{is_transaction(request) ? accepted : no_content, {}};
}

}  // namespace entitable::direct
