// The results of recent calls. A takeover is the change of a store's owner from one tab to another.
// After a takeover, clients send unanswered calls again: a call that was already applied then gets
// its earlier result and is not applied twice.
//
// Keeps the newest calls_per_client calls of each of the clients_max most recent clients. A client
// has at most calls_per_client unanswered writes at a time, and sends them again as soon as there
// is a new owner. The window therefore has every unanswered call that these clients may send again,
// however much other clients write meanwhile.
//
// A client that more than clients_max - 1 others have followed is forgotten. Its calls then look as
// if they had never been applied. dropped_through() tells which calls this may concern. Such a call
// must not be applied when it is sent again, because its outcome is unknown.
//
// Clients also send deferred writes again, of which there may be more. They look up which calls the
// window has (web/src/tabs/call-client.ts): the writes of a client are applied in the order of
// their numbers, so a write with a smaller number than one in the window was applied, or had no
// effect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/log/manifest_codec.h"
#include "core/model/commit.h"

namespace entitable {

class CallWindow {
 public:
  static constexpr std::size_t calls_per_client = 64;
  static constexpr std::size_t clients_max = 256;

  // Returns the call with its result, or nullptr if it is not in the window. Takes constant time if
  // the number is greater than all numbers of the client and reserve() was last called for this
  // client; otherwise time linear in the number of clients.
  const ClientCall* find(const ClientId& client, std::uint64_t number) const;
  // Returns the numbers of the client's calls in the window, in the order in which the calls were
  // added.
  std::vector<std::uint64_t> numbers(const ClientId& client) const;
  // Allocates memory for a call, so that add() does not allocate.
  void reserve(const ClientId& client);
  void reserve(const std::vector<ClientCall>& calls);
  // Adds a call, and drops the client's oldest call if there are too many. If there are too many
  // clients, drops the client whose last call is the oldest. `commit`: the number of the commit
  // that applied the call, or a greater one if that is not known. REQUIRES: the call, or its
  // client, was passed to the last reserve().
  void add(ClientCall&& call, std::uint64_t commit) noexcept;
  // Records that calls of other clients, applied by this commit or earlier ones, were dropped.
  void mark_dropped(std::uint64_t commit);
  // Whether a further client makes the window drop one.
  bool is_full() const { return used_ == clients_max; }
  // Returns the greatest commit that may have applied a call of a dropped client; 0: no client was
  // dropped. A client is in the window if a later commit applied a call of it.
  std::uint64_t dropped_through() const { return dropped_through_; }
  // Returns all calls, grouped by client. The client that called last comes last; the calls of a
  // client are ordered from oldest to newest. Adding the result in this order to an empty window
  // gives an equal window.
  std::vector<ClientCall> calls() const;
  // Returns dropped_through(), and the greatest commit of each client in the order of calls().
  CallCommits commits() const;

 private:
  struct Client {
    ClientId id;
    std::vector<ClientCall> ring;  // reserve() allocates calls_per_client
    std::size_t oldest = 0;        // position of the oldest call once the ring is full
    std::uint64_t last_use = 0;
    std::uint64_t highest = 0;  // the greatest number that was added
    std::uint64_t commit = 0;   // the greatest that was added
  };

  std::size_t position(const ClientId& id) const;  // clients_.size() if the client is unknown
  std::vector<const Client*> by_use() const;
  std::size_t find_or_add_client(const ClientId& id);
  void reserve_for(const ClientId& client);
  void remove(std::size_t at) noexcept;
  void remove_unused() noexcept;
  void drop_least_recent() noexcept;

  std::vector<Client> clients_;  // with calls, or passed to the last reserve()
  std::size_t used_ = 0;         // how many of them have calls
  std::size_t latest_ = 0;       // the position of the client of the last reserve()
  std::uint64_t uses_ = 0;
  std::uint64_t dropped_through_ = 0;
};

}  // namespace entitable
