#include "core/query/descending.h"

#include <algorithm>
#include <limits>

#include "core/index/backward_cursor.h"
#include "core/model/limits.h"
#include "core/query/bound_filter.h"
#include "core/query/parts_ahead.h"
#include "core/query/planner.h"

namespace entitable {
namespace {

class BackwardReader {
 public:
  BackwardReader(const TableIndex& index, const Query& query)
      : query_(query),
        plan_(make_plan(query.filter)),
        filters_(query.filter, plan_.implied),
        page_{index, {}, std::nullopt, 0} {}

  std::variant<Page, PartsNeeded> run(OnUnloaded on_unloaded) {
    for (auto range = plan_.ranges.rbegin(); range != plan_.ranges.rend(); ++range) {
      KeyRange rest = *range;
      if (query_.from.has_value()) rest = intersect(rest, KeyRange{{}, query_.from->next});
      BackwardCursor cursor(page_.pin, rest);
      for (; cursor.valid(); cursor.previous()) {
        if (!read_leaf(cursor.batch())) return std::move(page_);
      }
      if (cursor.at_end()) continue;
      if (on_unloaded == OnUnloaded::return_parts_needed || page_.rows_read == 0) {
        return parts_from(cursor);
      }
      page_.next = Continuation{*cursor.upper()};
      break;
    }
    return std::move(page_);
  }

 private:
  // Returns false if the page is full and there is a further match.
  bool read_leaf(const RowBatch& batch) {
    for (std::size_t at = batch.size(); at-- > 0;) {
      const RowView row = batch[at];
      ++page_.rows_read;
      if (plan_.residual && !filters_.filter_for(row.shape()).matches(row)) continue;
      if (page_.rows.size() == query_.top || bytes_ >= limits::page_bytes_max) {
        const RowView& last = page_.rows.back();
        page_.next = Continuation{EntityKey(last.partition(), last.row_key())};
        return false;
      }
      page_.rows.push_back(row);
      bytes_ += row.packed_bytes();
    }
    return true;
  }

  // Returns the parts of the unloaded leaves from the cursor on that the page will need.
  PartsNeeded parts_from(BackwardCursor& cursor) const {
    std::uint64_t rows = plan_.residual ? std::numeric_limits<std::uint64_t>::max()
                                        : query_.top + std::uint64_t{1} - page_.rows.size();
    PartsAhead parts(cursor.part_needed());
    for (; !cursor.at_end() && !parts.full() && rows > 0; cursor.previous()) {
      if (cursor.part_needed() != 0) parts.add(cursor.part_needed());
      rows -= std::min(rows, cursor.leaf_rows());
    }
    return {parts.release_ids()};
  }

  const Query& query_;
  const Plan plan_;
  BoundFilterCache filters_;
  Page page_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::variant<Page, PartsNeeded> read_page_backward(const TableIndex& index, const Query& query,
                                                   OnUnloaded on_unloaded) {
  return BackwardReader(index, query).run(on_unloaded);
}

}  // namespace entitable
