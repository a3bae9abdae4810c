#include "core/store/call_window.h"

#include <algorithm>
#include <utility>

namespace entitable {

const ClientCall* CallWindow::find(const ClientId& client, std::uint64_t number) const {
  const auto at = std::find_if(ring_.begin(), ring_.end(), [&](const ClientCall& call) {
    return call.number == number && call.client == client;
  });
  return at == ring_.end() ? nullptr : &*at;
}

void CallWindow::reserve(std::size_t calls) {
  const std::size_t wanted = std::min(calls_max, ring_.size() + calls);
  if (wanted > ring_.capacity())
    ring_.reserve(std::max(wanted, std::min(calls_max, 2 * ring_.capacity())));
}

void CallWindow::add(ClientCall&& call) noexcept {
  if (ring_.size() < calls_max) {
    ring_.push_back(std::move(call));
    return;
  }
  ring_[oldest_] = std::move(call);
  oldest_ = (oldest_ + 1) % calls_max;
}

std::vector<ClientCall> CallWindow::calls() const {
  std::vector<ClientCall> ordered(ring_.begin() + static_cast<std::ptrdiff_t>(oldest_),
                                  ring_.end());
  ordered.insert(ordered.end(), ring_.begin(),
                 ring_.begin() + static_cast<std::ptrdiff_t>(oldest_));
  return ordered;
}

}  // namespace entitable
