// The answers of recent calls, so that a call sent again after a hand-over is answered and not
// applied twice.
//
// Keeps the newest calls_per_client calls of each client, and the clients_max clients that called
// last. A client has at most calls_per_client writes without an answer at a time, and sends them
// again as soon as there is a new owner; so what it may send again is here, however much others
// write meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model/commit.h"

namespace entitable {

class CallWindow {
 public:
  static constexpr std::size_t calls_per_client = 64;
  static constexpr std::size_t clients_max = 256;

  // The answer that was given, or nullptr. Linear in the window's clients; asked once per call that
  // carries a client id.
  const ClientCall* find(const ClientId& client, std::uint64_t number) const;
  // Makes room for calls of these clients, so that add() does not allocate.
  void reserve(const std::vector<ClientCall>& calls);
  // Forgets the client's oldest call if it has too many, and the client that has not called for
  // longest if there are too many. REQUIRES: reserve() with this call, and since then no call but
  // those it was given.
  void add(ClientCall&& call) noexcept;
  // By client, the one that called last at the end; each client's oldest first. Adding them in this
  // order to an empty window makes the same window.
  std::vector<ClientCall> calls() const;

 private:
  struct Client {
    ClientId id;
    std::vector<ClientCall> ring;  // its capacity is calls_per_client
    std::size_t oldest = 0;        // position of the oldest call once the ring is full
    std::uint64_t last_use = 0;
  };

  std::size_t position(const ClientId& id) const;  // clients_.size() if it is not there
  Client& find_or_add_client(const ClientId& id);

  std::vector<Client> clients_;
  std::uint64_t uses_ = 0;
};

}  // namespace entitable
