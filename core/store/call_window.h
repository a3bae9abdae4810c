// The answers of recent calls, so that a call sent again after a hand-over is answered and not
// applied twice.
//
// Keeps the newest calls_max calls over all clients. A call that is older than that and sent again
// would be applied again: a client re-sends what it has not heard about, at once, so the window is
// far larger than what can be in flight.
#pragma once

#include <cstddef>
#include <vector>

#include "core/model/commit.h"

namespace entitable {

class CallWindow {
 public:
  static constexpr std::size_t calls_max = 1024;

  // The answer that was given, or nullptr. Linear in the window; asked once per call that carries a
  // client id.
  const ClientCall* find(const ClientId& client, std::uint64_t number) const;
  // Makes room for `calls` more, so that add() does not allocate.
  void reserve(std::size_t calls);
  // Forgets the oldest call when the window is full.
  void add(ClientCall&& call) noexcept;
  // Oldest first.
  std::vector<ClientCall> calls() const;

 private:
  std::vector<ClientCall> ring_;
  std::size_t oldest_ = 0;  // position of the oldest call once the ring is full
};

}  // namespace entitable
