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

std::optional<std::string> owned(const std::optional<std::string_view>& text) {
  return text.has_value() ? std::optional<std::string>(*text) : std::nullopt;
}

std::optional<std::string> known(const KeyWord& key) {
  return key.absent || key.not_text ? std::nullopt : std::optional<std::string>(key.text);
}

std::vector<std::string> selected(const std::vector<std::string_view>& names) {
  Result<std::vector<std::string>> select = normalize_select(names);
  return select.ok() ? std::move(*select) : std::vector<std::string>();
}

Description of(DescribedAs operation, std::string_view table) {
  Description description;
  description.operation = operation;
  description.table = std::string(table);
  return description;
}

Description describe_get(BlockReader& in) {
  const GetWords words = read_get_words(in);
  Description get = of(DescribedAs::get, words.table);
  get.partition = std::string(words.key.partition);
  get.row = std::string(words.key.row);
  get.select = selected(words.select);
  return get;
}

Description describe_query(BlockReader& in, DescribedAs operation) {
  const QueryWords words = read_query_words(in);
  Description query = of(operation, words.table);
  query.filter = owned(words.filter);
  query.select = selected(words.select);
  if (words.top != none) query.top = words.top;
  return query;
}

Description describe_tables(BlockReader& in) {
  const TablesWords words = read_tables_words(in);
  Description list;
  list.operation = DescribedAs::list_tables;
  list.filter = owned(words.filter);
  if (words.top != none) list.top = words.top;
  return list;
}

Description describe_operation(BlockReader& in, std::string_view table, std::uint32_t names) {
  const OperationWords words = read_operation_words(in);
  Description operation = of(described_as(words.kind), table);
  operation.partition = known(words.partition);
  operation.row = known(words.row);
  // The text of what comes behind is found only by taking this.
  for (std::uint32_t i = 0; i < words.properties && in.ok(); ++i) {
    if (in.word() >= names) in.fail();
    take_payload(in);
  }
  return operation;
}

Description describe_write(BlockReader& in) {
  std::uint32_t names = 0;
  const WriteWords words = read_write_words(in, [&](std::string_view) { ++names; });
  std::vector<Description> operations;
  for (std::uint32_t i = 0; i < words.operations && in.ok(); ++i) {
    operations.push_back(describe_operation(in, words.table, names));
  }
  if (!words.transaction && operations.size() == 1) return std::move(operations.front());
  if (!words.transaction) in.fail();
  Description batch = described_batch(std::move(operations));
  batch.table = std::string(words.table);
  return batch;
}

Description describe_block(BlockReader& in) {
  switch (static_cast<RequestKind>(in.kind())) {
    case RequestKind::get:
      return describe_get(in);
    case RequestKind::query:
      return describe_query(in, DescribedAs::query);
    case RequestKind::explain:
      return describe_query(in, DescribedAs::explain);
    case RequestKind::list_tables:
      return describe_tables(in);
    case RequestKind::write:
      return describe_write(in);
    case RequestKind::create_table:
      return of(DescribedAs::create_table, in.text());
    case RequestKind::drop_table:
      return of(DescribedAs::drop_table, in.text());
  }
  return {};
}

bool is_kind(std::string_view reply, ReplyKind kind) {
  return !reply.empty() && static_cast<ReplyKind>(reply.front()) == kind;
}

bool is_transaction(std::string_view request) {
  BlockReader in(request);
  return in.ok() && static_cast<RequestKind>(in.kind()) == RequestKind::write &&
         read_write_words(in, [](std::string_view) {}).transaction;
}

}  // namespace

Description describe(std::string_view request) {
  BlockReader in(request);
  Description description;
  if (in.ok()) description = describe_block(in);
  return in.ok() ? description : Description{};
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
