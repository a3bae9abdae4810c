// Derives what a commit changes, for listeners (core/live/listeners.h).
#pragma once

#include "core/live/listeners.h"
#include "core/model/commit.h"
#include "core/store/catalog.h"

namespace entitable {

// Returns the changes of a commit that is about to be applied to `before`: a list of one batch, or
// of none if the commit changes nothing that a listener covers. Copies the rows before the commit;
// the rows after it are found when the changes are taken. `earlier`: what was recorded for commits
// that are not published yet. `base`: null, or the version from which
// `before` was made (TableIndex::find_in_memory).
//
// REQUIRES: the commit can be applied to `before`, and writes each row at most once (check_group
// rejects other groups). The rows in `before` that it changes and that a listener covers are in
// memory or in an overlay: staging requires their parts.
ChangeBatches changes_of(const Commit& commit, const Listeners& listeners,
                         const RecordedChanges& earlier, const Catalog& before,
                         const Catalog* base);

}  // namespace entitable
