// Opens a store from an arbitrary segment, which may have any rows in hidden tables, and then
// writes the synced tables and settles what sync remembers. Nothing may abort, and the store must
// be whole afterwards, also after it was opened again.
#include <cstddef>
#include <cstdint>
#include <set>

#include "core/store/sync_tables.h"
#include "tests/support/log_checks.h"
#include "tests/support/test_host.h"
#include "tests/support/write_requests.h"

namespace {

using namespace entitable;

constexpr std::size_t keys_max = 8;  // of each table, that are written
constexpr std::uint32_t page_rows = 100;

void stage_and_publish(Store& store, const WriteRequest& request) {
  const StageResult staged = store.stage({request}, test::noon);
  ENTITABLE_CHECK(staged.parts_needed.empty());
  if (staged.changes) store.publish();
}

template <typename OnRow>
void for_each_row(Store& store, const std::string& table, std::optional<HiddenTable> hidden,
                  OnRow on_row) {
  Query query;
  query.top = page_rows;
  const auto answer = SyncTables(store).query(table, hidden, query);
  for (const RowView& row : std::get<Page>(answer).rows) on_row(row);
}

// Writes the entities with the keys of all rows of sync, so that each write finds such rows.
void write_rows(Store& store, const std::string& table) {
  std::set<std::pair<std::string, std::string>> keys{{"p", "r"}};
  const auto add = [&](const RowView& row) {
    if (keys.size() < keys_max) keys.emplace(row.partition(), row.row_key());
  };
  for_each_row(store, table, std::nullopt, add);
  for (const HiddenTable kind : {HiddenTable::etags, HiddenTable::bases, HiddenTable::base_rows})
    for_each_row(store, table, kind, add);
  for (const auto& [partition, row] : keys) {
    for (const OperationKind kind : {OperationKind::merge, OperationKind::insert_or_replace,
                                     OperationKind::remove, OperationKind::insert}) {
      stage_and_publish(store, test::write(table, test::operation(kind, partition, row, 1)));
    }
  }
}

// Erases the rows that sync knows, in one commit.
void settle(Store& store, const std::string& table) {
  SyncedChanges changes{table, store.last_commit(), {}};
  for (std::uint8_t kind = 0; kind < hidden_tables_count; ++kind) {
    for_each_row(store, table, HiddenTable{kind}, [&](const RowView& row) {
      changes.rows.push_back({HiddenTable{kind},
                              EntityKey(std::string(row.partition()), std::string(row.row_key())),
                              true,
                              0,
                              {}});
    });
  }
  stage_and_publish(store, SyncTables::apply(changes));
}

void check_store(const std::string& segment) {
  test::TestHost host;
  host.segments[1] = segment;
  Result<Store> opened = host.open();
  if (!opened.ok() || opened->is_damaged() || !opened->has_synced_tables()) return;
  Store store = std::move(*opened);
  SyncTables(store).enable();
  const auto tables = store.tables({}, limits::page_rows_max, "");
  ENTITABLE_CHECK(tables.ok());
  for (const std::string& table : tables->names) {
    if (!SyncTables(store).is_synced(table)) continue;
    write_rows(store, table);
    settle(store, table);
  }
  ENTITABLE_CHECK(store.verify().empty());
  host.store_pending(store);
  const Result<Store> again = host.open();
  ENTITABLE_CHECK(again.ok() && !again->is_damaged() && again->verify().empty());
  ENTITABLE_CHECK(again->last_commit() == store.last_commit());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_store(test::file_of_fuzz_input(FileKind::segment, input));
  return 0;
}
