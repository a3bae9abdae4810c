// Derives what a commit changes, for listeners (core/live/listeners.h).
#pragma once

#include <cstddef>
#include <variant>

#include "core/live/listeners.h"
#include "core/log/pending_records.h"
#include "core/model/commit.h"
#include "core/query/query.h"
#include "core/store/catalog.h"

namespace entitable {

// Returns the changes of a commit that is about to be applied to `before`: a list of one batch, or
// of none if the commit changes nothing that a listener covers. Copies the rows before the commit;
// the rows after it are found when the changes are taken. `earlier`: what was recorded for commits
// that are not published yet. `base`: null, or the version from which `before` was made
// (TableIndex::find_in_memory).
//
// REQUIRES: the commit can be applied to `before`, and writes each row at most once (check_group
// rejects other groups). The rows in `before` that it changes and that a listener covers are in
// memory or in an overlay: staging requires their parts.
ChangeBatches changes_of(const Commit& commit, const Listeners& listeners,
                         const RecordedChanges& earlier, const Catalog& before,
                         const Catalog* base);

// Returns the changes of all commits that are staged on `published`, for a listener that was opened
// since. `records`: the commits, from the position `first` on. Or returns the parts to load: an
// upsert that no listener covered has not needed the part of its row.
std::variant<RecordedChanges, PartsNeeded> changes_of_staged(const PendingRecords& records,
                                                             std::size_t first,
                                                             const Listeners& listeners,
                                                             Catalog published);

}  // namespace entitable
