// Requests of readers of the change feed for commits that were published before: "read past"
// (LAYOUT.md).
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/log/segment.h"
#include "core/rpc/changes_writer.h"
#include "core/rpc/listener_request_fields.h"
#include "core/rpc/message.h"
#include "core/store/change_history.h"

namespace entitable::rpc {

// Of one response. The client keeps its batches until its user has read them.
inline constexpr std::size_t past_batches_max = 500;
inline constexpr std::size_t past_bytes_max = 1024 * 1024;

// A segment can have far more commits than a response. So what the last request has not read of the
// segments that the host has passed is kept for the next one: a feed that reads the log gets and
// decodes each segment once. Feeds that are read in turn share the segment if they are at the same
// one; otherwise the host passes it again.
class PastChangesReader {
 public:
  // Returns where a feed of the client was opened, by the client's number of it: later commits are
  // passed to it. Nothing: it is not open.
  using OpenedAt = std::function<std::optional<FeedPosition>(std::uint32_t number)>;

  // Replaces the content of `out` by the response. Until the feed has all commits up to where it
  // was opened, LogReaders has it. REQUIRES: the store is open, and is the same in all calls.
  void read(Store& store, std::uint32_t client, const OpenedAt& opened_at, MessageReader& in,
            ResponseBuffer& out);
  // Frees what is kept. A response that says that nothing follows does so, too. It is not counted
  // in the store's memory.
  void forget() { kept_.clear(); }

 private:
  struct KeptSegment {
    std::uint64_t sequence;
    std::string bytes;
    std::optional<Segment> segment;  // refers to `bytes`; nothing: not decoded yet

    bool contains(std::uint64_t commit) const;  // REQUIRES: it is decoded
  };

  bool read_history(Store& store, const ReadPastFields& fields, const FeedSelection& selection,
                    ChangeHistory& history, ResponseBuffer& out);
  bool keep_needed(const ChangeHistory& history,
                   const std::vector<ReadPastFields::Segment>& passed);
  Result<void> read_segments(ChangeHistory& history, TakenChanges& taken,
                             std::uint64_t& next_segment);

  std::list<KeptSegment> kept_;    // consecutive ones
  std::uint64_t next_commit_ = 0;  // after the last one that was read from them
};

}  // namespace entitable::rpc
