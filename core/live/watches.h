// The open watches of a store, by table and key range. A change of a row is compared only with the
// watches whose ranges hold its key.
//
// A watch refers to its table by folded name. It may be opened before the table is created, and it
// survives dropping the table: both reset it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/live/delta.h"
#include "core/live/range_tree.h"
#include "core/live/watch.h"

namespace entitable {

// The ids above `after`, up to `last`.
struct WatchIds {
  WatchId after;
  WatchId last;
};

class Watches {
 public:
  Watches() = default;
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  // Adds a watch. Nothing is read yet. `table`: a name in any spelling.
  WatchId open(std::string_view table, WatchQuery&& query);
  bool close(WatchId id);  // returns whether the watch was open
  bool empty() const { return tables_.empty(); }
  WatchId last_id() const { return last_id_; }  // of the watch that was opened last; 0: none was
  // A watch and the folded name of its table.
  struct OpenWatch {
    std::string_view table;
    Watch* watch;
  };
  std::optional<OpenWatch> find(WatchId id);  // nothing if the watch is not open

  // Returns whether a range of a watch holds the key. `table`: a folded name.
  bool covers(std::string_view table, const KeyView& key) const;

  // Collects the deltas of all watches for a number of changes.
  class DeltaBuilder;

 private:
  struct WatchedTable {
    RangeTree ranges;
    std::unordered_map<WatchId, Watch> watches;
  };
  using Tables = std::map<std::string, WatchedTable, std::less<>>;

  void erase(Tables::iterator table, WatchId id);

  Tables tables_;
  std::unordered_map<WatchId, Tables::iterator> tables_by_watch_;
  WatchId last_id_ = 0;
};

// Use: reset tables that were created or dropped, match all changes of rows, each row once and in
// ascending order of keys within a table, then finish. The watches must not change meanwhile.
class Watches::DeltaBuilder {
 public:
  // `rows`: the list to which the rows of deltas are added. REQUIRES: both outlive this object.
  DeltaBuilder(Watches& all, ListedRows& rows) : all_(all), rows_(rows) {}

  void reset_all();
  void reset_table(std::string_view table);  // a folded name
  void reset(const WatchIds& ids);           // those that are open
  // `before` and `after`: null if there was or is no such row. At least one is given. `after` must
  // stay valid as long as the list of rows.
  void match(std::string_view table, const RowView* before, const RowView* after);
  // Returns the deltas, in the order of the ids of their watches. `index_of`: returns the rows of a
  // table after the changes, by folded name, or null. If watches with a limit lost rows, reads the
  // rows that follow, as far as they are in memory, and tests about limits::watch_rows_tested_max
  // rows at most for this. Then the client reads on.
  std::vector<WatchDelta> finish(
      const std::function<const TableIndex*(std::string_view)>& index_of);

 private:
  void reset(Watch& watch);
  WatchDelta& delta_of(WatchId id);
  void refill(WatchDelta& delta, const TableIndex& index);

  Watches& all_;
  ListedRows& rows_;
  std::map<WatchId, WatchDelta> deltas_;
  std::vector<Watch*> found_;
  std::uint64_t rows_to_test_ = limits::watch_rows_tested_max;  // for watches that lost rows
};

}  // namespace entitable
