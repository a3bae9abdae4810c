// Requests of readers of the change feed for commits that were published before: "read past"
// (LAYOUT.md). Each request stands for itself, so nothing is kept between two of them.
#pragma once

#include "core/rpc/changes_writer.h"
#include "core/rpc/message.h"
#include "core/store/change_history.h"

namespace entitable::rpc {

class PastChangesReader {
 public:
  static constexpr std::size_t batches_max = 500;  // of one response

  // Replaces the content of `out` by the response. REQUIRES: the store is open.
  void handle(Store& store, MessageReader& in, ResponseBuffer& out);

 private:
  ChangesWriter changes_;
  ResponseBuffer message_;
};

}  // namespace entitable::rpc
